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
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// profile returns a profile that runs the test binary as an agent.
func profile(t *testing.T, behaviour, more string) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("command: %q\nenv: {GATEWAY_TEST_HOOK: agent, GATEWAY_TEST_AGENT: %q}\nkill_grace_secs: 0\n%s", path, behaviour, more)
}

// agentDir returns a directory with one agent, named a.
func agentDir(t *testing.T, behaviour, more string) string {
	t.Helper()
	return files(t, map[string]string{"a.yaml": profile(t, behaviour, more)})
}

const asking = "permission: true\npermission_default: allow\n"

// turn runs a turn of agent a and returns its lines.
func (r *running) turn(body string, edits ...func(*http.Request)) []string {
	r.t.Helper()
	got := r.do(http.MethodPost, r.base+"/v1/turns", body, edits...)
	if got.status != http.StatusOK {
		r.t.Fatalf("status %d: %s", got.status, got.body)
	}
	return strings.Split(strings.TrimSuffix(got.body, "\n"), "\n")
}

// follow starts a turn whose lines are read as they arrive. They end when ctx
// does.
func (r *running) follow(ctx context.Context, body string) (next func() string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base+"/v1/turns", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { shut(r.t, resp.Body) })
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("status %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		if !lines.Scan() {
			return ""
		}
		return lines.Text()
	}
}

const aTurn = `{"agent":"a","message":"go"}`

