package transport

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookgate/hookgate/chain"
)

// sayer makes a binding whose participant answers every call with the given
// text.
type sayer func(t *testing.T, says string) chain.Binding

// bindings are the bindings whose answers are text. A new binding is one line
// here.
func bindings() map[string]sayer {
	return map[string]sayer{
		"command": saidByCommand,
		"worker":  saidByWorker,
		"webhook": saidByHTTP,
	}
}

// conforming is a text and what it must mean, over every binding.
type conforming struct {
	name  string
	event chain.Event // PreToolUse if unset
	says  string
	// want is its meaning, or cause the reason why it has none.
	want  chain.Outcome
	cause chain.Cause
	// code is the same answer as Go code returns it, or nil if it cannot be
	// expressed.
	code *chain.Outcome
	// lines says that the text has several lines, which is never a valid answer of
	// a worker.
	lines bool
}

// answers is the table that every binding must conform to.
func answers() []conforming {
	const pre, post = chain.PreToolUse, chain.PostToolUse
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	yes, no := true, false
	nested := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	code := func(o chain.Outcome) *chain.Outcome { return &o }
	allowed := chain.Outcome{Decision: chain.Allow}

	return []conforming{
		// Valid answers.
		{name: "allow", says: `{"decision":"allow"}`, want: allowed, code: code(allowed)},
		{name: "allow at post", event: post, says: `{"decision":"allow"}`, want: allowed, code: code(allowed)},
		{name: "allow with a reason", says: `{"decision":"allow","reason":"seen"}`, want: chain.Outcome{Decision: chain.Allow, Reason: "seen"}, code: code(chain.Outcome{Decision: chain.Allow, Reason: "seen"})},
		{name: "deny", says: `{"decision":"deny","reason":"not here"}`, want: chain.Outcome{Decision: chain.Deny, Reason: "not here"}, code: code(chain.Outcome{Decision: chain.Deny, Reason: "not here"})},
		{name: "deny at post", event: post, says: `{"decision":"deny"}`, want: chain.Outcome{Decision: chain.Deny}, code: code(chain.Outcome{Decision: chain.Deny})},
		{name: "deny without a reason", says: `{"decision":"deny"}`, want: chain.Outcome{Decision: chain.Deny}},
		{name: "deny with an empty reason", says: `{"decision":"deny","reason":""}`, want: chain.Outcome{Decision: chain.Deny}},
		{name: "deny with reason null", says: `{"decision":"deny","reason":null}`, want: chain.Outcome{Decision: chain.Deny}},
		{name: "deny with a reason that is no string", says: `{"decision":"deny","reason":{"a":1}}`, want: chain.Outcome{Decision: chain.Deny}},
		{name: "a reason with NUL and line breaks", says: `{"decision":"deny","reason":"a\u0000b\nc\u001b[2J"}`, want: chain.Outcome{Decision: chain.Deny, Reason: "a\x00b\nc\x1b[2J"}, code: code(chain.Outcome{Decision: chain.Deny, Reason: "a\x00b\nc\x1b[2J"})},
		{name: "modify", says: `{"decision":"modify","input":{"command":"echo safe"},"reason":"safer"}`, want: chain.Outcome{Decision: chain.Modify, Input: raw(`{"command":"echo safe"}`), Reason: "safer"}, code: code(chain.Outcome{Decision: chain.Modify, Input: raw(`{"command":"echo safe"}`), Reason: "safer"})},
		{name: "modify to an empty object", says: `{"decision":"modify","input":{}}`, want: chain.Outcome{Decision: chain.Modify, Input: raw(`{}`)}, code: code(chain.Outcome{Decision: chain.Modify, Input: raw(`{}`)})},
		{name: "replace", event: post, says: `{"decision":"replace","output":"gone","is_error":true}`, want: chain.Outcome{Decision: chain.Replace, Output: raw(`"gone"`), IsError: &yes}, code: code(chain.Outcome{Decision: chain.Replace, Output: raw(`"gone"`), IsError: &yes})},
		{name: "replace that leaves the claim", event: post, says: `{"decision":"replace","output":{"a":[1]}}`, want: chain.Outcome{Decision: chain.Replace, Output: raw(`{"a":[1]}`)}, code: code(chain.Outcome{Decision: chain.Replace, Output: raw(`{"a":[1]}`)})},
		{name: "replace with an empty string", event: post, says: `{"decision":"replace","output":"","is_error":false}`, want: chain.Outcome{Decision: chain.Replace, Output: raw(`""`), IsError: &no}, code: code(chain.Outcome{Decision: chain.Replace, Output: raw(`""`), IsError: &no})},
		{name: "replace with null", event: post, says: `{"decision":"replace","output":null}`, want: chain.Outcome{Decision: chain.Replace, Output: raw(`null`)}, code: code(chain.Outcome{Decision: chain.Replace, Output: raw(`null`)})},

		// Variants of the format.
		{name: "unknown fields", says: `{"v":7,"decision":"allow","grease-7f3a":[1,{"decision":"deny"}],"input":"x","output":1,"is_error":3}`, want: allowed},
		{name: "a name in escapes", says: `{"\u0064ecision":"allow"}`, want: allowed},
		{name: "a word in escapes", says: `{"decision":"\u0061llow"}`, want: allowed},
		{name: "blanks within the line", says: " \t{ \"decision\" :\t\"allow\" } \t", want: allowed},
		{name: "CRLF at the end", says: "{\"decision\":\"allow\"}\r\n", want: allowed},
		{name: "a line break at the end", says: "{\"decision\":\"allow\"}\n", want: allowed},
		{name: "blank lines around", says: "\r\n\n{\"decision\":\"allow\"}\n\n", want: allowed, lines: true},
		{name: "many lines", says: "{\r\n  \"decision\": \"modify\",\n  \"input\": {\n \"a\": 1 }\r\n}\r\n", want: chain.Outcome{Decision: chain.Modify, Input: raw("{\n \"a\": 1 }")}, lines: true},
		{name: "a variant of a known name is another name", says: `{"decision":"deny","Decision":"allow","REASON":"x"}`, want: chain.Outcome{Decision: chain.Deny}},
		{name: "10,000 levels", says: `{"decision":"allow","x":` + nested(9_999) + `}`, want: allowed},

		// Bytes are kept.
		{name: "numbers", says: `{"decision":"modify","input":{"z":9007199254740993,"big":1e400,"one":1.0,"neg":-0,"a":{"b":1,"B":2}}}`, want: chain.Outcome{Decision: chain.Modify, Input: raw(`{"z":9007199254740993,"big":1e400,"one":1.0,"neg":-0,"a":{"b":1,"B":2}}`)}, code: code(chain.Outcome{Decision: chain.Modify, Input: raw(`{"z":9007199254740993,"big":1e400,"one":1.0,"neg":-0,"a":{"b":1,"B":2}}`)})},
		{name: "angle brackets and line separators", says: "{\"decision\":\"modify\",\"input\":{\"c\":\"grep '<a>' x && echo \u2028 > y\"}}", want: chain.Outcome{Decision: chain.Modify, Input: raw("{\"c\":\"grep '<a>' x && echo \u2028 > y\"}")}, code: code(chain.Outcome{Decision: chain.Modify, Input: raw("{\"c\":\"grep '<a>' x && echo \u2028 > y\"}")})},
		{name: "escapes", says: `{"decision":"modify","input":{"c":"\u003c\/\u0000"}}`, want: chain.Outcome{Decision: chain.Modify, Input: raw(`{"c":"\u003c\/\u0000"}`)}, code: code(chain.Outcome{Decision: chain.Modify, Input: raw(`{"c":"\u003c\/\u0000"}`)})},
		{name: "a lone surrogate", says: `{"decision":"modify","input":{"c":"cat \ud83d"}}`, want: chain.Outcome{Decision: chain.Modify, Input: raw(`{"c":"cat \ud83d"}`)}, code: code(chain.Outcome{Decision: chain.Modify, Input: raw(`{"c":"cat \ud83d"}`)})},
		{name: "a large number as output", event: post, says: `{"decision":"replace","output":12345678901234567890.10}`, want: chain.Outcome{Decision: chain.Replace, Output: raw(`12345678901234567890.10`)}, code: code(chain.Outcome{Decision: chain.Replace, Output: raw(`12345678901234567890.10`)})},

		// Empty answers.
		{name: "nothing", says: "", cause: chain.Empty},
		{name: "blanks", says: " \t ", cause: chain.Empty},
		{name: "blank lines", says: " \n\r\n", cause: chain.Empty, lines: true},

		// Not exactly one object.
		{name: "two objects on a line", says: `{"decision":"allow"}{"decision":"allow"}`, cause: chain.Malformed},
		{name: "two objects on two lines", says: "{\"decision\":\"deny\"}\n{\"decision\":\"allow\"}\n", cause: chain.Malformed, lines: true},
		{name: "a log line first", says: "shell ready\n{\"decision\":\"allow\"}\n", cause: chain.Malformed, lines: true},
		{name: "trailing words", says: `{"decision":"allow"} ok`, cause: chain.Malformed},
		{name: "a trailing brace", says: `{"decision":"allow"}}`, cause: chain.Malformed},
		{name: "a trailing NUL", says: "{\"decision\":\"allow\"}\x00", cause: chain.Malformed},
		{name: "a byte order mark", says: "\ufeff{\"decision\":\"allow\"}", cause: chain.Malformed},
		{name: "UTF-16", says: "\xff\xfe{\x00\"\x00d\x00\"\x00:\x001\x00}\x00", cause: chain.Malformed},
		{name: "colours", says: "\x1b[32m{\"decision\":\"allow\"}\x1b[0m", cause: chain.Malformed},
		{name: "half an object", says: `{"decision":"al`, cause: chain.Malformed},
		{name: "a trailing comma", says: `{"decision":"allow",}`, cause: chain.Malformed},
		{name: "a comment", says: `{"decision":"allow" /* ok */}`, cause: chain.Malformed},
		{name: "single quotes", says: `{'decision': 'allow'}`, cause: chain.Malformed},
		{name: "NaN", says: `{"decision":"allow","score":NaN}`, cause: chain.Malformed},
		{name: "an array", says: `[{"decision":"allow"}]`, cause: chain.Malformed},
		{name: "a string", says: `"allow"`, cause: chain.Malformed},
		{name: "a number", says: `1`, cause: chain.Malformed},
		{name: "true", says: `true`, cause: chain.Malformed},
		{name: "null", says: `null`, cause: chain.Malformed},
		{name: "an object in a string", says: `"{\"decision\":\"allow\"}"`, cause: chain.Malformed},
		{name: "HTML", says: `<html><body>allow</body></html>`, cause: chain.Malformed},

		// An object that two readers could read differently.
		{name: "the decision twice", says: `{"decision":"allow","decision":"deny"}`, cause: chain.Malformed},
		{name: "the decision twice, once in escapes", says: `{"decision":"deny","\u0064ecision":"allow"}`, cause: chain.Malformed},
		{name: "an unknown field twice", says: `{"decision":"allow","x":1,"x":2}`, cause: chain.Malformed},
		{name: "a name twice inside the input", says: `{"decision":"modify","input":{"command":"echo safe","command":"rm -rf /"}}`, cause: chain.Malformed},
		{name: "a name twice inside an unknown field", says: `{"decision":"allow","x":[{"a":1,"a":2}]}`, cause: chain.Malformed},
		{name: "bytes that are not UTF-8", says: "{\"decision\":\"allow\",\"reason\":\"\xff\xfe\"}", cause: chain.Malformed},
		{name: "bytes that are not UTF-8 in a rewrite", says: "{\"decision\":\"modify\",\"input\":{\"c\":\"cat a\xffb\"}}", cause: chain.Malformed},
		{name: "a raw surrogate", says: "{\"decision\":\"allow\",\"reason\":\"\xed\xa0\xbd\"}", cause: chain.Malformed},
		{name: "10,001 levels", says: `{"decision":"allow","x":` + nested(10_000) + `}`, cause: chain.Malformed},
		{name: "nesting without end", says: `{"decision":"allow","x":` + strings.Repeat("[", 100_000), cause: chain.Malformed},

		// Without a decision.
		{name: "an empty object", says: `{}`, cause: chain.Malformed},
		{name: "the decision with a capital", says: `{"Decision":"allow"}`, cause: chain.Malformed},
		{name: "the decision with a long s", says: `{"deciſion":"allow"}`, cause: chain.Malformed},
		{name: "the decision one level down", says: `{"result":{"decision":"allow"}}`, cause: chain.Malformed},
		{name: "another dialect", says: `{"hookSpecificOutput":{"permissionDecision":"allow"},"continue":true}`, cause: chain.Malformed},
		{name: "decision null", says: `{"decision":null}`, cause: chain.Malformed},
		{name: "decision true", says: `{"decision":true}`, cause: chain.Malformed},
		{name: "decision in an array", says: `{"decision":["allow"]}`, cause: chain.Malformed},

		// An unknown decision.
		{name: "decision ask", says: `{"decision":"ask"}`, cause: chain.WrongDecision},
		{name: "decision ALLOW", says: `{"decision":"ALLOW"}`, cause: chain.WrongDecision},
		{name: "decision with a blank", says: `{"decision":"allow "}`, cause: chain.WrongDecision},
		{name: "decision with a look-alike", says: `{"decision":"аllow"}`, cause: chain.WrongDecision},
		{name: "decision with NUL", says: `{"decision":"allow\u0000"}`, cause: chain.WrongDecision},
		{name: "an empty decision", says: `{"decision":""}`, cause: chain.WrongDecision},
		{name: "replace before the call", event: pre, says: `{"decision":"replace","output":"x"}`, cause: chain.WrongDecision, code: code(chain.Outcome{Decision: chain.Replace, Output: raw(`"x"`)})},
		{name: "modify after the call", event: post, says: `{"decision":"modify","input":{}}`, cause: chain.WrongDecision, code: code(chain.Outcome{Decision: chain.Modify, Input: raw(`{}`)})},

		// An unusable rewrite.
		{name: "modify without an input", says: `{"decision":"modify"}`, cause: chain.Malformed},
		{name: "modify with a capital Input", says: `{"decision":"modify","Input":{"command":"rm -rf /"}}`, cause: chain.Malformed},
		{name: "modify to null", says: `{"decision":"modify","input":null}`, cause: chain.UnusableRewrite, code: code(chain.Outcome{Decision: chain.Modify, Input: raw(`null`)})},
		{name: "modify to a string", says: `{"decision":"modify","input":"echo safe"}`, cause: chain.UnusableRewrite, code: code(chain.Outcome{Decision: chain.Modify, Input: raw(`"echo safe"`)})},
		{name: "modify to an array", says: `{"decision":"modify","input":[{}]}`, cause: chain.UnusableRewrite, code: code(chain.Outcome{Decision: chain.Modify, Input: raw(`[{}]`)})},
		{name: "replace without an output", event: post, says: `{"decision":"replace"}`, cause: chain.Malformed, code: code(chain.Outcome{Decision: chain.Replace})},
		{name: "replace with a claim that is no boolean", event: post, says: `{"decision":"replace","output":"x","is_error":null}`, cause: chain.Malformed},
	}
}

