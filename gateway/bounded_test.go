package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// longCall returns a call of more than a thousand bytes.
func longCall() string {
	return strings.Replace(preText, `"ls"`, `"`+strings.Repeat("x", 1000)+`"`, 1)
}

// takesShort is an endpoint with a limit of its own: it refuses long calls.
func takesShort(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > 1000 {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	_, _ = w.Write([]byte(`{"decision":"allow"}`))
}

func TestAttack_CallsThatAHookCannotTakeOpenItsBreakerOnlyWhereNothingSaysSo(t *testing.T) {
	for _, tc := range []struct {
		entry string // keys besides the URL
		long  string // the answer to a long call
		state string
	}{
		{"max_request_bytes: 900", "hook 'h' could not answer and denies on failure: was not asked: the call has", "closed"},
		{"guard: false", "hook 'h' could not answer and denies on failure: answered with status 413", "open"},
	} {
		t.Run(tc.entry, func(t *testing.T) {
			hook := newHookServer(t, takesShort)
			dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: h, url: " + hook.URL + ", breaker: {consecutive_failures: 2}, " + tc.entry + "}\n"})
			r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
			for range 3 {
				decision, reason := r.decide("", longCall())
				if decision != "deny" || !strings.HasPrefix(reason, tc.long) && !strings.Contains(reason, "breaker") {
					t.Errorf("a long call: %s: %s", decision, reason)
				}
			}
			decision, reason := r.decide("", preText)
			if (decision == "allow") != (tc.state == "closed") {
				t.Errorf("a short call afterwards: %s: %s", decision, reason)
			}
			r.wantMetric(fmt.Sprintf(`hookgate_breaker_state{hook="h",state=%q}`, tc.state), "1")
			if tc.state == "closed" {
				r.wantMetric(`hookgate_hook_failures_total{binding="webhook",cause="oversize",hook="h"}`, "3")
				if n := hook.asked(); n != 1 {
					t.Errorf("it was asked %d times", n)
				}
			}
		})
	}
}

func TestABoundOnCallsHoldsForProgramsTooAndWithoutANewBinding(t *testing.T) {
	hook := newHookServer(t, answers(`{"decision":"allow"}`))
	text := "schema: 1\nhooks:\n  - {name: c, command: [cat], max_request_bytes: 900}\n"
	dir := files(t, map[string]string{"hooks.yaml": text})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	if decision, reason := r.decide("", longCall()); decision != "deny" || !strings.HasSuffix(reason, "and the hook accepts 900 (max_request_bytes)") {
		t.Errorf("%s: %s", decision, reason)
	}
	write(t, dir+"/hooks.yaml", "schema: 1\nhooks:\n  - {name: c, url: "+hook.URL+"}\n")
	r.reload()
	if decision, reason := r.decide("", longCall()); decision != "allow" {
		t.Errorf("without a bound: %s: %s", decision, reason)
	}
	write(t, dir+"/hooks.yaml", "schema: 1\nhooks:\n  - {name: c, url: "+hook.URL+", max_request_bytes: 1}\n")
	r.reload()
	if decision, reason := r.decide("", preText); decision != "deny" || !strings.HasSuffix(reason, "and the hook accepts 1 (max_request_bytes)") {
		t.Errorf("with one: %s: %s", decision, reason)
	}
	if !strings.Contains(r.hooks(), `"allow":1`) {
		t.Errorf("its counts did not stay: %s", r.hooks())
	}
}

// hooks returns the body of GET /v1/hooks.
func (r *running) hooks() string {
	return r.do(http.MethodGet, r.base+"/v1/hooks", "").body
}