func TestATurnsEventsAreLinesAndTheLastSaysHowItEnded(t *testing.T) {
	for behaviour, tc := range map[string]struct {
		more    string
		want    []string
		outcome string
	}{
		"talks": {"", []string{
			`{"type":"partial","text":"one"}`,
			`{"type":"partial","text":"<two>","role":"thinking"}`,
			`{"type":"result","text":"said go","session_id":"s-1","usage":{"tokens": 9007199254740993,  "x":1e400},"exit_code":0}`,
		}, "result"},
		"silent": {"", []string{`{"type":"result","text":"","session_id":"","usage":null,"exit_code":0}`}, "result"},
		"error":  {"", []string{`{"type":"error","message":"agent 'a' reported an error: out of luck","cause":"error","session_id":"","usage":null,"exit_code":1}`}, "error"},
		"exit":   {"", []string{`{"type":"error","message":"agent 'a' exited with status 7","cause":"exit","session_id":"","usage":null,"exit_code":7}`}, "failure"},
		"hangs":  {"timeout_secs: 1\n", []string{`{"type":"error","message":"agent 'a' timed out after 1s","cause":"timeout","session_id":"","usage":null,"exit_code":124}`}, "timeout"},
	} {
		t.Run(behaviour, func(t *testing.T) {
			r := start(t, Options{AgentsDir: agentDir(t, behaviour, tc.more)})
			r.wantMetric(`hookgate_turns_total{agent="a",outcome="`+tc.outcome+`"}`, "0")
			if diff := cmp.Diff(tc.want, r.turn(aTurn)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			r.wantMetric(`hookgate_turns_total{agent="a",outcome="`+tc.outcome+`"}`, "1")
			r.wantMetric(`hookgate_turn_duration_seconds_count{agent="a"}`, "1")
			if strings.Contains(r.log.String(), "a turn failed") != (tc.outcome != "result") {
				t.Errorf("the log of a turn that ended as %s: %s", tc.outcome, r.log)
			}
		})
	}
}

func TestAProgramThatIsNotThereIsAnErrorOfTheTurn(t *testing.T) {
	r := start(t, Options{AgentsDir: files(t, map[string]string{"a.yaml": "command: ./nowhere\n"})})
	want := []string{`{"type":"error","message":"agent 'a' could not be started: program \"./nowhere\" does not exist, or the interpreter that it names does not","cause":"spawn","session_id":"","usage":null,"exit_code":127}`}
	if diff := cmp.Diff(want, r.turn(aTurn)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestAnAgentThatCannotBeRunIsAProblem(t *testing.T) {
	r := start(t, Options{AgentsDir: files(t, map[string]string{"a.yaml": "command: x\ncwd: ~/work\n"})})
	got := r.do(http.MethodPost, r.base+"/v1/turns", aTurn)
	if got.status != http.StatusInternalServerError || !strings.Contains(got.body, "HOME is not set") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	r.wantMetric(`hookgate_turns_total{agent="a",outcome="failure"}`, "1")
}

func TestATurnCanBeServerSentEvents(t *testing.T) {
	r := start(t, Options{AgentsDir: agentDir(t, "talks", "")})
	got := r.do(http.MethodPost, r.base+"/v1/turns", aTurn, header("Accept", "text/event-stream"))
	want := "event: partial\ndata: {\"type\":\"partial\",\"text\":\"one\"}\n\n" +
		"event: partial\ndata: {\"type\":\"partial\",\"text\":\"<two>\",\"role\":\"thinking\"}\n\n" +
		"event: result\ndata: {\"type\":\"result\",\"text\":\"said go\",\"session_id\":\"s-1\",\"usage\":{\"tokens\": 9007199254740993,  \"x\":1e400},\"exit_code\":0}\n\n"
	if diff := cmp.Diff(want, got.body); diff != "" || got.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("content type %q, events (-want +got):\n%s", got.header.Get("Content-Type"), diff)
	}
}

// decided returns options with an interceptor that always gives the outcome o.
func decided(o chain.Outcome) Options {
	return Options{Interceptors: intercepting("i", func(context.Context, *chain.Request) (chain.Outcome, error) { return o, nil })}
}

func TestAHookThatFailedOnceEndsNoTurn(t *testing.T) {
	for onFailure, want := range map[string]string{
		"deny":  "deny hook 'h' could not answer and denies on failure: answered with status 500; allow ",
		"allow": "allow ; allow ",
	} {
		t.Run(onFailure, func(t *testing.T) {
			var hook *hookServer
			hook = newHookServer(t, func(w http.ResponseWriter, r *http.Request) {
				hook.say(answers(`{"decision":"allow"}`)) // from the next call on
				fails(http.StatusInternalServerError)(w, r)
			})
			dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: h, url: " + hook.URL + ", on_failure: " + onFailure + "}\n"})
			r := start(t, Options{ConfigFile: dir + "/hooks.yaml", AgentsDir: agentDir(t, "asks twice", asking)})
			lines := r.turn(aTurn)
			var last struct{ Text string }
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Text != want {
				t.Errorf("the agent understood %q, want %q (%v)", last.Text, want, err)
			}
		})
	}
}

func TestAPermissionRequestIsAnsweredByTheChainAndThenByTheProfile(t *testing.T) {
	allow := chain.Outcome{Decision: chain.Allow}
	profileSays := func(word string) string {
		return "denied: permission_default of this agent's profile is " + word
	}
	for name, tc := range map[string]struct {
		chain             chain.Outcome
		byDefault         string
		behavior, message string
		agent             string
		logged            bool
	}{
		"deny":        {chain.Outcome{Decision: chain.Deny, Reason: "not here"}, "allow", "deny", "denied by interceptor 'i': not here", "deny: denied by interceptor 'i': not here", false},
		"modify":      {chain.Outcome{Decision: chain.Modify, Input: []byte(`{"n":1.0}`)}, "deny", "allow", "", `allow {"n":1.0}`, false},
		"allow":       {allow, "allow", "allow", "", "allow ", false},
		"not settled": {allow, "deny", "deny", profileSays("deny"), "deny: " + profileSays("deny"), false},
		"logged":      {allow, "deny_logged", "deny", profileSays("deny_logged"), "deny: " + profileSays("deny_logged"), true},
		"nobody":      {allow, "ask", "deny", profileSays("ask") + ", and the gateway has no approvals store", "deny: " + profileSays("ask") + ", and the gateway has no approvals store", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := decided(tc.chain)
			o.AgentsDir = agentDir(t, "asks", "permission: true\npermission_default: "+tc.byDefault+"\n")
			r := start(t, o)
			lines := r.turn(aTurn)
			if len(lines) != 2 {
				t.Fatalf("lines: %s", lines)
			}
			var p struct {
				Type, Behavior, Message string
				RequestID               string `json:"request_id"`
				ToolName                string `json:"tool_name"`
				DecisionID              string `json:"decision_id"`
			}
			if err := json.Unmarshal([]byte(lines[0]), &p); err != nil {
				t.Fatal(err)
			}
			if p.Type != "permission" || p.RequestID != "r-1" || p.ToolName != "shell" || p.Behavior != tc.behavior || p.Message != tc.message {
				t.Errorf("permission %s, want %s %q", lines[0], tc.behavior, tc.message)
			}
			var last struct{ Text string }
			if err := json.Unmarshal([]byte(lines[1]), &last); err != nil || last.Text != tc.agent {
				t.Errorf("the agent understood %q, want %q (%v)", last.Text, tc.agent, err)
			}
			record := r.do(http.MethodGet, r.base+"/v1/decisions", "").body
			for _, want := range []string{`"id":"` + p.DecisionID + `"`, `"agent_id":"a"`, `"tool_call_id":"r-1"`, `"chain":"operator"`, `"decision":"` + tc.chain.Decision.String() + `"`} {
				if !strings.Contains(record, want) {
					t.Errorf("the records lack %s: %s", want, record)
				}
			}
			r.wantMetric(`hookgate_turn_permissions_total{agent="a",behavior="`+tc.behavior+`"}`, "1")
			if got := strings.Contains(r.log.String(), "denied a request that the chain allows"); got != tc.logged {
				t.Errorf("logged: %v, want %v", got, tc.logged)
			}
		})
	}
}

