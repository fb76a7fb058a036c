package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/gateway/state"
)

// asksPerson is a chain that asks a person.
const asksPerson = "schema: 1\nbudget_ms: 1000\nhooks:\n  - {name: person, use: approval, timeout_ms: 60000}\n"

// approvals starts a gateway whose chain asks a person.
func approvals(t *testing.T, o Options, hooks string) *running {
	t.Helper()
	o.ConfigFile = files(t, map[string]string{"hooks.yaml": hooks}) + "/hooks.yaml"
	if o.DatabaseURL == "" {
		o.StateDir = t.TempDir()
	}
	o.approvalPoll = 50 * time.Millisecond
	return start(t, o)
}

// later asks in the background.
func (r *running) later(envelope string, edits ...func(*http.Request)) <-chan reply {
	answer := make(chan reply, 1)
	go func() { answer <- r.do(http.MethodPost, r.base+"/v1/decide", envelope, edits...) }()
	return answer
}

// listedApproval holds the fields of a listed approval that the tests check.
type listedApproval struct {
	ID, State, Chain, Event, Workspace, Digest, Message string
	AskedBy                                             string `json:"asked_by"`
	DecisionID                                          string `json:"decision_id"`
	AgentID                                             string `json:"agent_id"`
	ToolName                                            string `json:"tool_name"`
	SettledBy                                           string `json:"settled_by"`
	Input, Output                                       json.RawMessage
	UpdatedInput                                        json.RawMessage `json:"updated_input"`
	Used                                                bool
}

func (r *running) listApprovals(query string) []listedApproval {
	r.t.Helper()
	got := r.do(http.MethodGet, r.base+"/v1/approvals"+query, "")
	var list struct{ Approvals []listedApproval }
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || got.status != http.StatusOK {
		r.t.Fatalf("status %d: %v in %s", got.status, err, got.body)
	}
	return list.Approvals
}

// waiting waits until n calls wait for a person.
func (r *running) waiting(n int) []listedApproval {
	r.t.Helper()
	var found []listedApproval
	eventually(r.t, fmt.Sprintf("%d calls wait", n), func() bool {
		found = r.listApprovals("")
		return len(found) == n
	})
	return found
}

func (r *running) answer(id, body string, edits ...func(*http.Request)) reply {
	r.t.Helper()
	return r.do(http.MethodPost, r.base+"/v1/approvals/"+id, body, edits...)
}

func TestAPersonsAnswerIsTheDecision(t *testing.T) {
	for name, tc := range map[string]struct{ says, want, state string }{
		"allow":              {`{"behavior":"allow"}`, `{"decision":"allow"}`, "allowed"},
		"allow with a word":  {`{"behavior":"allow","message":"go on"}`, `{"decision":"allow"}`, "allowed"},
		"deny":               {`{"behavior":"deny"}`, `{"decision":"deny","reason":"denied by hook 'person': a person denied this call"}`, "denied"},
		"deny with a word":   {`{"behavior":"deny","message":"not <today>"}`, `{"decision":"deny","reason":"denied by hook 'person': not <today>"}`, "denied"},
		"allow with another": {`{"behavior":"allow","updated_input":{"n": 9007199254740993,"h":"<>&"}}`, `{"decision":"modify","input":{"n": 9007199254740993,"h":"<>&"},"reason":"hook 'person': the person who allowed it changed the input"}`, "allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := approvals(t, Options{}, asksPerson)
			decision := r.later(preText)
			p := r.waiting(1)[0]
			if p.State != "pending" || p.Chain != "operator" || p.AskedBy != "hook 'person'" || p.ToolName != "shell" || string(p.Input) != `{"command":"ls"}` {
				t.Errorf("what waits is %+v", p)
			}
			r.wantMetric("hookgate_approvals_pending", "1")
			if got := r.answer(p.ID, tc.says); got.status != http.StatusOK || !strings.Contains(got.body, `"state":"`+tc.state+`"`) || !strings.Contains(got.body, `"settled_by":"anonymous at 127.0.0.1"`) {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			if got := <-decision; got.status != http.StatusOK || got.body != tc.want {
				t.Errorf("status %d: %s, want %s", got.status, got.body, tc.want)
			}
			r.wantMetric("hookgate_approvals_pending", "0")
			r.wantMetric(`hookgate_approvals_total{outcome="`+tc.state+`"}`, "1")
		})
	}
}

