package chain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEveryWordOfTheVocabularyIsSpeltOnceAndReadBack(t *testing.T) {
	var words []string
	for _, e := range Events() {
		words = append(words, e.String())
		if got, err := ParseEvent(e.String()); got != e || err != nil {
			t.Errorf("%v reads back as %v, %v", e, got, err)
		}
	}
	for _, d := range Decisions() {
		words = append(words, d.String())
		if got, err := ParseDecision(d.String()); got != d || err != nil {
			t.Errorf("%v reads back as %v, %v", d, got, err)
		}
	}
	for _, c := range Causes() {
		words = append(words, c.String())
	}
	for _, c := range append([]Cause{NoCause, Uncovered}, Causes()...) {
		if got, err := ParseCause(c.String()); got != c || err != nil {
			t.Errorf("%v reads back as %v, %v", c, got, err)
		}
	}
	for _, m := range Modes() {
		words = append(words, m.String())
	}
	for _, s := range []interface{ String() string }{
		NoCause, Uncovered, DenyOnFailure, AllowOnFailure, Hook, Interceptor, DenyUncovered, AllowUncovered,
	} {
		words = append(words, s.String())
	}
	want := []string{
		"pre_tool_use", "post_tool_use",
		"deny", "allow", "modify", "replace",
		"timeout", "connect", "tls", "auth", "reset", "status", "redirect", "empty", "malformed", "oversize",
		"wrong_decision", "unusable_rewrite", "breaker_open", "saturated", "spawn", "exit", "signal", "worker", "error", "panic", "budget", "internal",
		"enforce", "shadow",
		"none", "uncovered", "deny", "allow", "hook", "interceptor", "deny", "allow",
	}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

func TestC16_AWordOutsideTheVocabularyRefuses(t *testing.T) {
	const want = `cause "Timeout" is not one of none, uncovered, timeout, connect, tls, auth, reset, status, redirect, empty, malformed, oversize, ` +
		"wrong_decision, unusable_rewrite, breaker_open, saturated, spawn, exit, signal, worker, error, panic, budget, internal"
	if _, err := ParseCause("Timeout"); err == nil || err.Error() != want {
		t.Errorf("another case of a cause: %v", err)
	}
	if got := Event(9).String(); got != "unset" {
		t.Errorf("event 9 reads %q", got)
	}
	if got := Decision(9).String(); got != "deny" {
		t.Errorf("decision 9 reads %q", got)
	}
	if got := Cause(99).String(); got != "internal" {
		t.Errorf("cause 99 reads %q", got)
	}
	for _, d := range []Decision{Undecided, Decision(9)} {
		if d.fits(PreToolUse) || d.fits(PostToolUse) {
			t.Errorf("decision %d fits an event", d)
		}
	}
	for _, word := range []string{"", "Allow", "ALLOW", " allow", "approve", "ask", "block"} {
		if got, err := ParseDecision(word); err == nil || got != Undecided {
			t.Errorf("%q reads as the decision %v", word, got)
		}
		if got, err := ParseEvent(word); err == nil || got != 0 {
			t.Errorf("%q reads as the event %v", word, got)
		}
	}
}

func TestToolPatterns(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"shell", "shell", true},
		{"shell", "shell ", false},
		{"", "", true},
		{"", "x", false},
		{"*", "", true},
		{"*", "anything", true},
		{"mcp__git__*", "mcp__git__push", true},
		{"mcp__git__*", "mcp__git__", true},
		{"mcp__git__*", "mcp__gi__push", false},
		{"*_file", "read_file", true},
		{"*_file", "read_files", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "axxcyyb", false},
		{"*ab*ab*", "ab", false},
		{"*ab*ab*", "abab", true},
		{"**", "x", true},
		{"read?file", "read_file", false},
		{"[a]*", "[a]b", true},
	} {
		if got := MatchTool(tc.pattern, tc.name); got != tc.want {
			t.Errorf("%q against %q: %v", tc.pattern, tc.name, got)
		}
	}
}

func TestToolPatternsMatchAsANaiveMatcherSays(t *testing.T) {
	var naive func(pattern, name string) bool
	naive = func(pattern, name string) bool {
		switch {
		case pattern == "":
			return name == ""
		case pattern[0] == '*':
			return naive(pattern[1:], name) || (name != "" && naive(pattern, name[1:]))
		}
		return name != "" && pattern[0] == name[0] && naive(pattern[1:], name[1:])
	}
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,8}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[ab]{0,10}`).Draw(t, "name")
		if got, want := MatchTool(pattern, name), naive(pattern, name); got != want {
			t.Fatalf("%q against %q: %v, want %v", pattern, name, got, want)
		}
	})
}