func TestAProfileNamesTheChainThatAnswers(t *testing.T) {
	dir := files(t, map[string]string{
		"hooks.yaml":       "schema: 1\nhooks: []\n",
		"chains/team.yaml": fmt.Sprintf("schema: 1\nhooks:\n  - {name: h, %s}\n", self(t, "says", "GATEWAY_TEST_ANSWER", `{"decision":"deny","reason":"of the team"}`)),
		"agents/a.yaml":    profile(t, "asks", asking+"chain: team\n"),
	})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ChainsDir: dir + "/chains", AgentsDir: dir + "/agents"})
	if lines := r.turn(aTurn); !strings.Contains(lines[0], `"behavior":"deny","message":"denied by hook 'h': of the team"`) {
		t.Errorf("lines: %s", lines)
	}
}

func TestManyRequestsAreAnsweredAtOnce(t *testing.T) {
	const many = 50
	release := make(chan struct{})
	asked := make(chan struct{}, many)
	r := start(t, Options{
		AgentsDir: agentDir(t, "asks 50", asking),
		Interceptors: intercepting("i", func(ctx context.Context, _ *chain.Request) (chain.Outcome, error) {
			asked <- struct{}{}
			<-release
			return allowing(ctx, nil)
		}),
	})
	next := r.follow(t.Context(), aTurn)
	for range many {
		<-asked // all of them wait at the same time
	}
	close(release)
	seen := map[string]bool{}
	for range many {
		seen[next()] = true
	}
	if last := next(); len(seen) != many || !strings.Contains(last, `"text":"50 allowed"`) {
		t.Errorf("%d different responses, then %s", len(seen), last)
	}
}

// pidIn returns the process id in a line.
func pidIn(t *testing.T, line string) int {
	t.Helper()
	var said struct{ Text string }
	var pid int
	if err := json.Unmarshal([]byte(line), &said); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	if _, err := fmt.Sscanf(said.Text, "pid %d", &pid); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return pid
}

func isGone(pid int) bool { return syscall.Kill(pid, 0) != nil }

func TestHangingUpEndsTheAgent(t *testing.T) {
	r := start(t, Options{AgentsDir: agentDir(t, "names itself and hangs", "")})
	ctx, hangUp := context.WithCancel(t.Context())
	pid := pidIn(t, r.follow(ctx, aTurn)())
	r.wantMetric(`hookgate_turns_in_flight{agent="a"}`, "1")
	hangUp()
	eventually(t, "the agent is gone", func() bool { return isGone(pid) })
	eventually(t, "the turn is counted", func() bool {
		n, _ := r.metric(`hookgate_turns_total{agent="a",outcome="abandoned"}`)
		return n == "1"
	})
	eventually(t, "the seat is free", func() bool {
		n, _ := r.metric(`hookgate_turns_in_flight{agent="a"}`)
		return n == "0"
	})
}

func TestAReaderThatDoesNotReadEndsTheTurn(t *testing.T) {
	r := start(t, Options{AgentsDir: agentDir(t, "floods", ""), BodyTimeout: time.Second})
	conn := r.dial(strings.Replace(posted(aTurn), "/v1/decide", "/v1/turns", 1))
	defer shut(t, conn)
	eventually(t, "the turn is given up", func() bool {
		n, _ := r.metric(`hookgate_turns_total{agent="a",outcome="abandoned"}`)
		return n == "1"
	})
}