func TestTheHooksBehindAPersonHaveTheirOwnTimeAndSeeWhatHeChanged(t *testing.T) {
	// The person takes longer than the whole budget and than BodyTimeout.
	endpoint := newHookServer(t, answers(`{"decision":"allow"}`))
	r := approvals(t, Options{BodyTimeout: 300 * time.Millisecond}, asksPerson+fmt.Sprintf("  - {name: after, url: %q}\n", endpoint.URL))
	decision := r.later(preText)
	p := r.waiting(1)[0]
	<-time.After(1200 * time.Millisecond)
	r.answer(p.ID, `{"behavior":"allow","updated_input":{"command":"pwd"}}`)
	if got := <-decision; !strings.HasPrefix(got.body, `{"decision":"modify","input":{"command":"pwd"}`) {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if got := endpoint.bodies[0]; !strings.Contains(got, `"input":{"command":"pwd"}`) {
		t.Errorf("the hook behind was asked %s", got)
	}
}

func TestNobodyAnswersAndTheCallIsDenied(t *testing.T) {
	r := approvals(t, Options{}, strings.Replace(asksPerson, "60000", "1000", 1))
	want := `{"decision":"deny","reason":"hook 'person' could not answer and denies on failure: no person answered within 750ms"}`
	if got := r.ask("", preText); got.body != want {
		t.Errorf("status %d: %s, want %s", got.status, got.body, want)
	}
	p := r.listApprovals("?state=any")[0]
	if got := r.answer(p.ID, `{"behavior":"allow"}`); got.status != http.StatusConflict || !strings.Contains(got.body, "no longer needs an answer: it expired at ") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	r.wantMetric(`hookgate_decisions_total{cause="timeout",chain="operator",decision="deny",event="pre_tool_use",tool="other"}`, "1")
}

func TestACallerThatWaitsLessIsAnsweredInItsTime(t *testing.T) {
	r := approvals(t, Options{}, asksPerson)
	got := r.do(http.MethodPost, r.base+"/v1/decide", preText, header("X-Hookgate-Timeout-Ms", "900"))
	want := `hook 'person' could not answer within the 900 ms that the caller waits: no person answered within `
	_, reason := decisionIn(t, got.body)
	waited, ok := strings.CutPrefix(reason, want)
	if d, err := time.ParseDuration(waited); !ok || err != nil || d%time.Millisecond != 0 {
		t.Errorf("the reason is %s", reason)
	}
}

func TestTheSecondOfTwoPeopleIsToldWhoWon(t *testing.T) {
	r := approvals(t, Options{}, asksPerson)
	decision := r.later(preText)
	id := r.waiting(1)[0].ID
	replies := make(chan reply, 2)
	for _, says := range []string{"allow", "deny"} {
		go func() { replies <- r.answer(id, `{"behavior":"`+says+`"}`) }()
	}
	statuses := map[int]reply{}
	for range 2 {
		got := <-replies
		statuses[got.status] = got
	}
	lost, ok := statuses[http.StatusConflict]
	if _, won := statuses[http.StatusOK]; !won || !ok {
		t.Fatalf("the replies are %v", statuses)
	}
	said, _ := decisionIn(t, (<-decision).body)
	was := map[string]string{"allow": "allowed", "deny": "denied"}[said]
	if !strings.Contains(lost.body, "it was already "+was+" by anonymous at 127.0.0.1 at ") {
		t.Errorf("the decision is %s and the second was told %s", said, lost.body)
	}
}

func TestAnAnswerThatIsNoneIsRefusedAndSaysWhy(t *testing.T) {
	r := approvals(t, Options{}, asksPerson)
	decision := r.later(preText)
	id := r.waiting(1)[0].ID
	for _, tc := range []struct {
		id, body string
		status   int
		want     string
	}{
		{id, `{}`, 400, `behavior is missing: use allow or deny`},
		{id, `{"behavior":"Allow"}`, 400, `behavior is \"Allow\": use allow or deny`},
		{id, `{"behavior":true}`, 400, `behavior at byte 12 is not a string`},
		{id, `{"behavior":"allow","behavior":"deny"}`, 400, `duplicate`},
		{id, `{"behavior":"allow","by":"me"}`, 400, `unknown field \"by\"`},
		{id, `{"behavior":"allow","updated_input":[]}`, 400, `updated_input cannot be used: it is not a JSON object`},
		{id, `{"behavior":"allow","updated_input":null}`, 400, `updated_input cannot be used: it is not a JSON object`},
		{id, `{"behavior":"deny","updated_input":{}}`, 400, `updated_input is only for allow`},
		{id, `{"behavior":"allow","digest":"x"}`, 400, `digest belongs to another call`},
		{"00000000-0000-7000-8000-000000000000", `{"behavior":"allow"}`, 404, `there is no approval with that id`},
		{"nonsense", `{"behavior":"allow"}`, 404, `there is no approval with that id`},
	} {
		if got := r.answer(tc.id, tc.body); got.status != tc.status || !strings.Contains(got.body, tc.want) {
			t.Errorf("%s: status %d: %s, want %d and %s", tc.body, got.status, got.body, tc.status, tc.want)
		}
	}
	if got := r.answer(id, `{"behavior":"allow"}`, header("Origin", "https://evil.example")); got.status != http.StatusForbidden {
		t.Errorf("a page of another origin: status %d: %s", got.status, got.body)
	}
	if got := r.answer(id, `{"behavior":"allow"}`, header("Content-Type", "text/plain")); got.status != http.StatusUnsupportedMediaType {
		t.Errorf("a form of another page: status %d: %s", got.status, got.body)
	}
	r.waiting(1)
	r.answer(id, `{"behavior":"deny"}`)
	<-decision
}

func TestAResultIsPutToAPersonToo(t *testing.T) {
	r := approvals(t, Options{}, strings.Replace(asksPerson, "use: approval", "use: approval, event: post_tool_use", 1))
	decision := r.later(postText)
	p := r.waiting(1)[0]
	if p.Event != "post_tool_use" || string(p.Output) != `"TOKEN"` {
		t.Errorf("what waits is %+v", p)
	}
	if got := r.answer(p.ID, `{"behavior":"allow","updated_input":{}}`); got.status != http.StatusBadRequest || !strings.Contains(got.body, "the call has run") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	r.answer(p.ID, `{"behavior":"deny"}`)
	if got := <-decision; !strings.Contains(got.body, "a person denied this call") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestACallerThatHangsUpWithdrawsItsQuestion(t *testing.T) {
	r := approvals(t, Options{}, asksPerson)
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base+"/v1/decide", strings.NewReader(preText))
		if err == nil {
			req.Header.Set("Content-Type", "application/json")
			var resp *http.Response
			if resp, err = (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req); err == nil {
				err = resp.Body.Close()
			}
		}
		gone <- err
	}()
	id := r.waiting(1)[0].ID
	hangUp()
	if err := <-gone; err == nil {
		t.Error("the caller got an answer")
	}
	eventually(t, "it is withdrawn", func() bool {
		return r.listApprovals("?state=withdrawn") != nil && len(r.listApprovals("?state=withdrawn")) == 1
	})
	if got := r.answer(id, `{"behavior":"allow"}`); got.status != http.StatusConflict || !strings.Contains(got.body, "it was withdrawn at ") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	// There is no response before which it must have been counted.
	eventually(t, "it is counted", func() bool {
		n, _ := r.metric(`hookgate_approvals_total{outcome="withdrawn"}`)
		return n == "1"
	})
}

