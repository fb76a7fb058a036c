package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/gateway/audit"
)

// book is a sink that stores records in memory, or fails on demand.
type book struct {
	mu      sync.Mutex
	records []map[string]any
	err     error
	closed  bool
	// held, if set, blocks each write until it is closed.
	held chan struct{}
}

func (b *book) Write(_ context.Context, records []audit.Record, _ bool) error {
	b.mu.Lock()
	held := b.held
	b.mu.Unlock()
	if held != nil {
		<-held
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	for _, r := range records {
		var body map[string]any
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		b.records = append(b.records, body)
	}
	return nil
}

func (b *book) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

func (b *book) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *book) all() []map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.records
}

// recorded starts a gateway with the given audit section and a book as its
// output.
func recorded(t *testing.T, says string, more ...func(*Options)) (*running, *book) {
	t.Helper()
	hook := newHookServer(t, answers(`{"decision":"allow"}`))
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\naudit: " + says + "\nhooks:\n" +
		"  - {name: remote, url: " + hook.URL + "}\n  - {name: review, event: post_tool_use, url: " + hook.URL + "}\n"})
	b := &book{}
	o := Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), Audit: []audit.Output{{Name: "file", Sink: b, Durable: true}}}
	for _, change := range more {
		change(&o)
	}
	return start(t, o), b
}

func TestG12_TheRecordIsSafeBeforeAnAllowLeaves(t *testing.T) {
	r, b := recorded(t, "{required: true}")
	got := r.ask("", preText)
	if got.status != http.StatusOK || got.body != `{"decision":"allow"}` {
		t.Fatalf("%+v", got)
	}
	all := b.all()
	if len(all) != 1 {
		t.Fatalf("there are %d records", len(all))
	}
	record := all[0]
	for name, want := range map[string]any{
		"id": got.header.Get("X-Hookgate-Decision-Id"), "chain": "operator", "decision": "allow", "tool_name": "shell", "cause": "none",
		"request_sha256": tokenHash(preText), "breakers": []any{map[string]any{"hook": "remote", "state": "closed"}},
	} {
		if diff := cmp.Diff(want, record[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range []string{"input", "output", "caller"} {
		if value, there := record[name]; there {
			t.Errorf("the record has %s: %v", name, value)
		}
	}
	r.wantMetric(`hookgate_audit_records_total{result="written",sink="file"}`, "1")
}

func TestG12_AnAllowThatCouldNotBeRecordedIsWithheld(t *testing.T) {
	r, b := recorded(t, "{required: true}")
	b.fail(errors.New("disk full"))
	const reason = "the gateway withholds its decision: the audit record, which its configuration requires, could not be written durably; see the gateway's log"
	for _, envelope := range []string{preText, postText} {
		if decision, why := r.decide("", envelope); decision != "deny" || why != reason {
			t.Errorf("%s: %s", decision, why)
		}
	}
	r.wantMetric("hookgate_audit_withheld_total", "2")
	if list := r.do(http.MethodGet, r.base+"/v1/decisions", "").body; strings.Contains(list, `"decision":"allow"`) {
		t.Errorf("it is listed as allowed: %s", list)
	}
	if !strings.Contains(r.log.String(), "disk full") {
		t.Error("the log does not say why")
	}
	b.fail(nil)
	eventually(t, "what was told is recorded, or what is new", func() bool {
		decision, _ := r.decide("", preText)
		return decision == "allow"
	})
}

func TestG12_ACallerThatSaysHowLongItWaitsIsDeniedInThatTime(t *testing.T) {
	r, b := recorded(t, "{required: true}")
	b.held = make(chan struct{})
	defer close(b.held)
	const withheld = "the gateway withholds its decision"
	var reason string
	// However slow the machine is, for some value the chain decides in time.
	for within := 100 * time.Millisecond; within < auditPatience && !strings.HasPrefix(reason, withheld); within *= 2 {
		got := r.do(http.MethodPost, r.base+"/v1/decide", preText, header("X-Hookgate-Timeout-Ms", strconv.FormatInt(within.Milliseconds(), 10)))
		var decision string
		if decision, reason = decisionIn(t, got.body); decision != "deny" {
			t.Fatalf("%s: %s", decision, reason)
		}
	}
	if !strings.HasPrefix(reason, withheld) || !strings.Contains(r.log.String(), errHurried.Error()) {
		t.Errorf("it is told %q, and the log does not say that it was in a hurry: %s", reason, r.log.String())
	}
}

func TestADenyDoesNotWaitForItsRecord(t *testing.T) {
	r, b := recorded(t, "{required: true}", func(o *Options) { o.Interceptors = intercepting("no", denying) })
	b.fail(errors.New("disk full"))
	if decision, reason := r.decide("", preText); decision != "deny" || !strings.Contains(reason, "denied by interceptor 'no'") {
		t.Errorf("%s: %s", decision, reason)
	}
	r.wantMetric("hookgate_audit_withheld_total", "0")
	eventually(t, "the failure is counted", func() bool {
		n, _ := r.metric(`hookgate_audit_records_total{result="failed",sink="file"}`)
		return n == "1"
	})
}

func TestWithoutARequiredTrailNothingIsWithheld(t *testing.T) {
	r, b := recorded(t, "{}")
	b.fail(errors.New("disk full"))
	if decision, _ := r.decide("", preText); decision != "allow" {
		t.Errorf("decision %s", decision)
	}
	b.fail(nil)
	r.decide("", preText)
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if all := b.all(); len(all) == 0 || !b.closed {
		t.Errorf("at a stop there are %d records, closed %v", len(all), b.closed)
	}
}

// hungUp sends a call whose caller hangs up once a condition holds.
func (r *running) hungUp(once func() bool) {
	r.t.Helper()
	conn := r.dial(posted(preText))
	eventually(r.t, "the gateway is at it", once)
	if err := conn.Close(); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, "the hang-up is counted", func() bool {
		got, _ := r.metric(`hookgate_http_requests_total{code="499",route="/v1/decide"}`)
		return got == "1"
	})
}

func TestADecisionWhoseCallerHungUpHasItsRecord(t *testing.T) {
	for _, says := range []string{"{}", "{required: true}"} {
		t.Run(says, func(t *testing.T) {
			release := make(chan struct{})
			defer close(release)
			hook := newHookServer(t, waits(release))
			dir := files(t, map[string]string{"hooks.yaml": "schema: 1\naudit: " + says + "\nhooks:\n  - {name: quick, use: no-force-push}\n  - {name: slow, url: " + hook.URL + "}\n"})
			b := &book{}
			r := start(t, Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), Audit: []audit.Output{{Name: "file", Sink: b, Durable: true}}})
			r.hungUp(func() bool { return hook.asked() == 1 })
			list := r.do(http.MethodGet, r.base+"/v1/decisions", "").body
			if !strings.Contains(list, `"abandoned":true`) {
				t.Errorf("it is not listed: %s", list)
			}
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			all := b.all()
			if len(all) != 1 {
				t.Fatalf("there are %d records", len(all))
			}
			answers, _ := all[0]["answers"].([]any)
			reason, _ := all[0]["reason"].(string)
			if all[0]["decision"] != "deny" || all[0]["abandoned"] != true || !strings.HasPrefix(reason, "the caller stopped waiting") || len(answers) != 1 {
				t.Errorf("the record is %v", all[0])
			}
		})
	}
}

