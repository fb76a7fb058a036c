package config

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzParse parses arbitrary text. Parsing must end; the position of every
// mistake must be inside the file, and its message printable on one line; and a
// hook without mistakes must satisfy the documentation of [Hook].
func FuzzParse(f *testing.F) {
	all, err := filepath.Glob("testdata/mistakes/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range all {
		if data, err := os.ReadFile(path); err == nil {
			f.Add(data)
		}
	}
	for _, seed := range []string{
		basisFile,
		"schema: 1\nhooks:\n  - &a {name: a, command: [&b x, *b], env: {A: \"${TEAM}${file:x}$$\"}}\n  - *a\n",
		"schema: 1\nhooks:\n  - name: a\n    url: https://h\n    headers: {A: |\n      text\n    }\n",
		"schema: 1\nhooks:\n- name: >-\n    folded\n  use: shell\n  with: {a: 1e400, b: [~, .5, 0o7]}\n  when: [{field: /input/a~1b/0, equals: {a: 1}}]\n",
		"{\"schema\":1,\"hooks\":[{\"name\":\"\\u0061\",\"use\":\"paths\",\"with\":{\"\\ud83d\\ude00\":[1]}}]}",
		"%YAML 1.2\n---\nschema: 1\nhooks: []\n...\n", "? a\n: b\n", "- - - -\n", "a: &a\n  <<: *a\n", "\xef\xbb\xbfschema: 1", "a:\r\tb\r\n\u2028c",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := parsed(data)
		lines := 1 + strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(string(data)), "\n")
		for _, e := range got.errors {
			if e.Line < 1 || e.Line > lines || e.Column < 1 || e.Column > len(data)+1 {
				t.Errorf("%+v is outside of the file, which has %d lines", e, lines)
			}
			if said := e.Error(); strings.ContainsFunc(said, func(c rune) bool { return !strconv.IsPrint(c) }) {
				t.Errorf("%q cannot be printed", said)
			}
		}
		if len(got.errors) > 0 {
			return
		}
		again := parsed(data)
		if len(again.errors) > 0 || len(again.file.Hooks) != len(got.file.Hooks) {
			t.Fatal("the same text loads differently the second time")
		}
		for i, h := range got.file.Hooks {
			checkHook(t, h)
			if other := again.file.Hooks[i]; other.Name != h.Name || other.Fingerprint != h.Fingerprint {
				t.Errorf("%q loads differently the second time", h.Name)
			}
		}
	})
}

// checkHook checks a hook without mistakes against its documentation.
func checkHook(t *testing.T, h *Hook) {
	t.Helper()
	bindings := 0
	if h.Command != nil {
		bindings++
		if len(h.Command.Argv) == 0 || h.Command.Argv[0] == "" || !filepath.IsAbs(h.Command.Dir) || h.Command.Limits.MaxInFlight < 1 {
			t.Errorf("command = %+v", h.Command)
		}
	}
	if h.Webhook != nil {
		bindings++
		if h.Webhook.URL == nil || h.Webhook.URL.Host == "" || h.Webhook.Limits.MaxResponseBytes < 1 || (h.Webhook.Breaker.ConsecutiveFailures < 1) == (h.Webhook.Breaker.FailureRatio == 0) {
			t.Errorf("webhook = %+v", h.Webhook)
		}
	}
	if h.Use != nil {
		bindings++
		if h.Use.Guard == "" {
			t.Errorf("use = %+v", h.Use)
		}
	}
	if bindings != 1 || h.Name == "" || len(h.Name) > maxName || h.Timeout <= 0 || h.Event == 0 || isZero(h.Fingerprint) {
		t.Errorf("hook = %+v", h)
	}
	if h.When != nil {
		for _, req := range sampleRequests() {
			h.When(req, time.Time{})
		}
	}
}