func TestAListCanBeNarrowed(t *testing.T) {
	r := approvals(t, Options{}, asksPerson)
	var decisions []<-chan reply
	for n, tool := range []string{"shell", "write", "shell"} {
		decisions = append(decisions, r.later(strings.NewReplacer("shell", tool, "agent-1", fmt.Sprintf("agent-%d", n)).Replace(preText)))
		r.waiting(n + 1)
	}
	first := r.listApprovals("")[0]
	r.answer(first.ID, `{"behavior":"deny"}`)
	for query, want := range map[string]int{
		"": 2, "?state=any": 3, "?state=denied": 1, "?tool=shell": 1, "?tool=shell&state=any": 2, "?agent=agent-1": 1,
		"?chain=operator": 2, "?chain=other": 0, "?limit=1": 1,
	} {
		if got := r.listApprovals(query); len(got) != want {
			t.Errorf("%s: %d, want %d", query, len(got), want)
		}
	}
	for query, want := range map[string]string{
		"?status=any": `unknown filter \"status\": known are state, chain, tool, agent, limit`,
		"?state=open": `state \"open\" is not one of pending, allowed, denied, expired, withdrawn, or any`,
		"?limit=0":    `limit is \"0\": give a whole number from 1 to 500`,
	} {
		if got := r.do(http.MethodGet, r.base+"/v1/approvals"+query, ""); got.status != http.StatusBadRequest || !strings.Contains(got.body, want) {
			t.Errorf("%s: status %d: %s", query, got.status, got.body)
		}
	}
	for _, p := range r.listApprovals("") {
		r.answer(p.ID, `{"behavior":"deny"}`)
	}
	for _, d := range decisions {
		<-d
	}
}

