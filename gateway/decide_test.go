package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/transport"
)

func TestADecisionIs200WithExactlyTheAnswerObject(t *testing.T) {
	for name, tc := range map[string]struct {
		envelope string
		says     chain.Outcome
		want     string
	}{
		"allow":             {preText, chain.Outcome{Decision: chain.Allow}, `{"decision":"allow"}`},
		"deny":              {preText, chain.Outcome{Decision: chain.Deny, Reason: "<no> & \u001b"}, `{"decision":"deny","reason":"denied by interceptor 'i': <no> & \u001b"}`},
		"modify":            {preText, chain.Outcome{Decision: chain.Modify, Input: []byte(`{"id":9007199254740993,"x":1e400,"one":1.0,"s":"<&>"}`)}, `{"decision":"modify","input":{"id":9007199254740993,"x":1e400,"one":1.0,"s":"<&>"},"reason":"interceptor 'i'"}`},
		"replace":           {postText, chain.Outcome{Decision: chain.Replace, Output: []byte(`"[redacted]"`)}, `{"decision":"replace","output":"[redacted]","is_error":true,"reason":"interceptor 'i'"}`},
		"an unset decision": {preText, chain.Outcome{}, `{"decision":"deny","reason":"interceptor 'i' could not answer and denies on failure: answered without a decision"}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, Options{Interceptors: intercepting("i", func(context.Context, *chain.Request) (chain.Outcome, error) { return tc.says, nil })})
			got := r.ask("", tc.envelope)
			if diff := cmp.Diff(tc.want, got.body); diff != "" || got.status != http.StatusOK {
				t.Errorf("status %d, body (-want +got):\n%s", got.status, diff)
			}
			if got.header.Get("X-Hookgate-Decision-Id") == "" || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("headers %v", got.header)
			}
		})
	}
}

func TestAnInterceptorIsAskedInlineUpToTheLengthThatIsAsked(t *testing.T) {
	bounded := false
	r := start(t, Options{InterceptorInlineUpTo: len(preText), Interceptors: intercepting("i", func(ctx context.Context, _ *chain.Request) (chain.Outcome, error) {
		_, bounded = ctx.Deadline()
		return chain.Outcome{Decision: chain.Allow}, nil
	})})
	for envelope, want := range map[string]bool{preText: false, preText + " ": true} {
		if decision, reason := r.decide("", envelope); decision != "allow" || bounded != want {
			t.Errorf("%d bytes: %s %q, with a deadline of its own %v, want %v", len(envelope), decision, reason, bounded, want)
		}
	}
}

func TestG1_OnADecidingRouteEveryRefusalIsADeny(t *testing.T) {
	r := start(t, Options{MaxRequestBytes: 1000, Interceptors: intercepting("i", allowing)})
	at := func(size int) string {
		return strings.Replace(preText, `"ls"`, `"`+strings.Repeat("x", size-len(preText)+2)+`"`, 1)
	}
	chunked := func(r *http.Request) { r.ContentLength = -1; r.Body = io.NopCloser(strings.NewReader(at(1001))) }
	for name, tc := range map[string]struct {
		method, path, body string
		edit               func(*http.Request)
		status             int
		detail             string
	}{
		"at the limit":           {"POST", "/v1/decide", at(1000), nil, 200, ""},
		"over the limit":         {"POST", "/v1/decide", at(1001), nil, 413, "the body is longer than 1000 bytes, the limit (HOOKGATE_MAX_REQUEST_BYTES)"},
		"over it, length untold": {"POST", "/v1/decide", "", chunked, 413, "the body is longer than 1000 bytes, the limit (HOOKGATE_MAX_REQUEST_BYTES)"},
		"malformed":              {"POST", "/v1/decide", `{"hook_schema":1}`, nil, 400, `the body is not a valid request: field "event" is missing`},
		"empty":                  {"POST", "/v1/decide", ``, nil, 400, `the body is not a valid request: no JSON value`},
		"another case":           {"POST", "/v1/decide", strings.Replace(preText, `"event"`, `"Event"`, 1), nil, 400, `the body is not a valid request: field "Event" before byte 25 differs from "event" only by case, so JSON parsers may disagree about its meaning`},
		"twice the same name":    {"POST", "/v1/decide", strings.Replace(preText, `"input"`, `"input":1,"input"`, 1), nil, 400, `the body is not a valid request: duplicate object member name "input"`},
		"not UTF-8":              {"POST", "/v1/decide", strings.Replace(preText, `shell`, "sh\xff", 1), nil, 400, `the body is not a valid request: invalid UTF-8 at byte 120`},
		"unknown chain":          {"POST", "/v1/chains/nope/decide", preText, nil, 404, `there is no chain of that name: chains are files in HOOKGATE_CHAINS_DIR`},
		"a chain's path trick":   {"POST", "/v1/chains/..%2f..%2fetc/decide", preText, nil, 404, `there is no chain of that name: chains are files in HOOKGATE_CHAINS_DIR`},
		"wrong method":           {"PUT", "/v1/decide", preText, nil, 405, `the method "PUT" is not allowed here: use POST`},
		"GET":                    {"GET", "/v1/chains/x/decide", "", nil, 405, `the method "GET" is not allowed here: use POST`},
		"unknown path":           {"POST", "/v1/decid", preText, nil, 404, `nothing is served at "/v1/decid": see GET /openapi.yaml`},
		"an encoded slash":       {"POST", "/v1%2Fdecide", preText, nil, 404, `nothing is served at "/v1%2Fdecide": see GET /openapi.yaml`},
		"text":                   {"POST", "/v1/decide", preText, header("Content-Type", "text/plain"), 415, `the Content-Type is "text/plain": send application/json`},
		"no type":                {"POST", "/v1/decide", preText, header("Content-Type", ""), 415, `the Content-Type is "": send application/json`},
		"a type with parameters": {"POST", "/v1/decide", preText, header("Content-Type", "Application/JSON; charset=utf-8"), 200, ""},
		"gzip":                   {"POST", "/v1/decide", preText, header("Content-Encoding", "gzip"), 415, `the Content-Encoding is "gzip": send the body without an encoding`},
		"another origin":         {"POST", "/v1/decide", preText, header("Origin", "http://evil.example"), 403, `pages from the origin "http://evil.example" may not use the gateway`},
		"a null origin":          {"POST", "/v1/decide", preText, header("Origin", "null"), 403, `pages from the origin "null" may not use the gateway`},
		"another host":           {"POST", "/v1/decide", preText, host("evil.example"), 403, `"evil.example" is not a host name of this gateway: use its address, or add that host to HOOKGATE_ALLOWED_HOSTS`},
		"a host that ends alike": {"POST", "/v1/decide", preText, host("127.0.0.1.evil.example"), 403, `"127.0.0.1.evil.example" is not a host name of this gateway: use its address, or add that host to HOOKGATE_ALLOWED_HOSTS`},
		"localhost":              {"POST", "/v1/decide", preText, host("LOCALHOST:1"), 200, ""},
		"the own origin":         {"POST", "/v1/decide", preText, func(q *http.Request) { q.Header.Set("Origin", r.base) }, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			edit := tc.edit
			if edit == nil {
				edit = func(*http.Request) {}
			}
			got := r.do(tc.method, r.base+tc.path, tc.body, edit)
			if got.status != tc.status {
				t.Fatalf("status %d, want %d: %s", got.status, tc.status, got.body)
			}
			if tc.status == http.StatusOK {
				return
			}
			if route := strings.NewReplacer("/nope/", "/{chain}/", "/x/", "/{chain}/", "/..%2f..%2fetc/", "/{chain}/").Replace(tc.path); route != "/v1/decid" && route != "/v1%2Fdecide" {
				if n, _ := r.metric(fmt.Sprintf(`hookgate_http_requests_total{code="%d",route="%s"}`, tc.status, route)); n == "0" || n == "" {
					t.Errorf("status %d of %s is not counted", tc.status, route)
				}
			}
			decision, reason := decisionIn(t, got.body)
			if decision != "deny" || reason != "the gateway refused the request: "+tc.detail || got.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %q of type %s, want deny for %q", decision, reason, got.header.Get("Content-Type"), tc.detail)
			}
		})
	}
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

// raw sends bytes and returns everything received until the connection ends.
func (r *running) raw(text string) string {
	r.t.Helper()
	conn := r.dial(text)
	answer, err := io.ReadAll(conn)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		r.t.Logf("reading ended with %v", err)
	}
	return string(answer)
}

// posted returns the request with an envelope in wire format.
func posted(envelope string) string {
	return fmt.Sprintf("POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(envelope), envelope)
}

func (r *running) dial(text string) net.Conn {
	r.t.Helper()
	conn, err := new(net.Dialer).DialContext(r.t.Context(), "tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		r.t.Fatal(err)
	}
	return conn
}

func TestG6_CallersAreBounded(t *testing.T) {
	r := start(t, Options{MaxRequestBytes: 1000, BodyTimeout: time.Second, Interceptors: intercepting("i", allowing)})
	head := "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for name, tc := range map[string]struct{ send, status, body string }{
		"a body that does not come":        {head + "Content-Length: 100\r\n\r\n{", "408", "the body did not arrive within 1s"},
		"a body over the limit, announced": {head + "Expect: 100-continue\r\nContent-Length: 2097152\r\n\r\n", "413", "longer than 1000 bytes"},
		"a megabyte of headers":            {head + "X-Big: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", "431", ""},
		"no host":                          {"POST /v1/decide HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", "400", ""},
		"an empty host":                    {"POST /v1/decide HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", "403", `\"\" is not a host name of this gateway`},
		"two lengths":                      {head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.raw(tc.send)
			if !strings.HasPrefix(got, "HTTP/1.1 "+tc.status) && !strings.HasPrefix(got, "HTTP/1.0 "+tc.status) || !strings.Contains(got, tc.body) {
				t.Errorf("answered %.300q, want status %s", got, tc.status)
			}
		})
	}
	t.Run("a path that is no UTF-8", func(t *testing.T) {
		if got := r.raw("POST /\xff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 404") {
			t.Errorf("answered %.300q", got)
		}
		if got := r.do(http.MethodGet, r.admin+"/metrics", ""); got.status != http.StatusOK {
			t.Errorf("metrics answer %d afterwards", got.status)
		}
	})
	t.Run("more bodies than there is room for", func(t *testing.T) {
		full := start(t, Options{MaxRequestBytes: 100_000, Interceptors: intercepting("i", allowing)})
		full.gateway.callers.held.Store(64 * 100_000)
		got := full.ask("", strings.Replace(preText, `"ls"`, `"`+strings.Repeat("x", 90_000)+`"`, 1))
		decision, _ := decisionIn(t, got.body)
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "1" || decision != "deny" {
			t.Errorf("status %d: %s", got.status, got.body)
		}
		full.gateway.callers.held.Add(-64 * 100_000)
		for range 3 {
			if decision, reason := full.decide("", strings.Replace(preText, `"ls"`, `"`+strings.Repeat("x", 90_000)+`"`, 1)); decision != "allow" {
				t.Errorf("with room again: %s, %s", decision, reason)
			}
		}
		eventually(t, "everything is given back", func() bool { return full.gateway.callers.held.Load() == 0 })
	})
	t.Run("too many at once", func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		entered := make(chan struct{}, 1)
		busy := start(t, Options{MaxInFlight: 1, Interceptors: intercepting("i", func(context.Context, *chain.Request) (chain.Outcome, error) {
			entered <- struct{}{}
			<-release
			return chain.Outcome{Decision: chain.Allow}, nil
		})})
		conn := busy.dial(head + fmt.Sprintf("Connection: close\r\nContent-Length: %d\r\n\r\n%s", len(preText), preText))
		<-entered
		got := busy.ask("", preText)
		decision, _ := decisionIn(t, got.body)
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "1" || decision != "deny" {
			t.Errorf("status %d, Retry-After %q, %s", got.status, got.header.Get("Retry-After"), got.body)
		}
		release <- struct{}{}
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			t.Errorf("the one in flight got %.100q, %v", answer, err)
		}
	})
}