func TestADecisionWhoseCallerDidNotWaitForItsRecordIsRecordedAsNotTold(t *testing.T) {
	held := make(chan struct{})
	r, b := recorded(t, "{required: true}")
	b.held = held
	r.hungUp(func() bool {
		n, _ := r.metric(`hookgate_hook_answers_total{answer="allow",binding="webhook",event="pre_tool_use",hook="remote",mode="enforce"}`)
		return n == "1"
	})
	close(held)
	r.wantMetric("hookgate_audit_withheld_total", "0")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	all := b.all()
	last := all[len(all)-1]
	if last["decision"] != "deny" || last["abandoned"] != true || last["reason"] != "the caller disconnected before the audit record of the decision was durable" {
		t.Errorf("the last record is %v", last)
	}
	for _, record := range all {
		if record["id"] != last["id"] {
			t.Errorf("another decision: %v", record)
		}
	}
}

func TestInputsAndOutputsAreRecordedWithoutSecretsWhereAskedFor(t *testing.T) {
	r, b := recorded(t, `{include: [input, output], mask: ["/input/headers/*", "/input/list/1", "/output/hidden", "/input/a~1b"]}`)
	const key = "AKIAQZ7WLSNUXK5D4EOT"
	input := `{"plain":1.50,"headers":{"X-A":"mine","X-B":"mine"},"list":["x","mine",{"headers":"x"}],"a/b":"mine","aws":"` + key + `"}`
	r.decide("", strings.Replace(preText, `{"command":"ls"}`, input, 1))
	r.decide("", strings.Replace(strings.Replace(postText, `"TOKEN"`, `{"hidden":"mine","long":"`+strings.Repeat("x", 100)+`"}`, 1), `{"command":"ls"}`, `"`+strings.Repeat("y", largestContent)+`"`, 1))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	all := b.all()
	if len(all) != 2 {
		t.Fatalf("there are %d records", len(all))
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "mine") || strings.Contains(string(text), key) {
		t.Errorf("a secret is in %s", text)
	}
	want := map[string]any{
		"plain": 1.5, "headers": map[string]any{"X-A": "[masked]", "X-B": "[masked]"}, "list": []any{"x", "[masked]", map[string]any{"headers": "x"}},
		"a/b": "[masked]", "aws": "[redacted: aws-access-key]",
	}
	if diff := cmp.Diff(want, all[0]["input"]); diff != "" {
		t.Errorf("the input (-want +got):\n%s", diff)
	}
	if output, _ := all[1]["output"].(map[string]any); output["hidden"] != "[masked]" || len(output) != 2 {
		t.Errorf("the output is %v", all[1]["output"])
	}
	if all[1]["input"] != nil || all[1]["input_omitted_bytes"] != float64(largestContent+2) {
		t.Errorf("a long input is %v bytes", all[1]["input_omitted_bytes"])
	}
}