func TestAStreamTellsWhatWaitsAndWhatBecomesOfIt(t *testing.T) {
	r := approvals(t, Options{}, asksPerson)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+"/v1/approvals", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, resp.Body)
	lines := bufio.NewScanner(resp.Body)
	event := func() (name, data string) {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = text
			}
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return name, text
			}
		}
		return "", ""
	}
	decision := r.later(preText)
	name, data := event()
	var p listedApproval
	if err := json.Unmarshal([]byte(data), &p); err != nil || name != "pending" || p.State != "pending" {
		t.Fatalf("%s %s: %v", name, data, err)
	}
	r.answer(p.ID, `{"behavior":"deny","message":"no"}`)
	if name, data := event(); name != "settled" || !strings.Contains(data, `"message":"no"`) {
		t.Errorf("%s %s", name, data)
	}
	<-decision
	if err := r.stop(); err != nil { // does not wait for followers
		t.Error(err)
	}
}

func TestAStopDeniesWhatWaitsAtOnce(t *testing.T) {
	r := approvals(t, Options{DrainTimeout: time.Hour}, asksPerson)
	decision := r.later(preText)
	r.waiting(1)
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	want := `{"decision":"deny","reason":"hook 'person' could not answer and denies on failure: was withdrawn: the gateway is stopping"}`
	if got := <-decision; got.body != want {
		t.Errorf("status %d: %s, want %s", got.status, got.body, want)
	}
}

func TestAnAgentsProfileThatSaysAskAsksAPerson(t *testing.T) {
	for says, want := range map[string]string{
		`{"behavior":"allow"}`:                                   `"behavior":"allow"`,
		`{"behavior":"deny","message":"nope"}`:                   `"behavior":"deny","message":"nope"`,
		`{"behavior":"allow","updated_input":{"command":"pwd"}}`: `"behavior":"allow"`,
	} {
		r := start(t, Options{
			AgentsDir: agentDir(t, "asks", "permission: true\npermission_default: ask\n"), StateDir: t.TempDir(), approvalPoll: 50 * time.Millisecond,
		})
		next := r.follow(t.Context(), aTurn)
		p := r.waiting(1)[0]
		if p.AskedBy != "agent 'a'" || p.DecisionID == "" || p.Chain != "operator" {
			t.Errorf("what waits is %+v", p)
		}
		r.answer(p.ID, says)
		line := next()
		if !strings.Contains(line, want) || !strings.Contains(line, `"decision_id":"`+p.DecisionID+`"`) {
			t.Errorf("%s: the agent is told %s", says, line)
		}
		last := next()
		if !strings.Contains(last, `"type":"result"`) || strings.Contains(says, "pwd") != strings.Contains(last, "pwd") {
			t.Errorf("%s: the turn ends with %s", says, last)
		}
	}
}

func TestAnAgentIsToldWhyNobodyAnswered(t *testing.T) {
	r := start(t, Options{
		AgentsDir: agentDir(t, "asks", "permission: true\npermission_default: ask\npermission_ask_timeout_secs: 1\n"), StateDir: t.TempDir(),
	})
	if line := r.turn(aTurn)[0]; !strings.Contains(line, `"message":"denied: permission_default of this agent's profile is ask, and no person answered within 750ms"`) {
		t.Errorf("the agent is told %s", line)
	}
}

func TestAStoreThatCannotBeReachedDeniesAndIsSaid(t *testing.T) {
	r := approvals(t, Options{DatabaseURL: "postgres://u:CANARY@127.0.0.1:1/x?sslmode=disable"}, asksPerson)
	want := `{"decision":"deny","reason":"hook 'person' could not answer and denies on failure: the approvals store is unavailable"}`
	if got := r.ask("", preText); got.body != want {
		t.Errorf("status %d: %s, want %s", got.status, got.body, want)
	}
	ready := r.do(http.MethodGet, r.admin+"/readyz", "")
	if ready.status != http.StatusOK || !strings.Contains(ready.body, `"status":"degraded"`) || !strings.Contains(ready.body, `"approvals":{"status":"degraded","error":`) {
		t.Errorf("status %d: %s", ready.status, ready.body)
	}
	r.wantMetric("hookgate_approvals_store_up", "0")
	for _, got := range []reply{r.do(http.MethodGet, r.base+"/v1/approvals", ""), r.answer("x", `{"behavior":"allow"}`)} {
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "the approvals store is unavailable") {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	}
	for where, text := range map[string]string{"the log": r.log.String(), "readiness": ready.body} {
		if strings.Contains(text, "CANARY") {
			t.Errorf("%s has the password: %s", where, text)
		}
	}
}