func TestAnEnvelopeReachesAnEndpointAsItWasReceived(t *testing.T) {
	hook := newHookServer(t, answers(`{"decision":"allow"}`))
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: h, url: " + hook.URL + "}\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	odd := ` {"unknown":{"b":[1.50,1e400]}, "hook_schema":1,"event":"pre_tool_use","workspace":"\u0041","agent_id":"<&>","tool_call_id":"c","tool_name":"t","input" : {"z":9007199254740993,"a":"\ud83d"} } `
	if decision, reason := r.decide("", odd); decision != "allow" {
		t.Fatalf("%s: %s", decision, reason)
	}
	if diff := cmp.Diff([]string{odd}, hook.bodies); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
}

func TestAPanicAnywhereIsADenyAndIsCounted(t *testing.T) {
	r := start(t, Options{Interceptors: intercepting("bug", func(context.Context, *chain.Request) (chain.Outcome, error) { panic("boom") })})
	for _, envelope := range []string{preText, postText} {
		decision, reason := r.decide("", envelope)
		if want := "interceptor 'bug' could not answer and denies on failure: panicked: boom"; decision != "deny" || reason != want {
			t.Errorf("%s: %q, want %q", decision, reason, want)
		}
	}
	r.wantMetric(`hookgate_hook_failures_total{binding="in_process",cause="panic",hook="bug"}`, "2")

	// This panics in a handler of the gateway itself: the decision history is
	// the first thing that the handler touches.
	r.gateway.history.mu.Lock()
	r.gateway.history.latest, r.gateway.history.next = []*record{nil}, 7
	r.gateway.history.mu.Unlock()
	got := r.ask("", preText)
	decision, _ := decisionIn(t, got.body)
	if got.status != http.StatusInternalServerError || decision != "deny" {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	r.wantMetric(`hookgate_http_requests_total{code="500",route="/v1/decide"}`, "1")
	if !strings.Contains(r.log.String(), "a handler panicked") {
		t.Error("the log does not say so")
	}
}

func TestACallerThatHangsUpIsCountedAgainstNobody(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	hook := newHookServer(t, waits(release))
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: h, url: " + hook.URL + ", breaker: {consecutive_failures: 1}}\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	conn := r.dial(posted(preText))
	eventually(t, "the hook is asked", func() bool { return hook.asked() == 1 })
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the hang-up is counted", func() bool {
		got, _ := r.metric(`hookgate_http_requests_total{code="499",route="/v1/decide"}`)
		return got == "1"
	})
	r.wantMetric(`hookgate_hook_answers_total{answer="failure",binding="webhook",event="pre_tool_use",hook="h",mode="enforce"}`, "0")
	r.wantMetric(`hookgate_breaker_state{hook="h",state="closed"}`, "1")
	r.wantMetric(`hookgate_decisions_total{cause="none",chain="operator",decision="deny",event="pre_tool_use",tool="other"}`, "0")
	hook.say(answers(`{"decision":"allow"}`))
	if decision, reason := r.decide("", preText); decision != "allow" {
		t.Errorf("the next caller gets %s: %s", decision, reason)
	}
}

