package config

import (
	"path/filepath"
	"testing"
)

// hookIn loads a file with one hook, next to other files.
func hookIn(t *testing.T, dir, text string) *Hook {
	t.Helper()
	write(t, dir, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - " + text + "\n"})
	set := loaded(t, Options{
		ConfigFile: filepath.Join(dir, "hooks.yaml"), Guards: []string{"shell", "paths"},
		LookupEnv: lookup(map[string]string{"A": "1", "B": "2"}),
	})
	return set.Operator.Hooks[0]
}

func TestF8_WhatABindingIsNotMadeOfDoesNotChangeTheFingerprint(t *testing.T) {
	dir := t.TempDir()
	for _, binding := range []string{
		"command: [x, y], env: {A: \"1\", B: b}", "url: \"https://h/\", headers: {X-A: \"1\", X-B: b}", "use: shell, with: {a: 1, b: 2}",
	} {
		plain := hookIn(t, dir, "{name: a, "+binding+"}").Fingerprint
		if isZero(plain) {
			t.Errorf("%s: the fingerprint is zero", binding)
		}
		for _, more := range []string{
			"name: b", "name: a, event: post_tool_use", "name: a, tools: [x]", "name: a, timeout_ms: 1", "name: a, guard: true",
			"name: a, mode: shadow", "name: a, on_failure: allow", "name: a, when: [{field: /input, exists: true}]",
		} {
			if hookIn(t, dir, "{"+more+", "+binding+"}").Fingerprint != plain {
				t.Errorf("%s: another fingerprint with %s", binding, more)
			}
		}
	}
}

func TestF8_TheSameValueFromElsewhereIsTheSameFingerprint(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"one": "1\n"})
	equal := func(texts ...string) {
		t.Helper()
		for _, text := range texts[1:] {
			if hookIn(t, dir, text).Fingerprint != hookIn(t, dir, texts[0]).Fingerprint {
				t.Errorf("%s differs from %s", text, texts[0])
			}
		}
	}
	equal(
		`{name: a, command: [x], env: {A: "${A}", B: "${B}"}}`, `{name: a, command: [x], env: {B: "${B}", A: "${file:one}"}}`,
		`{name: a, command: ["x"], env: {B: "${B}", A: "${A}"}, max_in_flight: 64, dir: .}`,
	)
	equal(
		`{name: a, url: "https://h", headers: {X-A: "1"}}`,
		`{name: a, url: "https://h", headers: {x-a: "${A}"}, breaker: {open_ms: 30000}, max_response_bytes: 1048576}`,
	)
}

