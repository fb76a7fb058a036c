package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/state"
)

// audit reads the audit trail from files, verifies its hash chain, and prints
// the matching records, one per line.
func (p *program) audit(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("gateway audit", flag.ContinueOnError)
	flags.SetOutput(p.stderr)
	file := flags.String("file", "", "the audit file; earlier rotated files are read too (default HOOKGATE_AUDIT_FILE)")
	database := flags.Bool("database", false, "read HOOKGATE_DATABASE_URL instead of a file; its records have no hash chain")
	quiet := flags.Bool("verify", false, "only verify the hash chain, print no records")
	head := flags.String("head", "", "an earlier head of the chain as N:SHA256, which the chain must contain")
	want := map[string]*string{}
	for _, name := range []string{"id", "caller", "chain", "event", "agent_id", "tool_name", "decision", "cause"} {
		want[name] = flags.String(strings.ReplaceAll(name, "_", "-"), "", "only records with this "+name)
	}
	all := flags.Bool("all", false, "also print records of withheld decisions, which a later record corrects")
	since := flags.String("since", "", "only records from this time on: 2027-01-31T00:00:00Z, or 1h for one hour ago")
	until := flags.String("until", "", "only records before this time")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	if flags.NArg() > 0 {
		p.complain("gateway audit: takes no arguments, got %q\n", flags.Arg(0))
		return exitUsage
	}
	s, err := p.readSettings()
	if err != nil {
		p.complain("gateway audit: %v\n", err)
		return exitFailed
	}
	if *file == "" {
		*file = s.AuditFile
	}
	if *file == "" && !*database {
		p.complain("gateway audit: no audit file: give --file, or set HOOKGATE_AUDIT_FILE\n")
		return exitUsage
	}
	filter, err := newRecordFilter(want, *since, *until, time.Now())
	if err != nil {
		p.complain("gateway audit: %v\n", err)
		return exitUsage
	}
	filter.all = *all
	noted, err := parseHead(*head)
	if err != nil {
		p.complain("gateway audit: %v\n", err)
		return exitUsage
	}
	if *database {
		if *quiet || *head != "" || isSet(flags, "file") {
			p.complain("gateway audit: --database cannot be combined with --file, --verify or --head: records in a database have no hash chain\n")
			return exitUsage
		}
		return p.readAuditDatabase(ctx, s.DatabaseURL, filter)
	}
	return p.unlessStopped(ctx, "audit", func() int { return p.readAudit(*file, *quiet, filter, noted) })
}

// unlessStopped runs a command that only reads, and stops waiting for it when the
// process is asked to end: a file can be a pipe to which nobody writes.
func (p *program) unlessStopped(ctx context.Context, command string, run func() int) int {
	done := make(chan int, 1)
	go func() { done <- run() }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
		p.complain("gateway %s: stopped\n", command)
		return exitFailed
	}
}

// isSet reports whether a flag was given.
func isSet(flags *flag.FlagSet, name string) bool {
	given := false
	flags.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// readAuditDatabase prints the matching records in a database.
func (p *program) readAuditDatabase(ctx context.Context, url string, filter recordFilter) int {
	if url == "" {
		p.complain("gateway audit: no database: set HOOKGATE_DATABASE_URL\n")
		return exitUsage
	}
	if err := state.CheckURL(url); err != nil {
		p.complain("gateway audit: %sDATABASE_URL is not valid: %v\n", prefix, err)
		return exitFailed
	}
	kept, err := state.NewAuditReader(url) //nolint:contextcheck // it connects when it is used
	if err != nil {
		p.complain("gateway audit: %v\n", err)
		return exitFailed
	}
	defer func() { _ = kept.Close() }() // only read from
	if !filter.all {
		err = readAll(ctx, kept, func(body []byte) error { filter.note(body); return nil })
	}
	if err == nil {
		err = readAll(ctx, kept, func(body []byte) error { return p.print(body, &filter) })
	}
	switch {
	case errors.Is(err, errStdout):
		return exitFailed
	case err != nil:
		p.complain("gateway audit: %v\n", err)
		return exitFailed
	}
	p.saySkipped(&filter)
	return exitOK
}

// readAll calls see with every record in a database.
func readAll(ctx context.Context, kept *state.AuditReader, see func(body []byte) error) error {
	for after := uint64(0); ; {
		records, err := kept.Read(ctx, after, 500)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			after = r.Offset
			if err := see(r.Body); err != nil {
				return err
			}
		}
	}
}

// print prints a record if it matches.
func (p *program) print(body []byte, filter *recordFilter) error {
	if filter.takes(body) && !p.say("%s\n", bytes.TrimSpace(body)) {
		return errStdout
	}
	return nil
}

// saySkipped reports how many otherwise matching records were omitted.
func (p *program) saySkipped(filter *recordFilter) {
	if filter.skipped > 0 {
		p.complain("gateway audit: records left out: %d, because their decisions were withheld, as later records say: --all prints them too\n", filter.skipped)
	}
}