func TestTheTimeThatACallerHasIsTheBudget(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	hook := newHookServer(t, waits(release))
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: h, url: " + hook.URL + ", on_failure: allow}\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	got := r.do(http.MethodPost, r.base+"/v1/decide", preText, header("X-Hookgate-Timeout-Ms", "100"))
	decision, reason := decisionIn(t, got.body)
	if want := "hook 'h' could not answer within the chain's budget of 100 ms: timed out after 89 ms"; decision != "deny" || !strings.HasPrefix(reason, want[:60]) {
		t.Errorf("%s: %q, want it to begin like %q", decision, reason, want)
	}
	r.wantMetric(`hookgate_breaker_state{hook="h",state="closed"}`, "1")
	for _, odd := range []string{"", "soon", "-1", "99999999999999999999"} {
		hook.say(answers(`{"decision":"allow"}`))
		if got := r.do(http.MethodPost, r.base+"/v1/decide", preText, header("X-Hookgate-Timeout-Ms", odd)); got.body != `{"decision":"allow"}` {
			t.Errorf("%q: %s", odd, got.body)
		}
	}
}

func TestWhatReadingACallTakesIsTakenFromItsBudget(t *testing.T) {
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nbudget_ms: 20\nhooks:\n  - {name: g, use: no-force-push, on_failure: allow}\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/decide", nil)
	verdict, refusal := r.gateway.decide(httptest.NewRecorder(), request, config.OperatorChain, time.Now(), func(context.Context, time.Time) (*chain.Request, error) {
		<-time.After(20 * time.Millisecond)
		return chain.ParseRequest([]byte(preText))
	})
	want := chain.Outcome{Decision: chain.Deny, Reason: "hook 'g' could not answer within the chain's budget of 20 ms: was not asked: no time was left"}
	if refusal != nil {
		t.Fatal(refusal.detail)
	}
	if diff := cmp.Diff(want, verdict.Outcome); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

func TestALargeBodyWhoseTurnToBeReadDoesNotComeIsDeniedInTime(t *testing.T) {
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nbudget_ms: 50\nhooks: []\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	for range cap(r.gateway.callers.turns) { // others are read, and take long
		r.gateway.callers.turns <- struct{}{}
	}
	const why = "could not be parsed within the budget of the chain"
	big := `{"command":"` + strings.Repeat("x", large) + `"}`
	got := r.do(http.MethodPost, r.base+"/v1/decide", strings.Replace(preText, `{"command":"ls"}`, big, 1))
	wantRefusal(t, got, http.StatusServiceUnavailable, why)
	if got.header.Get("Retry-After") == "" {
		t.Error("the caller is not told when to come back")
	}
	call := `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"1","tool_input":` + big
	for name, tc := range map[string]struct{ query, body string }{
		"a call":               {"", call + "}"},
		"a malformed call":     {"", call},
		"a mistake in the URL": {"?explicit_allow=maybe", call + "}"},
	} {
		got = r.do(http.MethodPost, r.base+"/v1/clients/claude-code/PreToolUse"+tc.query, tc.body)
		if got.status != http.StatusOK || !strings.Contains(got.body, `"permissionDecision":"deny"`) || !strings.Contains(got.body, why) {
			t.Errorf("%s: Claude Code is told %+v", name, got)
		}
	}
	for range cap(r.gateway.callers.turns) {
		<-r.gateway.callers.turns
	}
}

func TestGatewaysNest(t *testing.T) {
	inner := start(t, Options{Interceptors: intercepting("narrow", func(_ context.Context, r *chain.Request) (chain.Outcome, error) {
		return chain.Outcome{Decision: chain.Modify, Input: []byte(`{"command":"ls -l"}`), Reason: "longer"}, nil
	})})
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: inner, url: " + inner.base + "/v1/decide}\n"})
	outer := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	want := `{"decision":"modify","input":{"command":"ls -l"},"reason":"hook 'inner': interceptor 'narrow': longer"}`
	if got := outer.ask("", preText).body; got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
	if err := inner.stop(); err != nil {
		t.Fatal(err)
	}
	if got := outer.ask("", preText).body; got != `{"decision":"deny","reason":"hook 'inner' could not answer and denies on failure: could not be reached"}` {
		t.Errorf("with the inner one gone: %s", got)
	}
}