func TestT1_EveryBindingReadsATextAlike(t *testing.T) {
	for _, c := range answers() {
		for name, says := range bindings() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				want := c
				if name == "worker" && c.lines {
					want.want, want.cause = chain.Outcome{}, chain.Worker
				}
				want.check(t, says(t, c.says))
			})
		}
		if c.code != nil {
			t.Run(c.name+"/in_process", func(t *testing.T) {
				c.check(t, newInProcess(t, InProcessOptions{Interceptor: returns(*c.code)}))
			})
		}
	}
}

// check asks the binding as the only participant of a chain, since the chain
// completes the checks of an answer.
func (c conforming) check(t *testing.T, b chain.Binding) {
	t.Helper()
	event := c.event
	if event == 0 {
		event = chain.PreToolUse
	}
	guard := &chain.Participant{Name: "guard", Binding: b, Events: chain.Events(), Timeout: plenty}
	only, err := chain.New(chain.Options{Name: "only", Participants: []*chain.Participant{guard}, Budget: 2 * plenty})
	if err != nil {
		t.Fatal(err)
	}
	v := only.Decide(t.Context(), request(t, event, `{"command":"rm -rf /"}`), 0)
	got := v.Steps[0].Answer
	if got.Failure != nil {
		if got.Failure.Cause != c.cause {
			t.Errorf("failed for %v (%s; %s), want %v", got.Failure.Cause, got.Failure.Text, got.Failure.Detail, c.cause)
		}
		if v.Outcome.Decision != chain.Deny {
			t.Errorf("the failure decided %v", v.Outcome.Decision)
		}
		return
	}
	if c.cause != chain.NoCause {
		t.Errorf("answered %v, want the failure %v", got.Outcome.Decision, c.cause)
	}
	if diff := cmp.Diff(c.want, got.Outcome, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}
