package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/test/process"
)

// auditing is a gateway with its audit trail in a database.
type auditing struct {
	*process.Gateway
	t            *testing.T
	program, url string
}

// withheld is the reason of a withheld decision.
const withheld = "the gateway withholds its decision: the audit record, which its configuration requires, could not be written durably; see the gateway's log"

// startAuditing starts a gateway with the given audit section. It denies a
// force-push and allows everything else.
func startAuditing(t *testing.T, program, url, says string) *auditing {
	t.Helper()
	hooks := process.File(t, "hooks.yaml", "schema: 1\naudit: "+says+"\nhooks: [{name: guard, use: no-force-push}]\n")
	g := process.Start(t, program, map[string]string{"CONFIG": hooks, "AUDIT_STATE": "true", "DATABASE_URL": url})
	return &auditing{Gateway: g, t: t, program: program, url: url}
}

// envelope returns a call that runs a command; command is inserted as JSON text.
func envelope(call, command string) string {
	return fmt.Sprintf(`{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"agent-1","tool_call_id":%q,"tool_name":"shell","input":{"command":"%s"}}`, call, command)
}

const forced = "git push --force"

// put asks the gateway about a command, and returns the decision and how long it
// took.
func (a *auditing) put(call, command string) (decision, reason string, took time.Duration) {
	a.t.Helper()
	began := time.Now()
	got := process.Do(a.t.Context(), http.MethodPost, a.URL+"/v1/decide", envelope(call, command))
	took = time.Since(began)
	var answer struct{ Decision, Reason string }
	if err := errors.Join(got.Err, json.Unmarshal([]byte(got.Body), &answer)); err != nil || got.Status != http.StatusOK {
		a.t.Fatalf("%+v: %v", got, err)
	}
	return answer.Decision, answer.Reason, took
}

// allowed asks about a call that the chain allows, and returns whether the caller
// was told so.
func (a *auditing) allowed(call string) bool {
	a.t.Helper()
	decision, _, _ := a.put(call, "ls")
	return decision == "allow"
}

// metric returns the value of a series.
func (a *auditing) metric(series string) int {
	a.t.Helper()
	got := process.Do(a.t.Context(), http.MethodGet, a.Admin+"/metrics", "")
	for line := range strings.SplitSeq(got.Body, "\n") {
		if text, ok := strings.CutPrefix(line, series+" "); ok {
			n, err := strconv.Atoi(text)
			if err != nil {
				a.t.Fatal(err)
			}
			return n
		}
	}
	a.t.Fatalf("there is no %s: %+v", series, got)
	return 0
}

// became returns how many records had the given result.
func (a *auditing) became(result string) int {
	a.t.Helper()
	return a.metric(`hookgate_audit_records_total{result="` + result + `",sink="state"}`)
}

// auditRecord holds the fields of a record that the tests check.
type auditRecord struct {
	ID, Decision, Reason, Cause string
	Call                        string `json:"tool_call_id"`
	Tool                        string `json:"tool_name"`
	Time                        time.Time
}

// readAudit runs gateway audit --database, which must succeed.
func readAudit(t *testing.T, program, url string, args ...string) []auditRecord {
	t.Helper()
	said, complaint, err := runAudit(t, program, url, args...)
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, complaint)
	}
	var records []auditRecord
	for line := range strings.Lines(said) {
		var r auditRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		records = append(records, r)
	}
	return records
}

func runAudit(t *testing.T, program, url string, args ...string) (said, complaint string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, program, append([]string{"audit", "--database"}, args...)...)
	c.Env = []string{"HOOKGATE_DATABASE_URL=" + url}
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	err = c.Run()
	return out.String(), errs.String(), err
}

func TestTheTrailInADatabaseIsReadBack(t *testing.T) {
	program, server := process.Build(t), Start(t)
	url := server.Database()
	g := startAuditing(t, program, url, "{required: true, include: [input]}")
	for call, command := range map[string]string{"a": "ls", "b": forced, "c": `ls \u0000 ' \ud83d`} {
		g.put(call, command)
	}
	other := startAuditing(t, program, url, "{required: true}") // of the same trail
	other.put("d", "ls")
	process.Eventually(t, "all are kept", func() bool { return g.became("written")+other.became("written") == 4 })

	all := readAudit(t, program, url)
	decisions := map[string]string{}
	for _, r := range all {
		decisions[r.Call] = r.Decision
	}
	if diff := cmp.Diff(map[string]string{"a": "allow", "b": "deny", "c": "allow", "d": "allow"}, decisions); diff != "" || len(all) != 4 {
		t.Fatalf("%d records (-want +got):\n%s", len(all), diff)
	}
	last := all[3]
	if last.Call != "d" {
		t.Errorf("the last record is %+v", last)
	}
	for args, want := range map[string]int{
		"--decision deny": 1, "--decision deny --tool-name shell --since 1h": 1, "--tool-name read": 0, "--agent-id agent-1": 4,
		"--until 2020-01-01T00:00:00Z": 0, "--since " + last.Time.Format(time.RFC3339Nano): 1, "--until " + last.Time.Format(time.RFC3339Nano): 3,
		"--chain nobody": 0, "--chain operator --event pre_tool_use --cause none": 4, "--id " + last.ID: 1,
	} {
		if got := readAudit(t, program, url, strings.Fields(args)...); len(got) != want {
			t.Errorf("%s: %d records, want %d", args, len(got), want)
		}
	}
	if said, complaint, err := runAudit(t, program, url, "--verify"); err == nil || said != "" || !strings.Contains(complaint, "have no hash chain") {
		t.Errorf("what has no chain is verified: %v: %s%s", err, said, complaint)
	}
	server.Stop()
	if said, complaint, err := runAudit(t, program, url); err == nil || said != "" || !strings.Contains(complaint, "gateway audit: ") || !strings.Contains(complaint, "connect") {
		t.Errorf("a database that is gone: %v: %s%s", err, said, complaint)
	}
}

