package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/client"
)

// native is a client's request and how to send it.
type native struct {
	client *client.Client
	name   string
	path   string // the route's path, with the event if the body does not name it
	body   string
}

// natives returns the fixtures of every client.
func natives(t *testing.T) []native {
	t.Helper()
	var all []native
	for _, c := range client.All() {
		files, err := filepath.Glob(filepath.Join("client", "testdata", c.Name(), "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			t.Errorf("%s has no fixtures", c.Name())
		}
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			path := "/clients/" + c.Name()
			if _, event, ok := strings.Cut(name, "@"); ok {
				path += "/" + event
			}
			all = append(all, native{c, c.Name() + "/" + name, path, string(body)})
		}
	}
	return all
}

// call returns the fixture as parsed by the client.
func (n native) call(t *testing.T) *client.Call {
	t.Helper()
	_, event, _ := strings.Cut(filepath.Base(n.name), "@")
	call, err := n.client.Read(event, []byte(n.body))
	if err != nil {
		t.Fatalf("%s: %v", n.name, err)
	}
	return call
}

func (n native) refusal(body, reason string) client.Answer {
	_, event, _ := strings.Cut(filepath.Base(n.name), "@")
	return n.client.Refuse(event, []byte(body), reason)
}

// wantAnswer compares a whole response to a client.
func wantAnswer(t *testing.T, name string, got reply, want client.Answer) {
	t.Helper()
	if got.status != want.Status || got.header.Get("Content-Type") != "application/json" || got.header.Get("X-Hookgate-Decision") != want.Decision.String() {
		t.Errorf("%s: status %d, headers %v", name, got.status, got.header)
	}
	if diff := cmp.Diff(string(want.Body), got.body); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// answering is an interceptor that gives every call the same answer.
func answering(o chain.Outcome, err error) func(context.Context, *chain.Request) (chain.Outcome, error) {
	return func(context.Context, *chain.Request) (chain.Outcome, error) { return o, err }
}

func TestG10_AClientIsAnsweredInItsOwnDialect(t *testing.T) {
	denying := start(t, Options{ConfigFile: filepath.Join(files(t, map[string]string{"h.yaml": "schema: 1\nhooks: []\n"}), "h.yaml"), Interceptors: intercepting("no", answering(chain.Outcome{Decision: chain.Deny, Reason: "not here"}, nil))})
	allowed := start(t, Options{ConfigFile: filepath.Join(files(t, map[string]string{"h.yaml": "schema: 1\nhooks: []\n"}), "h.yaml"), Interceptors: intercepting("yes", allowing)})
	for _, n := range natives(t) {
		call := n.call(t)
		if call.Passes() {
			continue
		}
		for _, prefix := range []string{"/v1", "/v1/chains/operator"} {
			got := denying.do(http.MethodPost, denying.base+prefix+n.path, n.body)
			wantAnswer(t, n.name+" denied", got, call.Answer(chain.Outcome{Decision: chain.Deny, Reason: "denied by interceptor 'no': not here"}, false))
			if got.header.Get("X-Hookgate-Decision-Id") == "" {
				t.Errorf("%s: the decision has no id", n.name)
			}
			if n.client.Name() == "litellm" { // which appends a path of its own
				got := denying.do(http.MethodPost, denying.base+prefix+n.path+"/beta/litellm_basic_guardrail_api", n.body)
				wantAnswer(t, n.name+" denied at its own path", got, call.Answer(chain.Outcome{Decision: chain.Deny, Reason: "denied by interceptor 'no': not here"}, false))
			}
			wantAnswer(t, n.name+" allowed", allowed.do(http.MethodPost, allowed.base+prefix+n.path, n.body), call.Answer(chain.Outcome{Decision: chain.Allow}, false))
			wantAnswer(t, n.name+" allowed explicitly", allowed.do(http.MethodPost, allowed.base+prefix+n.path+"?explicit_allow=true", n.body), call.Answer(chain.Outcome{Decision: chain.Allow}, true))
		}
	}
}

func TestG10_WhatTheGatewayRefusesAClientIsToldAsItsOwnDeny(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{}, 1)
	busy := start(t, Options{MaxInFlight: 1, Interceptors: intercepting("slow", func(context.Context, *chain.Request) (chain.Outcome, error) {
		asked <- struct{}{}
		<-release
		return chain.Outcome{Decision: chain.Allow}, nil
	})})
	done := make(chan struct{})
	go func() {
		defer close(done)
		busy.ask("", preText)
	}()
	<-asked
	small := start(t, Options{MaxRequestBytes: 32})
	r := start(t, Options{})
	seen := map[string]bool{}
	for _, n := range natives(t) {
		reason := func(detail string) string { return "the gateway refused the request: " + detail }
		wantAnswer(t, n.name+" too large", small.do(http.MethodPost, small.base+"/v1"+n.path, n.body),
			n.refusal("", reason("the body is longer than 32 bytes, the limit (HOOKGATE_MAX_REQUEST_BYTES)")))
		wantAnswer(t, n.name+" shed", busy.do(http.MethodPost, busy.base+"/v1"+n.path, n.body),
			n.refusal("", reason("the gateway is at its limit of 1 requests in flight (HOOKGATE_MAX_IN_FLIGHT)")))
		if !n.call(t).Passes() {
			wantAnswer(t, n.name+" of no chain", r.do(http.MethodPost, r.base+"/v1/chains/nowhere"+n.path, n.body),
				n.refusal(n.body, reason("there is no chain of that name: chains are files in HOOKGATE_CHAINS_DIR")))
		}
		wantAnswer(t, n.name+" of another type", r.do(http.MethodPost, r.base+"/v1"+n.path, n.body, header("Content-Type", "text/plain")),
			n.refusal("", reason(`the Content-Type is "text/plain": send application/json`)))
		wantAnswer(t, n.name+" from a page", r.do(http.MethodPost, r.base+"/v1"+n.path, n.body, header("Origin", "https://evil.example")),
			n.refusal("", reason(`pages from the origin "https://evil.example" may not use the gateway`)))
		wantAnswer(t, n.name+" asked to allow somehow", r.do(http.MethodPost, r.base+"/v1"+n.path+"?explicit_allow=yes", n.body),
			n.refusal(n.body, reason(`the body is not a valid request: explicit_allow is "yes": use true or false`)))
		if seen[n.path] {
			continue
		}
		seen[n.path] = true
		for name, body := range map[string]string{"nothing": "", "a list": "[]", "cut": `{"a":`, "twice": `{"a":1,"a":2}`, "an empty object": "{}"} {
			got := r.do(http.MethodPost, r.base+"/v1"+n.path, body)
			if got.status != n.refusal("", "x").Status || got.header.Get("X-Hookgate-Decision") != "deny" || !strings.Contains(got.body, "the gateway refused the request: the body is not a valid request: in the format of ") {
				t.Errorf("%s, body %s: %d %v %s", n.path, name, got.status, got.header, got.body)
			}
		}
	}
	close(release)
	<-done
}

