package config

import (
	"strings"
	"testing"
)

// A value with a tag is reported and then left out, so that what is read next must
// not rely on it.
func TestAValueThatIsLeftOutIsAMistakeWhereverItIs(t *testing.T) {
	const whole = `schema: 1
budget_ms: 1000
on_uncovered: deny
hooks:
  - {name: a, url: "https://h/", event: post_tool_use, tools: [x], headers: {A: b}, auth: {basic: {user: u, password: p}}, signing: {secret: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]}, bind_answers: signed, timeout_ms: 5}
  - {name: b, url: "https://h/", breaker: {failure_ratio: 0.5, min_calls: 2, window_ms: 1000}, tls: {server_name: s}, proxy: "http://p:1", first_call_timeout_ms: 9000, cold_after_ms: 2000, warmup: true, max_connection_age_ms: 5000, unwrap: lambda_invoke, cloudevents: true}
  - {name: c, command: [x, y], env: {A: b}, dir: /d, worker: {processes: 2}, bind_answers: true, max_in_flight: 3, max_request_bytes: 4, max_response_bytes: 5}
  - {name: d, use: shell, with: {a: [1, {b: c}]}, guard: true, mode: shadow, on_failure: deny, when: [{field: /input/a, equals: {a: 1}}]}
  - {name: e, use: paths, canary: {request: {tool_name: x, input: {a: 1}}, expect: deny, every: 1m, gate_readiness: true}}
  - {name: f, url: "https://h/", auth: {oauth2: {token_url: "https://t/", client_id: i, client_secret: s, scopes: [a]}}}
`
	if errors := parsed([]byte(whole)).errors; len(errors) > 0 {
		t.Fatalf("the whole file: %v", errors)
	}
	changed := 0
	for _, before := range []string{": ", "[", ", "} {
		for at := 0; ; {
			next := strings.Index(whole[at:], before)
			if next < 0 {
				break
			}
			at += next + len(before)
			if before == ", " && strings.Contains(strings.FieldsFunc(whole[at:], func(c rune) bool { return c == ',' || c == ']' || c == '}' })[0], ": ") {
				continue // a member of a mapping, whose value has its own turn
			}
			text := whole[:at] + "!x " + whole[at:]
			if got := parsed([]byte(text)); len(got.errors) == 0 {
				t.Errorf("no mistake in\n%s", text[strings.LastIndexByte(text[:at], '\n')+1:])
			}
			changed++
		}
	}
	if changed < 80 {
		t.Errorf("only %d values were left out", changed)
	}
}