func TestARoleThatMayOnlyReadReadsTheTrailAndIsToldWhatItLacks(t *testing.T) {
	program, server := process.Build(t), Start(t)
	url := server.Database()
	reader := strings.Replace(url, "hookgate@", "auditor@", 1)
	server.Exec(url, `CREATE ROLE auditor LOGIN`)
	refused := func(what, want string) {
		t.Helper()
		said, complaint, err := runAudit(t, program, reader)
		if err == nil || said != "" || !strings.Contains(complaint, "gateway audit: "+want) {
			t.Errorf("%s: %v: %s%s", what, err, said, complaint)
		}
	}
	refused("nothing is there", "the database has no hookgate tables: use the database of a gateway, or start a gateway with this one: ")
	g := startAuditing(t, program, url, "{required: true}")
	g.put("a", "ls")
	refused("no right", `the database role may not read the tables (GRANT SELECT ON hookgate_audit, hookgate_migrations TO "auditor"): `)
	server.Exec(url, `GRANT SELECT ON hookgate_audit, hookgate_migrations TO auditor`)
	if got := readAudit(t, program, reader); len(got) != 1 || got[0].Call != "a" {
		t.Errorf("the records are %+v", got)
	}
	server.Exec(url, `INSERT INTO hookgate_migrations VALUES (99, now())`)
	refused("newer tables", "the database tables have version 99, but this program supports versions up to "+latest(t)+": run the hookgate version that created them")
	server.Exec(url, `DELETE FROM hookgate_migrations`)
	refused("older tables", "the database tables have version 0, but this program reads version "+latest(t)+": start a gateway of this version once, which updates them, or read with the hookgate version that created them")
}

func TestMoreRecordsThanAreReadAtOnceAreAllReadInTheirOrder(t *testing.T) {
	program, server := process.Build(t), Start(t)
	url := server.Database()
	g := startAuditing(t, program, url, "{required: true}")
	const callers, each = 8, 150
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for n := range each {
				got := process.Do(t.Context(), http.MethodPost, g.URL+"/v1/decide", envelope(fmt.Sprintf("%d/%03d", c, n), "ls"))
				if got.Body != `{"decision":"allow"}` {
					t.Errorf("%+v", got)
				}
			}
		})
	}
	all.Wait()
	next := map[string]int{}
	records := readAudit(t, program, url)
	for _, r := range records {
		caller, n, _ := strings.Cut(r.Call, "/")
		if n != fmt.Sprintf("%03d", next[caller]) {
			t.Fatalf("%s comes where %d of this caller were read", r.Call, next[caller])
		}
		next[caller]++
	}
	if len(records) != callers*each {
		t.Errorf("%d records", len(records))
	}
}

// faults are the ways in which a database can be unavailable.
func faults(s *Server) map[string]struct{ begin, end func() } {
	return map[string]struct{ begin, end func() }{
		"gone": {s.Stop, s.Run},
		"hung": {func() { s.Signal(syscall.SIGSTOP) }, func() { s.Signal(syscall.SIGCONT) }},
	}
}

