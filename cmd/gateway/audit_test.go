package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hookgate/hookgate/gateway/audit"
)

func TestTheAuditTrailOfAGatewayIsReadAndVerified(t *testing.T) {
	dir := t.TempDir()
	file, hooks := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "hooks.yaml")
	if err := os.WriteFile(hooks, []byte("schema: 1\nhooks: [{name: guard, use: no-force-push}]\naudit: {required: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"HOOKGATE_AUDIT_FILE=" + file, "HOOKGATE_CONFIG=" + hooks}
	s := serving(t, environ...)
	for _, command := range []string{"ls", "git push --force"} {
		envelope := strings.Replace(preText, "git push --force", command, 1)
		if got := commandLine(t, nil, envelope, "ask", "--url", "http://"+s.addr); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	if code := s.stop(); code != 0 {
		t.Fatalf("it exits with %d: %s", code, s.log)
	}
	read := func(args ...string) ran { return commandLine(t, environ, "", append([]string{"audit"}, args...)...) }
	all := read()
	if all.code != 0 || strings.Count(all.stdout, "\n") != 2 || !strings.Contains(all.stderr, "the hash chain of records 1 to 2 is intact; head 2:") {
		t.Fatalf("%+v", all)
	}
	var record struct{ ID, Decision string }
	if err := json.Unmarshal([]byte(strings.Split(all.stdout, "\n")[0]), &record); err != nil || record.Decision != "allow" {
		t.Errorf("the first record is %+v, error %v", record, err)
	}
	for args, want := range map[string]int{
		"--verify": 0, "--decision deny": 1, "--decision deny --tool-name shell --since 1h": 1, "--until 2020-01-01T00:00:00Z": 0,
		"--since 2020-01-01T00:00:00Z": 2, "--chain nobody": 0, "--id " + record.ID: 1,
	} {
		if got := read(strings.Fields(args)...); got.code != 0 || strings.Count(got.stdout, "\n") != want {
			t.Errorf("%s: %+v, want %d records", args, got, want)
		}
	}
	noted := regexp.MustCompile(`head (\S+)`).FindStringSubmatch(all.stderr)[1]
	if got := read("--verify", "--head", noted); got.code != 0 {
		t.Errorf("with its own head: %+v", got)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := strings.Cut(string(text), "\n")
	rewrite := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(first + "\n")
	if got := read("--verify"); got.code != 0 {
		t.Errorf("the end cut off, and nobody noted it: %+v", got)
	}
	if got := read("--verify", "--head", noted); got.code != 1 || !strings.Contains(got.stderr, "this chain does not contain the head ") {
		t.Errorf("the end cut off: %+v", got)
	}
	rewrite(second)
	if got := read("--verify"); got.code != 0 || !strings.Contains(got.stderr, "the records before 2 are not in these files: ") {
		t.Errorf("the first record is gone, and nothing says so: %+v", got)
	}
	rewrite(strings.Replace(first, `"decision":"allow"`, `"decision":"deny"`, 1) + "\n" + second)
	if got := read(); got.code != 1 || !strings.Contains(got.stderr, "audit.jsonl:2: the chain is broken: record 2 does not match the line before it") || !strings.Contains(got.stderr, "is broken after the first record, 1, which may itself have been changed") {
		t.Errorf("a record was changed: %+v", got)
	}
}

func TestVerifyingSaysUpToWhichRecordAChainHolds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	f, err := audit.OpenFile(audit.FileOptions{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	var records []audit.Record
	for i := range 6 {
		records = append(records, audit.Record{Body: fmt.Appendf(nil, `{"i":%d}`, i+1)})
	}
	if err := errors.Join(f.Write(t.Context(), records, true), f.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")[:6]
	heads := map[int]string{}
	for i, line := range lines {
		heads[i+1] = fmt.Sprintf("head %d:%x", i+1, sha256.Sum256([]byte(strings.TrimSuffix(line, "\n"))))
	}
	const mayBe = ", which may itself have been changed"
	for name, tc := range map[string]struct {
		change func(lines []string)
		at     int // the line named in the error
		want   []string
	}{
		"the fourth changed":     {func(l []string) { l[3] = strings.Replace(l[3], `"i":4`, `"i":9`, 1) }, 5, []string{"the hash chain of records 1 to 3 is intact; " + heads[3], "is broken after record 4" + mayBe}},
		"the fourth removed":     {func(l []string) { l[3] = "" }, 4, []string{"the hash chain of records 1 to 2 is intact; " + heads[2], "is broken after record 3" + mayBe}},
		"the fourth made none":   {func(l []string) { l[3] = "{}\n" }, 4, []string{"the hash chain of records 1 to 2 is intact; " + heads[2], "is broken after record 3" + mayBe}},
		"the fourth without end": {func(l []string) { l[3] = strings.Repeat("x", 3<<20) + "\n" }, 4, []string{"longer than a line can be", "the hash chain of records 1 to 2 is intact; " + heads[2], "is broken after record 3" + mayBe}},
		"the first changed":      {func(l []string) { l[0] = strings.Replace(l[0], `"i":1`, `"i":9`, 1) }, 2, []string{"is broken after the first record, 1" + mayBe}},
		"the first made none":    {func(l []string) { l[0] = "{}\n" }, 1, []string{"is broken at the first line"}},
		"the second changed":     {func(l []string) { l[1] = strings.Replace(l[1], `"i":2`, `"i":9`, 1) }, 3, []string{"the hash chain of records 1 to 1 is intact; " + heads[1], "is broken after record 2" + mayBe}},
	} {
		t.Run(name, func(t *testing.T) {
			changed := slices.Clone(lines)
			tc.change(changed)
			if err := os.WriteFile(file, []byte(strings.Join(changed, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			got := commandLine(t, nil, "", "audit", "--file", file, "--verify")
			if got.code != 1 || got.stdout != "" {
				t.Errorf("%+v", got)
			}
			for _, want := range append(tc.want, fmt.Sprintf("%s:%d: the chain is broken: ", file, tc.at)) {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("it says\n%swhich lacks\n%s", got.stderr, want)
				}
			}
		})
	}
}

func TestWhatWasDecidedAndWithheldIsNotShownAsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	f, err := audit.OpenFile(audit.FileOptions{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	var records []audit.Record
	for _, body := range []string{
		`{"id":"1","decision":"allow","tool_name":"\"withheld\":true"}`, `{"id":"2","decision":"allow"}`,
		`{"id":"2","decision":"deny","withheld":true}`, `{"id":"3","decision":"deny","withheld":true}`,
	} {
		records = append(records, audit.Record{Body: []byte(body)})
	}
	if err := errors.Join(f.Write(t.Context(), records, true), f.Close()); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		records int
		skipped bool
	}{"": {3, true}, "--decision allow": {1, true}, "--decision deny": {2, false}, "--id 2": {1, true}, "--all": {4, false}, "--all --decision allow": {2, false}, "--verify": {0, false}} {
		got := commandLine(t, nil, "", append([]string{"audit", "--file", file}, strings.Fields(args)...)...)
		if got.code != 0 || strings.Count(got.stdout, "\n") != want.records || strings.Contains(got.stderr, "records left out: 1, ") != want.skipped {
			t.Errorf("%q: %+v, want %+v", args, got, want)
		}
	}
}

func TestArgumentsOfAuditThatMeanNothingAreRefused(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "audit.jsonl")
	for _, tc := range []struct {
		code int
		want string
		args []string
	}{
		{2, "no audit file: give --file, or set HOOKGATE_AUDIT_FILE", nil},
		{2, `takes no arguments, got "x"`, []string{"x"}},
		{2, "no database: set HOOKGATE_DATABASE_URL", []string{"--database"}},
		{2, "cannot be combined with --file, --verify or --head", []string{"--database", "--verify"}},
		{2, "cannot be combined with --file, --verify or --head", []string{"--database", "--head", fmt.Sprintf("1:%064d", 0)}},
		{2, "cannot be combined with --file, --verify or --head", []string{"--database", "--file", missing}},
		{2, "flag provided but not defined", []string{"--nope"}},
		{2, `--since is "yesterday"`, []string{"--file", missing, "--since", "yesterday"}},
		{2, `decision "denied" is not one of allow, deny, modify, replace`, []string{"--file", missing, "--decision", "denied"}},
		{2, `cause "timed out" is not one of none, uncovered, timeout, `, []string{"--file", missing, "--cause", "timed out"}},
		{2, `event "before" is not one of`, []string{"--file", missing, "--event", "before"}},
		{2, `--head is "5"`, []string{"--file", missing, "--head", "5"}},
		{1, "no such file", []string{"--file", missing}},
	} {
		if got := commandLine(t, nil, "", append([]string{"audit"}, tc.args...)...); got.code != tc.code || !strings.Contains(got.stderr, tc.want) {
			t.Errorf("%v: %+v, want %d %s", tc.args, got, tc.code, tc.want)
		}
	}
	if err := os.WriteFile(missing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := commandLine(t, nil, "", "audit", "--file", missing); got.code != 0 || !strings.Contains(got.stderr, "contains no records") {
		t.Errorf("an empty file: %+v", got)
	}
	if got := commandLine(t, nil, "", "audit", "--file", missing, "--head", fmt.Sprintf("1:%064d", 0)); got.code != 1 {
		t.Errorf("an empty file and a head: %+v", got)
	}
	if got := commandLine(t, []string{"HOOKGATE_DATABASE_URL=postgres://u:hush@h:port/d"}, "", "audit", "--database"); got.code != 1 ||
		!strings.Contains(got.stderr, "gateway audit: HOOKGATE_DATABASE_URL is not valid: ") || strings.Contains(got.stderr, "hush") {
		t.Errorf("a bad database: %+v", got)
	}
	if got := commandLine(t, nil, "", "audit", "-h"); got.code != 0 {
		t.Errorf("help: %+v", got)
	}
}

func TestAnAuditFileThatCannotBeOpenedIsFatal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gone", "audit.jsonl")
	got := commandLine(t, []string{"HOOKGATE_AUDIT_FILE=" + file, "HOOKGATE_AUDIT_OTLP=true"}, "", "serve")
	if got.code != 1 || !strings.Contains(got.stderr, "gateway: HOOKGATE_AUDIT_FILE: the audit file "+file) {
		t.Errorf("%+v", got)
	}
}

func TestReadingTheTrailEndsWithTheFirstSignal(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var stderr strings.Builder
	p := &program{stderr: &stderr}
	release, ended := make(chan struct{}), make(chan struct{})
	hangs := func() int {
		defer close(ended)
		stop()
		<-release // as a pipe does to which nobody writes
		return exitOK
	}
	if code := p.unlessStopped(ctx, "audit", hangs); code != exitFailed || stderr.String() != "gateway audit: stopped\n" {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	close(release)
	<-ended
	if code := p.unlessStopped(t.Context(), "audit", func() int { return 7 }); code != 7 {
		t.Errorf("what ends by itself exits with %d", code)
	}
}