func TestARecordIsOneLineHoweverManyItsCallHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	file, err := audit.OpenFile(audit.FileOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks: []\naudit: {include: [input, output]}\n"})
	r := start(t, Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), Audit: []audit.Output{{Name: "file", Sink: file}}})
	envelope := strings.Replace(postText, `{"command":"ls"}`, "{\r\n \"a\":\n{\"forged\":1}\n}", 1)
	if decision, reason := r.decide("", strings.Replace(envelope, `"TOKEN"`, "[1,\n{\"n\":2,\"prev\":\"\",\"record\":{}}\n]", 1)); decision != "allow" {
		t.Fatalf("%s: %s", decision, reason)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `"input":{   "a": {"forged":1} },"output":[1, {"n":2,"prev":"","record":{}} ]}}` + "\n"
	if !strings.HasSuffix(string(text), want) || strings.Count(string(text), "\n") != 1 {
		t.Errorf("the file is %s", text)
	}
	if file, err = audit.OpenFile(audit.FileOptions{Path: path}); err != nil { // as after a restart
		t.Fatal(err)
	}
	shut(t, file)
}

func TestARequiredTrailNeedsSomewhereToBeSafe(t *testing.T) {
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks: []\naudit: {required: true}\n"})
	o := Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), Audit: []audit.Output{{Name: "stdout", Sink: &book{}}}}
	_, err := New(o)
	if err == nil || !strings.HasSuffix(err.Error(), "hooks.yaml:3: audit: required is true, but no output keeps records durably: set HOOKGATE_AUDIT_FILE, or HOOKGATE_AUDIT_STATE=true") {
		t.Errorf("error %v", err)
	}
	o.Audit = nil
	warning := "warning: " + o.ConfigFile + ":3: audit: required is true, but no output keeps records durably"
	if r, err := Check(o); err != nil || !strings.Contains(r.String(), warning) {
		t.Errorf("a check: %v: %v", err, r)
	}
	o.Audit = []audit.Output{{Name: "file", Durable: true}}
	if r, err := Check(o); err != nil || strings.Contains(r.String(), warning) {
		t.Errorf("a check with a file: %v: %v", err, r)
	}
}

func TestARecordNamesItsCaller(t *testing.T) {
	o, _ := guarded(t, "")
	b := &book{}
	o.Audit = []audit.Output{{Name: "file", Sink: b}}
	r := start(t, o)
	r.do(http.MethodPost, r.base+"/v1/chains/team-a/decide", preText, bearer("alice-new"))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if all := b.all(); len(all) != 1 || all[0]["caller"] != "alice" {
		t.Errorf("records %v", all)
	}
}

func TestRecordsCanBeKeptWhereApprovalsAre(t *testing.T) {
	state := t.TempDir()
	r, _ := recorded(t, "{required: true}", func(o *Options) { o.Audit, o.AuditState, o.StateDir = nil, true, state })
	id := r.ask("", preText).header.Get("X-Hookgate-Decision-Id")
	r.wantMetric(`hookgate_audit_records_total{result="written",sink="state"}`, "1")
	kept, err := r.gateway.keeper.get()
	if err != nil {
		t.Fatal(err)
	}
	records, err := kept.Read(t.Context(), 0, 10)
	if err != nil || len(records) != 1 || !strings.Contains(string(records[0].Body), id) {
		t.Errorf("records %v, error %v", records, err)
	}
	if _, err := New(Options{AuditState: true}); err == nil || !strings.Contains(err.Error(), "set HOOKGATE_DATABASE_URL or HOOKGATE_STATE_DIR") {
		t.Errorf("error %v", err)
	}
}