func TestG3_ApprovalsWithoutAPlaceOrWithOneOfAnotherAreFatalAtTheStart(t *testing.T) {
	dir := files(t, map[string]string{"hooks.yaml": asksPerson})
	_, err := New(Options{ConfigFile: dir + "/hooks.yaml"})
	if err == nil || !strings.Contains(err.Error(), `hooks.yaml:4: hooks[0] "person": use: no approvals store is configured: set HOOKGATE_STATE_DIR`) {
		t.Errorf("without a place: %v", err)
	}
	b, err := state.OpenBolt(state.BoltOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, b)
	_, err = New(Options{ConfigFile: dir + "/hooks.yaml", StateDir: dir})
	if err == nil || !strings.Contains(err.Error(), "use: HOOKGATE_STATE_DIR: "+dir+"/hookgate.db is in use by another process") {
		t.Errorf("with one of another: %v", err)
	}
	for _, url := range []string{"postgres://u:CANARY@h/x?sslmode=nonsense", "postgres://u:CANARY@h:port/x", "host=h password=CANARY port=0"} {
		for name, o := range map[string]Options{"hooks that ask": {ConfigFile: dir + "/hooks.yaml", DatabaseURL: url}, "none that ask": {DatabaseURL: url}} {
			_, made := New(o)
			_, checked := Check(o)
			for _, err := range []error{made, checked} {
				if err == nil || !strings.HasPrefix(err.Error(), "HOOKGATE_DATABASE_URL is not valid: ") || strings.Contains(err.Error(), "CANARY") {
					t.Errorf("%s and %s: %v", name, url, err)
				}
			}
		}
	}
}

func TestStateIsNotOpenedBeforeItIsNeeded(t *testing.T) {
	dir := t.TempDir()
	r := start(t, Options{StateDir: filepath.Join(dir, "state")})
	r.decide("", preText)
	if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
		t.Errorf("there are %v: %v", found, err)
	}
	if ready := r.do(http.MethodGet, r.admin+"/readyz", ""); !strings.Contains(ready.body, `"status":"ready"`) {
		t.Errorf("it says %s", ready.body)
	}
}

func TestACheckSaysThatApprovalsHaveNoPlace(t *testing.T) {
	file := files(t, map[string]string{"hooks.yaml": asksPerson}) + "/hooks.yaml"
	for dir, want := range map[string]string{"": "warning: " + file + `:4: hooks[0] "person": no approvals store is configured`, t.TempDir(): ""} {
		report, err := Check(Options{ConfigFile: file, StateDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.String(); !strings.Contains(got, want) || strings.Contains(got, "warning") != (want != "") {
			t.Errorf("with %q: %s", dir, got)
		}
		if !strings.Contains(report.String(), "pre_tool_use at most 0 ms and a person's 60000 ms") {
			t.Errorf("the times are %s", report)
		}
	}
}

func FuzzParseApprovalAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"behavior":"allow"}`, `{"behavior":"deny","message":"x"}`, `{"behavior":"allow","updated_input":{"a":1},"digest":"d"}`,
		`{"behavior":"Allow"}`, `[]`, ``, `{"behavior":"allow","behavior":"deny"}`, `{"behavior":"allow"}{}`, "{\"behavior\":\"\xff\"}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseApprovalAnswer([]byte(text))
		if err != nil {
			if diff := cmp.Diff(a.Allow, false); diff != "" {
				t.Error("an answer that could not be read allows")
			}
			return
		}
		var plain struct{ Behavior string }
		if err := json.Unmarshal([]byte(text), &plain); err != nil || a.Allow != (plain.Behavior == "allow") {
			t.Errorf("%q is read as allow: %v; another reader reads %q: %v", text, a.Allow, plain.Behavior, err)
		}
	})
}