func TestDecisionsAreRememberedAndFollowed(t *testing.T) {
	denyAll := func(context.Context, *chain.Request) (chain.Outcome, error) {
		return chain.Outcome{Decision: chain.Deny, Reason: "no"}, nil
	}
	r := start(t, Options{RecentDecisions: 2, Interceptors: intercepting("i", denyAll)})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.base+"/v1/decisions?tool=third", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	stream, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, stream.Body)
	lines := bufio.NewScanner(stream.Body)
	if !lines.Scan() || lines.Text() != ": following decisions" {
		t.Fatalf("the stream begins with %q", lines.Text())
	}
	var ids []string
	for _, tool := range []string{"first", "second", "third"} {
		ids = append(ids, r.ask("", strings.Replace(preText, "shell", tool, 1)).header.Get("X-Hookgate-Decision-Id"))
	}
	var event []string
	for lines.Scan() && len(event) < 3 {
		if lines.Text() != "" {
			event = append(event, lines.Text())
		}
	}
	if event[0] != "event: decision" || event[1] != "id: "+ids[2] || !strings.Contains(event[2], `"tool_name":"third"`) {
		t.Errorf("the stream has %q, want the third decision alone", event)
	}

	for query, want := range map[string][]string{
		"":                {ids[2], ids[1]},
		"?limit=1":        {ids[2]},
		"?tool=second":    {ids[1]},
		"?decision=allow": {},
		"?cause=none&chain=operator&decision=deny": {ids[2], ids[1]},
	} {
		if got := listed(t, r.do(http.MethodGet, r.base+"/v1/decisions"+query, "").body); !cmp.Equal(want, got) {
			t.Errorf("%s lists (-want +got):\n%s", query, cmp.Diff(want, got))
		}
	}
	if got := r.do(http.MethodGet, r.base+"/v1/decisions?decision=denied", ""); got.status != http.StatusBadRequest || !strings.Contains(got.body, "is not one of allow, deny, modify, replace") {
		t.Errorf("a decision that there is not answers %d %s", got.status, got.body)
	}
	for query, want := range map[string]string{
		"cause=Timeout": "cause \\\"Timeout\\\" is not one of none, uncovered, timeout, connect, ", "tools=shell": "unknown filter \\\"tools\\\": known are chain, tool, decision, cause, limit",
		"tool=a&tool=b": "the filter tool is given 2 times: give it once", "tool=%zz": "the query of the URL is not valid",
	} {
		if got := r.do(http.MethodGet, r.base+"/v1/decisions?"+query, ""); got.status != http.StatusBadRequest || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s, want …%s", query, got.status, got.body, want)
		}
	}
	if got := r.do(http.MethodGet, r.base+"/v1/decisions?limit=none", ""); got.status != http.StatusBadRequest {
		t.Errorf("a bad limit answers %d", got.status)
	}
	if body := r.do(http.MethodGet, r.base+"/v1/decisions", "").body; strings.Contains(body, `"command"`) {
		t.Errorf("a record carries the input: %s", body)
	}
}