func TestF8_EachValueOfABindingChangesTheFingerprint(t *testing.T) {
	dir := t.TempDir()
	cert, key := keyPair(t)
	otherCert, otherKey := keyPair(t)
	write(t, dir, map[string]string{"c.pem": cert, "k.pem": key, "oc.pem": otherCert, "ok.pem": otherKey})
	seen := map[[2][32]byte]string{}
	for _, text := range []string{
		`command: [x]`, `command: [y]`, `command: [x, ""]`, `command: [x, "", ""]`, `command: [x, a, b]`, `command: [x, ab]`,
		`command: [x], dir: sub`, `command: [x], env: {A: "1"}`, `command: [x], env: {A: "2"}`, `command: [x], env: {A1: ""}`,
		`command: [x], env: {A: "${A}"}`, // a secret, where the same text in the file is none
		`command: [x], env: {A: "1", B: "2"}`, `command: [x], worker: {processes: 1}`, `command: [x], worker: {processes: 2}`,
		`command: [x], max_in_flight: 1`, `command: [x], max_response_bytes: 1`,
		`url: "https://h"`, `url: "https://h/"`, `url: "https://h?a"`, `url: "http://localhost"`, `url: "https://h", headers: {X: "1"}`,
		`url: "https://h", headers: {X: "2"}`, `url: "https://h", headers: {Y: "1"}`, `url: "https://h", breaker: {consecutive_failures: 1}`,
		`url: "https://h", breaker: {failure_ratio: 0.5}`, `url: "https://h", breaker: {failure_ratio: 0.25}`,
		`url: "https://h", breaker: {failure_ratio: 0.5, min_calls: 2}`, `url: "https://h", breaker: {failure_ratio: 0.5, window_ms: 1000}`,
		`url: "https://h", breaker: {max_retry_after_ms: 0}`, `url: "https://h", breaker: {max_retry_after_ms: 1}`,
		`url: "https://h", warmup: true`, `url: "https://h", max_connection_age_ms: 1000`, `url: "https://h", warmup: true, cold_after_ms: 1000`,
		`url: "https://h", first_call_timeout_ms: 9000, cold_after_ms: 1000`,
		`url: "https://h", breaker: {open_ms: 1}`, `url: "https://h", breaker: {half_open_probes: 2}`, `url: "https://h", proxy: environment`,
		`url: "https://h", proxy: "http://p"`, `url: "https://h", proxy: "http://q"`, `url: "https://h", tls: {}`,
		`url: "https://h", tls: {server_name: a}`, `url: "https://h", tls: {server_name: b}`, `url: "https://h", tls: {ca_file: c.pem}`,
		`url: "https://h", tls: {ca_file: oc.pem}`, `url: "https://h", tls: {cert_file: c.pem, key_file: k.pem}`,
		`url: "https://h", tls: {cert_file: oc.pem, key_file: ok.pem}`, `url: "https://h", max_in_flight: 1`,
		`url: "https://h", max_response_bytes: 1`,
		`url: "https://h", auth: {bearer: a}`, `url: "https://h", auth: {bearer: b}`, `url: "https://h", auth: {basic: {user: a, password: b}}`,
		`url: "https://h", auth: {basic: {user: ab, password: c}}`, `url: "https://h", auth: {header: {name: a, value: b}}`,
		`url: "https://h", auth: {header: {name: a, value: c}}`, `url: "https://h", auth: {aws_sigv4: {region: a, service: b}}`,
		`url: "https://h", auth: {aws_sigv4: {region: a, service: c}}`, `url: "https://h", auth: {google_id_token: {audience: a}}`,
		`url: "https://h", auth: {google_id_token: {audience: b}}`, `url: "https://h", auth: {google_id_token: {audience: a, credentials_file: c.pem}}`,
		`url: "https://h", auth: {google_id_token: {audience: a, credentials_file: oc.pem}}`, `url: "https://h", auth: {azure: {scope: a}}`,
		`url: "https://h", auth: {azure: {scope: a, client_id: b}}`,
		`url: "https://h", auth: {oauth2: {token_url: "https://t", client_id: a, client_secret: b}}`,
		`url: "https://h", auth: {oauth2: {token_url: "https://u", client_id: a, client_secret: b}}`,
		`url: "https://h", auth: {oauth2: {token_url: "https://t", client_id: a, client_secret: c}}`,
		`url: "https://h", auth: {oauth2: {token_url: "https://t", client_id: a, client_secret: b, scopes: [s]}}`,
		`command: [a], worker: {processes: 1}, bind_answers: true`, `url: "https://h", bind_answers: true`, `url: "https://h", cloudevents: true`, `url: "https://h", unwrap: lambda_invoke`, `url: "https://h", signing: {secret: a}, bind_answers: true`,
		`url: "https://h", signing: {secret: a}, bind_answers: signed`, `url: "https://h", signing: {secret: a}`, `url: "https://h", signing: {secret: [a, b]}`, `url: "https://h", signing: {secret: [b, a]}`,
		`use: shell, canary: {request: {tool_name: x, input: 1}, expect: deny}`, `use: shell, canary: {request: {tool_name: x, input: 2}, expect: deny}`,
		`use: shell, canary: {request: {tool_name: x, input: 1}, expect: deny, every: 2m}`,
		`use: shell, canary: {request: {tool_name: x, input: 1}, expect: deny, gate_readiness: true}`,
		`use: shell`, `use: paths`, `use: shell, with: {a: 1}`, `use: shell, with: {a: 1.0}`, `use: shell, with: {a: "1"}`,
		`use: shell, with: {b: 1}`, `use: shell, with: {a: [1]}`,
	} {
		print := printOf(hookIn(t, dir, "{name: a, "+text+"}"))
		if other, taken := seen[print]; taken {
			t.Errorf("%s and %s have one fingerprint", other, text)
		}
		seen[print] = text
	}
}

// printOf returns both hashes of an entry.
func printOf(h *Hook) [2][32]byte {
	if h.Webhook == nil {
		return [2][32]byte{h.Fingerprint}
	}
	return [2][32]byte{h.Fingerprint, h.Webhook.Secrets}
}

func TestF8_SecretsAreReplacedWhileTheFingerprintStays(t *testing.T) {
	dir := t.TempDir()
	cert, key := keyPair(t)
	otherCert, otherKey := keyPair(t)
	ofFiles := []string{
		`{name: a, url: "https://h", tls: {ca_file: c.pem}}`, `{name: a, url: "https://h", tls: {cert_file: c.pem, key_file: k.pem}}`,
		`{name: a, url: "https://h", auth: {bearer: "${file:secret}"}}`, `{name: a, url: "https://h", headers: {X-Key: "${file:secret}"}}`,
		`{name: a, url: "https://h", signing: {secret: ["${file:secret}"]}}`,
		`{name: a, url: "https://h", auth: {google_id_token: {audience: x, credentials_file: secret}}}`,
	}
	write(t, dir, map[string]string{"c.pem": cert, "k.pem": key, "secret": "one"})
	var before [][2][32]byte
	for _, text := range ofFiles {
		before = append(before, printOf(hookIn(t, dir, text)))
	}
	write(t, dir, map[string]string{"c.pem": otherCert, "k.pem": otherKey, "secret": "two"})
	plain := hookIn(t, dir, `{name: a, url: "https://h"}`).Fingerprint
	for i, text := range ofFiles {
		after := printOf(hookIn(t, dir, text))
		if after[0] != before[i][0] || after[0] != plain {
			t.Errorf("%s: with something else in the file it has another fingerprint", text)
		}
		if after[1] == before[i][1] {
			t.Errorf("%s: with something else in the file it has the same secrets", text)
		}
	}
}