func TestG9_AStopEndsTurnsAtTheDrainTimeout(t *testing.T) {
	r := start(t, Options{AgentsDir: agentDir(t, "names itself and hangs", ""), DrainTimeout: 50 * time.Millisecond})
	next := r.follow(t.Context(), aTurn)
	pid := pidIn(t, next())
	if err := r.stop(); err != nil {
		t.Errorf("the stop ends with %v", err)
	}
	if !isGone(pid) {
		t.Error("the agent outlived the gateway")
	}
}

func TestOneMoreTurnThanTheLimitIsRefused(t *testing.T) {
	dir := agentDir(t, "names itself and hangs", "")
	write(t, filepath.Join(dir, "b.yaml"), profile(t, "silent", ""))
	r := start(t, Options{AgentsDir: dir, MaxTurns: 1})
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	r.follow(ctx, aTurn)()
	write(t, filepath.Join(dir, "c.yaml"), profile(t, "silent", ""))
	r.reload() // the limit must hold across a reload
	got := r.do(http.MethodPost, r.base+"/v1/turns", aTurn)
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, `agent \"a\" is at its limit of 1 turns in flight (HOOKGATE_MAX_TURNS)`) {
		t.Errorf("status %d, Retry-After %q: %s", got.status, got.header.Get("Retry-After"), got.body)
	}
	for _, other := range []string{"b", "c"} {
		r.turn(strings.Replace(aTurn, `"a"`, `"`+other+`"`, 1))
	}
	hangUp()
	eventually(t, "there is room again", func() bool {
		n, _ := r.metric(`hookgate_turns_in_flight{agent="a"}`)
		return n == "0"
	})
}

func TestATurnEndsOnThePlanItBeganWith(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 1)
	endpoint := newHookServer(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		waits(release)(w, r)
	})
	last := self(t, "says", "GATEWAY_TEST_ANSWER", `{"decision":"deny","reason":"of the old file"}`)
	dir := files(t, map[string]string{
		"hooks.yaml":    fmt.Sprintf("schema: 1\nhooks:\n  - {name: slow, url: %q}\n  - {name: last, %s}\n", endpoint.URL, last),
		"agents/a.yaml": profile(t, "asks", asking), "agents/b.yaml": profile(t, "silent", ""),
	})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", AgentsDir: dir + "/agents", ReloadInterval: time.Hour})
	next := r.follow(t.Context(), aTurn)
	<-asked
	write(t, dir+"/hooks.yaml", saying(t, "new"))
	if err := os.Remove(dir + "/agents/a.yaml"); err != nil {
		t.Fatal(err)
	}
	r.reload()
	if got := r.do(http.MethodPost, r.base+"/v1/turns", aTurn); got.status != http.StatusNotFound {
		t.Errorf("a new turn of the removed agent: status %d: %s", got.status, got.body)
	}
	if _, there := r.metric(`hookgate_turns_in_flight{agent="a"}`); there {
		t.Error("the series of the removed agent stay")
	}
	close(release)
	if line := next(); !strings.Contains(line, "denied by hook 'last': of the old file") {
		t.Errorf("the turn in flight gets %s", line)
	}
	if line := next(); !strings.Contains(line, `"type":"result"`) {
		t.Errorf("the turn in flight ends with %s", line)
	}
}