func TestG10_AFaultOfTheGatewayIsTheClientsOwnDeny(t *testing.T) {
	r := start(t, Options{})
	// Break the first thing that a decision touches.
	r.gateway.history.mu.Lock()
	r.gateway.history.latest, r.gateway.history.next = []*record{nil}, 7
	r.gateway.history.mu.Unlock()
	for _, n := range natives(t) {
		if n.call(t).Passes() {
			continue
		}
		wantAnswer(t, n.name, r.do(http.MethodPost, r.base+"/v1"+n.path, n.body),
			n.refusal("", "the gateway refused the request: the gateway had an internal fault; its log has the details"))
	}
}

func TestG10_AChainThatOutlastsItsBudgetIsTheClientsOwnDenyInTime(t *testing.T) {
	until := make(chan struct{})
	defer close(until)
	h := newHookServer(t, waits(until))
	entries := ""
	for _, event := range chain.Events() {
		for range 2 { // the second one has used up its time
			entries += fmt.Sprintf("  - {name: slow, url: %q, event: %s, timeout_ms: 40, on_failure: allow, breaker: {consecutive_failures: 1000}}\n", h.URL, event)
		}
	}
	dir := files(t, map[string]string{"h.yaml": "schema: 1\nbudget_ms: 60\nhooks:\n" + entries})
	r := start(t, Options{ConfigFile: filepath.Join(dir, "h.yaml")})
	var asked sync.WaitGroup
	for _, n := range natives(t) {
		if n.call(t).Passes() {
			continue
		}
		asked.Go(func() {
			got := r.do(http.MethodPost, r.base+"/v1"+n.path, n.body)
			if got.header.Get("X-Hookgate-Decision") != "deny" || !strings.Contains(got.body, "could not answer within the chain's budget of 60 ms") {
				t.Errorf("%s: %v: %s", n.name, got.header, got.body)
			}
		})
	}
	asked.Wait()
}