func (p *program) readAudit(file string, quiet bool, filter recordFilter, noted head) int {
	met := noted.n == 0
	if !quiet && !filter.all {
		_, _ = audit.Read(file, func(l audit.Line) error { filter.note(l.Body); return nil }) // errors are reported by the second pass
	}
	last, err := audit.Read(file, func(l audit.Line) error {
		if l.N == noted.n+1 && noted.n > 0 && fmt.Sprintf("%x", l.Prev) == noted.sha256 {
			met = true
		}
		if quiet {
			return nil
		}
		return p.print(l.Body, &filter)
	})
	p.saySkipped(&filter)
	switch {
	case errors.Is(err, errStdout):
		return exitFailed
	case err != nil:
		p.complain("gateway audit: %v\n", err)
		p.sayWhatHolds(err)
		return exitFailed
	case last.Last == 0:
		p.complain("gateway audit: %s contains no records\n", file)
	case last.Last > 0:
		if last.First > 1 {
			p.complain("gateway audit: the records before %d are not in these files: they were deleted (HOOKGATE_AUDIT_FILE_KEEP) or moved away\n", last.First)
		}
		p.complain("gateway audit: the hash chain of records %d to %d is intact; head %d:%x\n", last.First, last.Last, last.Last, last.SHA256)
	}
	if last.Last == noted.n && fmt.Sprintf("%x", last.SHA256) == noted.sha256 {
		met = true
	}
	if !met {
		p.complain("gateway audit: this chain does not contain the head %d:%s: the trail was truncated or rewritten\n", noted.n, noted.sha256)
		return exitFailed
	}
	return exitOK
}

// sayWhatHolds reports up to which record a broken hash chain is intact.
func (p *program) sayWhatHolds(err error) {
	broken, ok := errors.AsType[*audit.BreakError](err)
	if !ok {
		return
	}
	switch holds := broken.Holds; {
	case broken.Last == 0:
		p.complain("gateway audit: the hash chain is broken at the first line: no record is verified\n")
	case holds.Last == 0:
		p.complain("gateway audit: the hash chain is broken after the first record, %d, which may itself have been changed: no record is verified\n", broken.Last)
	default:
		p.complain("gateway audit: the hash chain of records %d to %d is intact; head %d:%x\n", holds.First, holds.Last, holds.Last, holds.SHA256)
		p.complain("gateway audit: the hash chain is broken after record %d, which may itself have been changed: no intact line contains its hash\n", broken.Last)
	}
}

var errStdout = errors.New("stdout")

// head is a chain head that the user recorded earlier. The zero head is none.
type head struct {
	n      uint64
	sha256 string
}

func parseHead(text string) (head, error) {
	if text == "" {
		return head{}, nil
	}
	var h head
	if _, err := fmt.Sscanf(text, "%d:%64s", &h.n, &h.sha256); err != nil || h.n == 0 || len(h.sha256) != 64 {
		return head{}, fmt.Errorf("--head is %.100q: give the head that an earlier run printed, as N:SHA256", text)
	}
	return h, nil
}

// recordFilter selects the records to print.
type recordFilter struct {
	want         map[string]string
	since, until time.Time
	// all also selects withheld records.
	all bool
	// withheld are the ids of decisions that were withheld, and skipped counts the
	// records that were omitted because of that.
	withheld map[string]bool
	skipped  int
}

// note remembers a withheld decision. An earlier record with the same id
// describes an outcome that no caller received.
func (f *recordFilter) note(body []byte) {
	var r struct {
		ID       string `json:"id"`
		Withheld bool   `json:"withheld"`
	}
	if bytes.Contains(body, []byte(`"withheld":true`)) && json.Unmarshal(body, &r) == nil && r.Withheld {
		f.withheld[r.ID] = true
	}
}

func newRecordFilter(want map[string]*string, since, until string, now time.Time) (recordFilter, error) {
	f := recordFilter{want: map[string]string{}, withheld: map[string]bool{}}
	for name, value := range want {
		if *value != "" {
			f.want[name] = *value
		}
	}
	var errEvent, errDecision, errCause error
	if event := *want["event"]; event != "" {
		_, errEvent = chain.ParseEvent(event)
	}
	if word := *want["decision"]; word != "" {
		_, errDecision = chain.ParseDecision(word)
	}
	if word := *want["cause"]; word != "" {
		_, errCause = chain.ParseCause(word)
	}
	var errSince, errUntil error
	f.since, errSince = moment("since", since, now)
	f.until, errUntil = moment("until", until, now)
	return f, errors.Join(errEvent, errDecision, errCause, errSince, errUntil)
}

// moment parses a time, or a duration before now.
func moment(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	ago, err := time.ParseDuration(strings.TrimSuffix(text, " ago"))
	if err != nil {
		return time.Time{}, fmt.Errorf("--%s is %.40q: give a time like 2027-01-31T00:00:00Z, or how long ago, like 1h", name, text)
	}
	return now.Add(-ago), nil
}

// takes reports whether a record matches. An unreadable record matches, so that
// it is not overlooked.
func (f *recordFilter) takes(body []byte) bool {
	var r map[string]any
	if json.Unmarshal(body, &r) != nil {
		return true
	}
	for name, value := range f.want {
		if r[name] != value {
			return false
		}
	}
	text, _ := r["time"].(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	if err == nil && (!f.since.IsZero() && at.Before(f.since) || !f.until.IsZero() && !at.Before(f.until)) {
		return false
	}
	if id, _ := r["id"].(string); !f.all && f.withheld[id] && r["withheld"] != true {
		f.skipped++
		return false
	}
	return true
}