func TestARecordShowsWhatWouldActOnAScreen(t *testing.T) {
	r := start(t, Options{Interceptors: intercepting("i", allowing)})
	r.ask("", strings.Replace(preText, "agent-1", "a\u009b\u202e\u2028\U000e0001é", 1))
	if body := r.do(http.MethodGet, r.base+"/v1/decisions", "").body; !strings.Contains(body, `"agent_id":"a\u009b\u202e\u2028\udb40\udc01é"`) {
		t.Errorf("the record is %q", body)
	}
}

func TestARecordCutsATextButNoCharacterInIt(t *testing.T) {
	r := start(t, Options{Interceptors: intercepting("i", allowing)})
	r.ask("", strings.Replace(preText, "agent-1", strings.Repeat("a", longest-1)+"é", 1))
	r.ask("", strings.Replace(preText, "agent-1", strings.Repeat("b", longest-2)+"é", 1))
	body := r.do(http.MethodGet, r.base+"/v1/decisions", "").body
	for _, want := range []string{strings.Repeat("a", longest-1) + `…"`, strings.Repeat("b", longest-2) + `é"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no agent_id ends in %q: %q", want[longest-4:], body)
		}
	}
}

func TestG7_TheAdminListenerRefusesPagesToo(t *testing.T) {
	r := start(t, Options{})
	for _, edit := range []func(*http.Request){host("evil.example"), header("Origin", "http://evil.example")} {
		if got := r.do(http.MethodGet, r.admin+"/metrics", "", edit); got.status != http.StatusForbidden {
			t.Errorf("status %d", got.status)
		}
	}
}

func TestTheAdminListenerSaysWhereCallsGo(t *testing.T) {
	r := start(t, Options{})
	for _, tc := range []struct {
		method, path string
		status       int
		says         string
	}{
		{http.MethodPost, "/v1/decide", http.StatusNotFound, "this is the admin listener; calls go to the main listener (HOOKGATE_ADDR)"},
		{http.MethodGet, "/nothing", http.StatusNotFound, "nothing is served at"},
		{http.MethodPost, "/metrics", http.StatusMethodNotAllowed, "use GET"},
	} {
		got := r.do(tc.method, r.admin+tc.path, "")
		if decision, reason := decisionIn(t, got.body); got.status != tc.status || decision != "deny" || !strings.Contains(reason, tc.says) {
			t.Errorf("%s %s: status %d: %s", tc.method, tc.path, got.status, got.body)
		}
	}
}

func TestATraceIsTheCallersWhereItCanBeCarried(t *testing.T) {
	var seen string
	hook := newHookServer(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Get("Traceparent")
		answers(`{"decision":"allow"}`)(w, r)
	})
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: h, url: " + hook.URL + "}\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for given, kept := range map[string]bool{good: true, "": false, "nonsense": false, good + strings.Repeat("0", 20_000): false} {
		r.do(http.MethodPost, r.base+"/v1/decide", preText, header("Traceparent", given))
		if (seen == given) != kept || !transport.ValidTraceparent(seen) {
			t.Errorf("given %.60q the hook sees %.60q", given, seen)
		}
	}
}

func TestAFollowerThatReadsTooSlowlyIsToldWhatItMissed(t *testing.T) {
	h := newHistory(0)
	f, ok := h.follow()
	if !ok {
		t.Fatal("nothing to follow")
	}
	for range cap(f.decisions) + 3 {
		h.add(&record{})
	}
	if n := h.takeMissed(f); n != 3 {
		t.Errorf("missed %d, want 3", n)
	}
	if n := h.takeMissed(f); n != 0 {
		t.Errorf("missed %d the second time", n)
	}
	h.close()
	if _, ok := h.follow(); ok {
		t.Error("a closed history is followed")
	}
	h.close()
	h.leave(f)
}

func TestADurationInARecordIsExactToTheMicrosecond(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 24*time.Microsecond + 999: "0.024", 100 * time.Microsecond: "0.1", time.Millisecond: "1",
		1500 * time.Microsecond: "1.5", 2*time.Second + time.Microsecond: "2000.001",
	} {
		if got := string(appendMilliseconds(nil, d)); got != `,"duration_ms":`+want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