func TestG10_AClientThatNobodyKnowsIsRefused(t *testing.T) {
	r := start(t, Options{})
	for _, path := range []string{"/v1/clients/nobody", "/v1/clients/nobody/PreToolUse", "/v1/chains/operator/clients/nobody", "/v1/clients/Claude-Code"} {
		got := r.do(http.MethodPost, r.base+path, preText)
		if decision, reason := decisionIn(t, got.body); got.status != http.StatusNotFound || decision != "deny" || !strings.Contains(reason, "known are claude-code, ") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

func TestG10_AKnownClientAtAWrongPathIsDeniedInItsOwnDialect(t *testing.T) {
	r := start(t, Options{})
	for path, want := range map[string]string{
		"/v1/clients/codex/":                          `{"decision":"block","reason":`,
		"/v1/clients/codex/PreToolUse/now":            `{"decision":"block","reason":`,
		"/v1/chains/a/clients/gemini-cli/BeforeTool/": `{"decision":"deny","reason":`,
	} {
		got := r.do(http.MethodPost, r.base+path, preText)
		if got.status != http.StatusOK || got.header.Get("X-Hookgate-Decision") != "deny" || !strings.HasPrefix(got.body, want) || !strings.Contains(got.body, "nothing is served at") {
			t.Errorf("%s: %d %v %s", path, got.status, got.header, got.body)
		}
	}
	escaped := r.do(http.MethodPost, r.base+"/v1/clients/codex%2FPreToolUse", preText)
	if want := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"`; escaped.status != http.StatusOK || !strings.HasPrefix(escaped.body, want) {
		t.Errorf("a slash that is escaped: %d %s", escaped.status, escaped.body)
	}
	for _, path := range []string{"/v1/clients", "/v1/clients/", "/v1/client/codex/", "/v2/clients/codex/x/y", "/v1/chains/clients/codex/x", "/v1/clients/nobody/x/y"} {
		got := r.do(http.MethodPost, r.base+path, preText)
		if decision, _ := decisionIn(t, got.body); got.status != http.StatusNotFound || decision != "deny" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

func TestG10_DegradationsAndRefusalsAreCountedFromZero(t *testing.T) {
	r := start(t, Options{Interceptors: intercepting("narrow", answering(chain.Outcome{Decision: chain.Modify, Input: []byte(`{}`)}, nil))})
	exposed := r.do(http.MethodGet, r.admin+"/metrics", "").body
	for _, c := range client.All() {
		var want []string
		for _, d := range c.Degradations() {
			want = append(want, `hookgate_client_degradations_total{client="`+c.Name()+`",outcome="`+d.String()+`"} 0`)
		}
		for _, status := range refusedCodes() {
			want = append(want, fmt.Sprintf(`hookgate_client_refusals_total{client="%s",status="%d"} 0`, c.Name(), status))
		}
		for _, series := range want {
			if !strings.Contains(exposed, "\n"+series+"\n") {
				t.Errorf("%s is not there", series)
			}
		}
	}
	body := `{"hook_event_name":"BeforeTool","session_id":"s","cwd":"/w","tool_name":"x","tool_input":{"gone":1}}`
	r.do(http.MethodPost, r.base+"/v1/clients/gemini-cli", body)
	r.do(http.MethodPost, r.base+"/v1/clients/gemini-cli", "{}")
	r.wantMetric(`hookgate_client_degradations_total{client="gemini-cli",outcome="modify"}`, "1")
	r.wantMetric(`hookgate_client_refusals_total{client="gemini-cli",status="400"}`, "1")
}

func TestTheDescriptionNamesEveryClient(t *testing.T) {
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	schema, _ := d.resolve(map[string]any{"$ref": "#/components/schemas/ClientName"}, "")
	described, err := json.Marshal(schema["enum"])
	if err != nil {
		t.Fatal(err)
	}
	served, err := json.Marshal(clientNames())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(served), string(described)); diff != "" {
		t.Errorf("clients (-served +openapi.yaml):\n%s", diff)
	}
}