func TestG12_WithoutItsDatabaseARequiredTrailAllowsNothingAndRecovers(t *testing.T) {
	program, server := process.Build(t), Start(t)
	for name, fault := range faults(server) {
		t.Run(name, func(t *testing.T) {
			url := server.Database()
			g := startAuditing(t, program, url, "{required: true}")
			acknowledged := map[string]bool{}
			allow := func(call string) bool {
				t.Helper()
				if !g.allowed(call) {
					return false
				}
				acknowledged[call] = true
				return true
			}
			for n := range 5 {
				if !allow(fmt.Sprintf("before-%d", n)) {
					t.Fatal("nothing is allowed before")
				}
			}

			fault.begin()
			decision, reason, took := g.put("during", "ls")
			if decision != "deny" || reason != withheld || took > 10*time.Second {
				t.Errorf("what was allowed: %s after %v: %s", decision, took, reason)
			}
			// The sink may be busy with the record of the previous call.
			decision, reason, took = g.put("denied", forced)
			if decision != "deny" || !strings.HasPrefix(reason, "denied by hook 'guard'") || took > 3*time.Second {
				t.Errorf("what was denied: %s after %v: %s", decision, took, reason)
			}
			if n := g.metric("hookgate_audit_withheld_total"); n != 1 {
				t.Errorf("%d are withheld", n)
			}
			process.Eventually(t, "the loss is counted", func() bool { return g.became("failed") >= 1 })
			for _, want := range []string{"a decision is withheld because its audit record is not durable", "audit records could not be written"} {
				if !strings.Contains(g.Log(), want) {
					t.Errorf("the log does not say: %s", want)
				}
			}
			fault.end()

			n := 0
			process.Eventually(t, "what is allowed goes through again", func() bool { n++; return allow(fmt.Sprintf("after-%d", n)) })
			if !allow("last") {
				t.Error("and then not any more")
			}
			g.Stop() // writes the remaining records
			told := map[string]string{}
			for _, r := range readAudit(t, program, url) {
				told[r.Call] = r.Decision // the last record of a call is what its caller was told
			}
			for call := range acknowledged {
				if told[call] != "allow" {
					t.Errorf("%s was allowed, and its record says %q", call, told[call])
				}
			}
			for call, decision := range told {
				if decision == "allow" && !acknowledged[call] {
					t.Errorf("the last record of %s says that it was allowed, and its caller was told that it was not", call)
				}
			}
			t.Logf("%d records of %d calls that were let go", len(told), len(acknowledged))
		})
	}
}

func TestAGatewayThatStartsBeforeItsDatabaseAllowsOnceItIsThere(t *testing.T) {
	program, server := process.Build(t), Start(t)
	url := server.Database()
	server.Stop()
	g := startAuditing(t, program, url, "{required: true}")
	if _, reason, _ := g.put("early", "ls"); reason != withheld {
		t.Errorf("without a database: %s", reason)
	}
	server.Run()
	process.Eventually(t, "it is allowed", func() bool { return g.allowed("late") })
	if got := readAudit(t, program, url, "--decision", "allow"); len(got) != 1 || got[0].Call != "late" {
		t.Errorf("the records are %+v", got)
	}
}

func TestWithoutItsDatabaseAnOptionalTrailCountsWhatItLosesAndDelaysNothing(t *testing.T) {
	program, server := process.Build(t), Start(t)
	for name, fault := range faults(server) {
		t.Run(name, func(t *testing.T) {
			url := server.Database()
			g := startAuditing(t, program, url, "{}")
			g.put("before", "ls")
			process.Eventually(t, "it is kept", func() bool { return g.became("written") == 1 })
			fault.begin()
			const calls = 200
			var took []time.Duration
			for n := range calls {
				decision, reason, t1 := g.put(fmt.Sprintf("during-%d", n), "ls")
				if decision != "allow" {
					t.Fatalf("%s: %s", decision, reason)
				}
				took = append(took, t1)
			}
			slices.Sort(took)
			if median := took[calls/2]; median > time.Second { // a batch that hangs takes 5 s
				t.Errorf("half of the decisions took more than %v", median)
			}
			process.Eventually(t, "what is lost is counted", func() bool { return g.became("failed") > 0 })
			fault.end()
			n := 0
			before := g.became("written")
			process.Eventually(t, "records are kept again", func() bool {
				n++
				g.put(fmt.Sprintf("after-%d", n), "ls")
				return g.became("written") > before
			})
			if n := g.metric("hookgate_audit_withheld_total"); n != 0 {
				t.Errorf("%d are withheld", n)
			}
			process.Eventually(t, "every record came to something", func() bool {
				return g.became("written")+g.became("failed")+g.became("dropped") == 1+calls+n
			})
			written := g.became("written")
			g.Stop()
			kept := map[string]bool{}
			for _, r := range readAudit(t, program, url) {
				kept[r.Call] = true
			}
			// Records that were abandoned while the database hung may have been
			// stored nevertheless.
			if len(kept) < written || !kept["before"] {
				t.Errorf("%d records are kept, and %d were counted: %v", len(kept), written, slices.Sorted(maps.Keys(kept)))
			}
			t.Logf("median %v, longest %v", took[calls/2], took[calls-1])
		})
	}
}

func TestAGatewayWhoseDatabaseHangsStopsAllTheSame(t *testing.T) {
	program, server := process.Build(t), Start(t)
	g := startAuditing(t, program, server.Database(), "{required: true}")
	if !g.allowed("before") {
		t.Fatal("nothing is allowed before")
	}
	server.Signal(syscall.SIGSTOP)
	defer server.Signal(syscall.SIGCONT)
	g.put("denied", forced)
	began := time.Now()
	g.Stop()
	took := time.Since(began)
	if took > 15*time.Second { // the trail has 5 s for its remaining records
		t.Errorf("it took %v", took)
	}
	t.Logf("it took %v", took)
}