func TestABodyThatIsNotATurnIsRefusedAndSaysWhy(t *testing.T) {
	r := start(t, Options{AgentsDir: agentDir(t, "silent", "args: [\"{{SESSION_ID}}\"]\n")})
	for body, tc := range map[string]struct {
		status int
		want   string
	}{
		``:                          {400, `no JSON value`},
		`[]`:                        {400, `an array instead of an object`},
		`{"message":"x"}`:           {400, `agent is missing`},
		`{"agent":"a"}`:             {400, `it has neither a message nor attachments`},
		`{"agent":"a","agent":"a"}`: {400, `agent`},
		`{"agent":"a","message":"x","Session_id":"y"}`:                                    {400, `unknown field \"Session_id\" at byte 40: known are agent, message, session_id, session_name, from_user, attachments`},
		`{"agent":"a","message":5}`:                                                       {400, `message at byte 23 is not a string`},
		`{"agent":"a","message":"x","session_id":"a/b"}`:                                  {400, `session_id \"a/b\" is not valid`},
		`{"agent":"a","message":"x","session_id":"-rf"}`:                                  {400, `it would become the option`},
		`{"agent":"a","attachments":null}`:                                                {400, `is not an array`},
		`{"agent":"a","attachments":[{"kind":"file"}]}`:                                   {400, `has an unusable element 0: kind or url is missing`},
		`{"agent":"a","attachments":[{"kind":"file","url":"x:y"}]}`:                       {400, `is not of the scheme`},
		`{"agent":"a","attachments":[{"kind":"file","url":"file:///x","size":-1}]}`:       {400, `is not a whole number of bytes`},
		`{"agent":"a","attachments":[{"kind":"file","url":"file:///x","sizes":1}]}`:       {400, `unknown field \"sizes\"`},
		`{"agent":"nobody","message":"x"}`:                                                {404, `there is no agent of that name`},
		`{"agent":"a","attachments":[{"kind":"file","url":"file:///x","size":1}]}`:        {200, `"type":"result"`},
		`{"agent":"a","message":"x","session_name":"n","from_user":"u","attachments":[]}`: {200, `"type":"result"`},
	} {
		got := r.do(http.MethodPost, r.base+"/v1/turns", body)
		if got.status != tc.status || !strings.Contains(got.body, tc.want) {
			t.Errorf("%s: status %d, want %d and %s: %s", body, got.status, tc.status, tc.want, got.body)
		}
	}
	r.wantMetric(`hookgate_turns_total{agent="a",outcome="result"}`, "2")
}

func TestG4_WithoutAConfigurationNoAgentRuns(t *testing.T) {
	r := start(t, Options{AgentsDir: agentDir(t, "silent", "")})
	r.gateway.Close()
	if got := r.do(http.MethodPost, r.base+"/v1/turns", aTurn); got.status != http.StatusServiceUnavailable {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestG3_ABadProfileAtStartIsFatalAndSaysWhy(t *testing.T) {
	_, err := New(Options{AgentsDir: files(t, map[string]string{"a.yaml": "comand: x\n"})})
	if err == nil || !strings.Contains(err.Error(), `a.yaml:1: unknown key "comand"; did you mean "command"?`) {
		t.Errorf("the error is %v", err)
	}
}

func TestAnAgentFindsOnlyItsOwnEnvironment(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "CANARY")
	dir := agentDir(t, "environment", "env_allowlist: [TEAM]\n")
	text := strings.Replace(profile(t, "environment", "env_allowlist: [TEAM]\n"), "env: {", `env: {T: "${TEAM}", `, 1)
	write(t, filepath.Join(dir, "a.yaml"), text)
	r := start(t, Options{
		AgentsDir: dir, HookEnvironment: []string{"LANG=C"},
		LookupEnv: func(name string) (string, bool) { return "blue", name == "TEAM" },
	})
	if lines := r.turn(aTurn); !strings.Contains(lines[0], `"text":"GATEWAY_TEST_AGENT=environment GATEWAY_TEST_HOOK=agent LANG=C T=blue"`) {
		t.Errorf("the agent finds %s", lines)
	}
}

func TestACheckReadsProfilesToo(t *testing.T) {
	dir := agentDir(t, "silent", "")
	report, err := Check(Options{AgentsDir: dir})
	if err != nil || !strings.Contains(report.String(), " and 1 agent of "+dir+": ok") {
		t.Errorf("%v: %v", report, err)
	}
}

func TestAPermissionRequestCarriesTheTraceOfTheTurn(t *testing.T) {
	trace := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	seen := make(chan string, 1)
	endpoint := newHookServer(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Traceparent")
		answers(`{"decision":"allow"}`)(w, r)
	})
	dir := files(t, map[string]string{
		"hooks.yaml":    fmt.Sprintf("schema: 1\nhooks:\n  - {name: h, url: %q}\n", endpoint.URL),
		"agents/a.yaml": profile(t, "asks", asking),
	})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", AgentsDir: dir + "/agents"})
	r.turn(aTurn, header("Traceparent", trace))
	if got := <-seen; got != trace {
		t.Errorf("the hook is sent %q, want %q", got, trace)
	}
}
