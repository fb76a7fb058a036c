package gateway

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestAThrottlingEndpointIsLeftAloneAndEverythingSaysUntilWhen(t *testing.T) {
	hook := newHookServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: h, url: " + hook.URL +
		", breaker: {failure_ratio: 0.5, max_retry_after_ms: 1800000}}\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	r.wantMetric(`hookgate_breaker_next_try_timestamp_seconds{hook="h"}`, "0")
	before := time.Now()
	if _, reason := r.decide("", preText); reason != "hook 'h' could not answer and denies on failure: answered with status 429: it is not asked again for 1800 s" {
		t.Errorf("the throttled call: %s", reason)
	}
	_, reason := r.decide("", preText)
	if want := regexp.MustCompile(`^hook 'h' could not answer and denies on failure: was not asked: it asked callers to wait \(Retry-After\), and its circuit breaker is open until \S+ \(for another (1800|1[67]\d\d) s\)$`); !want.MatchString(reason) {
		t.Errorf("the next call: %s", reason)
	}
	if n := hook.asked(); n != 1 {
		t.Errorf("the endpoint was asked %d times", n)
	}
	r.wantMetric(`hookgate_breaker_state{hook="h",state="open"}`, "1")
	text, _ := r.metric(`hookgate_breaker_next_try_timestamp_seconds{hook="h"}`)
	at, err := strconv.ParseFloat(text, 64)
	if until := at - float64(before.Unix()); err != nil || until < 1799 || until > 1900 {
		t.Errorf("the next try is at %s, %v s from now", text, until)
	}
	if hooks := r.do(http.MethodGet, r.base+"/v1/hooks", "").body; !strings.Contains(hooks, `"breaker":{"state":"open","consecutive_failures":0,"retry_at":"`) || !strings.Contains(hooks, `"throttled":true`) {
		t.Errorf("hooks: %s", hooks)
	}
}

func TestOneColdBlipDoesNotLatchABreakerOfARatio(t *testing.T) {
	hook := newHookServer(t, fails(http.StatusBadGateway))
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: h, url: " + hook.URL +
		", breaker: {failure_ratio: 0.5, min_calls: 4}}\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	for range 3 {
		r.decide("", preText)
	}
	if hooks := r.do(http.MethodGet, r.base+"/v1/hooks", "").body; !strings.Contains(hooks, `"breaker":{"state":"closed","consecutive_failures":3,"window":{"calls":3,"failures":3}}`) {
		t.Errorf("hooks: %s", hooks)
	}
	hook.say(answers(`{"decision":"allow"}`))
	if decision, reason := r.decide("", preText); decision != "allow" {
		t.Errorf("after three failures, which are too few to say anything: %s %s", decision, reason)
	}
	hook.say(fails(http.StatusBadGateway))
	r.decide("", preText)
	if _, reason := r.decide("", preText); !strings.Contains(reason, "circuit breaker is open") {
		t.Errorf("after four failures of five: %s", reason)
	}
}
