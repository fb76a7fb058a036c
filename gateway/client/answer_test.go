package client

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func answerOf(t *testing.T, name, body string, o chain.Outcome) Answer {
	t.Helper()
	call, err := client(t, name).Read("", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return call.Answer(o, false)
}

const claudePost = `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Read","tool_input":{},` +
	`"tool_response":{"type":"text","file":{"filePath":"/a","content":"SECRET","numLines":1,"more":[1,"x"]}}}`

func TestD1_AResultOfAnotherShapeThanTheToolsOwnIsWithheld(t *testing.T) {
	replaced := func(output string) chain.Outcome {
		return chain.Outcome{Decision: chain.Replace, Output: json.RawMessage(output), Reason: "hook 'dlp'"}
	}
	stopped := `{"continue":false,"stopReason":"withheld, because Claude Code cannot show this replacement for a result of this tool: hook 'dlp'"}`
	for name, tc := range map[string]struct{ output, want string }{
		"the same shape": {
			`{"type":"text","file":{"filePath":"/a","content":"***","numLines":2,"more":[9,"y"]}}`,
			`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"type":"text","file":{"filePath":"/a","content":"***","numLines":2,"more":[9,"y"]}}}}`,
		},
		"more than the shape": {
			`{"type":"text","file":{"filePath":"/a","content":"***","numLines":2,"more":[9,"y"]},"note":1}`,
			`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"type":"text","file":{"filePath":"/a","content":"***","numLines":2,"more":[9,"y"]},"note":1}}}`,
		},
		"in another order": {
			`{"file":{"numLines":1,"more":[1,"x"],"content":"","filePath":""},"type":"text"}`,
			`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"file":{"numLines":1,"more":[1,"x"],"content":"","filePath":""},"type":"text"}}}`,
		},
		"a number beyond all bounds": {
			`{"type":"text","file":{"filePath":"/a","content":"","numLines":1e400,"more":[1,"x"]}}`,
			`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"type":"text","file":{"filePath":"/a","content":"","numLines":1e400,"more":[1,"x"]}}}}`,
		},
		"a null for a text":   {`{"type":"text","file":{"filePath":"/a","content":null,"numLines":1,"more":[1,"x"]}}`, stopped},
		"a text":              {`"***"`, stopped},
		"a member less":       {`{"type":"text","file":{"filePath":"/a","content":"***","numLines":1}}`, stopped},
		"another kind inside": {`{"type":"text","file":{"filePath":"/a","content":0,"numLines":1,"more":[1,"x"]}}`, stopped},
		"an element less":     {`{"type":"text","file":{"filePath":"/a","content":"","numLines":1,"more":[1]}}`, stopped},
		"an element more":     {`{"type":"text","file":{"filePath":"/a","content":"","numLines":1,"more":[1,"x",2]}}`, stopped},
		"another element":     {`{"type":"text","file":{"filePath":"/a","content":"","numLines":1,"more":[1,2]}}`, stopped},
		"another type of it":  {`{"type":"image","file":{"filePath":"/a","content":"","numLines":1,"more":[1,"x"]}}`, stopped},
	} {
		t.Run(name, func(t *testing.T) {
			a := answerOf(t, "claude-code", claudePost, replaced(tc.output))
			if diff := cmp.Diff(tc.want, string(a.Body)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if degraded := tc.want == stopped; (a.Degraded == chain.Replace) != degraded {
				t.Errorf("degraded from %v", a.Degraded)
			}
		})
	}
}

func TestTheDepthOfAResultCostsNothing(t *testing.T) {
	deep := strings.Repeat("[", 5000) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("]", 5000)
	body := `{"hook_schema":1,"event":"post_tool_use","tool_name":"x","input":{},"output":{"title":"","output":"SECRET","metadata":` + deep + `}}`
	a := answerOf(t, "opencode", body, chain.Outcome{Decision: chain.Replace, Output: json.RawMessage(`{"title":"","output":"***","metadata":` + deep + `}`)})
	if a.Decision != chain.Replace || a.Degraded != chain.Undecided {
		t.Errorf("answered %v, degraded from %v", a.Decision, a.Degraded)
	}
}

func TestD1_AResultWithMoreValuesThanAreComparedIsWithheld(t *testing.T) {
	values := func(n int) string { return `{"a":[0` + strings.Repeat(",0", n-3) + `]}` } // n values with the object and the array
	for n, want := range map[int]chain.Decision{mostValues: chain.Replace, mostValues + 1: chain.Deny} {
		body := `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Read","tool_input":{},"tool_response":` + values(n) + `}`
		now := strings.Replace(values(n), "0", "1", 1)
		a := answerOf(t, "claude-code", body, chain.Outcome{Decision: chain.Replace, Output: json.RawMessage(now)})
		if a.Decision != want || (a.Degraded == chain.Replace) != (want == chain.Deny) {
			t.Errorf("%d values: answered %v, degraded from %v", n, a.Decision, a.Degraded)
		}
	}
}

func TestD1_ADenyOfAResultWhoseShapeIsNotKnownEndsTheTurn(t *testing.T) {
	a := answerOf(t, "claude-code", claudePost, chain.Outcome{Decision: chain.Deny, Reason: "not for you"})
	if want := `{"continue":false,"stopReason":"not for you"}`; string(a.Body) != want || a.Degraded != chain.Undecided {
		t.Errorf("answer %s, degraded from %v", a.Body, a.Degraded)
	}
	a = answerOf(t, "claude-code", strings.Replace(claudePost, `"Read"`, `"mcp__git__log"`, 1), chain.Outcome{Decision: chain.Deny, Reason: "not for you"})
	if want := `{"decision":"block","reason":"not for you","hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":"not for you"}}`; string(a.Body) != want {
		t.Errorf("answer %s", a.Body)
	}
}

func TestD1_WhatWouldBeNoAnswerToAClientIsSaidInWords(t *testing.T) {
	body := `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_input":{},"tool_response":"x"}`
	for _, blank := range []string{`""`, `"\n \t"`} { // a deny without a reason breaks the schema of Codex, and is open
		a := answerOf(t, "codex", body, chain.Outcome{Decision: chain.Replace, Output: json.RawMessage(blank)})
		if want := `{"decision":"block","reason":"[empty]"}`; string(a.Body) != want {
			t.Errorf("%s is answered %s", blank, a.Body)
		}
	}
	a := answerOf(t, "codex", body, chain.Outcome{Decision: chain.Deny, Reason: " "})
	if want := `{"decision":"block","reason":"denied"}`; string(a.Body) != want {
		t.Errorf("answered %s", a.Body)
	}
}

func TestARewriteThatChangesNothingIsAnAllow(t *testing.T) {
	pre := `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"x","tool_input":{"a":1}}`
	if a := answerOf(t, "qwen-code", pre, chain.Outcome{Decision: chain.Modify, Input: json.RawMessage(`{"a":1}`)}); a.Decision != chain.Allow || string(a.Body) != `{}` {
		t.Errorf("answer %+v", a)
	}
	post := `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"x","tool_input":{},"tool_response":{"llmContent":"x"}}`
	no, yes := false, true
	if a := answerOf(t, "qwen-code", post, chain.Outcome{Decision: chain.Replace, Output: json.RawMessage(`"x"`), IsError: &no}); a.Decision != chain.Allow || string(a.Body) != `{}` {
		t.Errorf("answer %+v", a)
	}
	if a := answerOf(t, "qwen-code", post, chain.Outcome{Decision: chain.Replace, Output: json.RawMessage(`"x"`), IsError: &yes}); a.Decision != chain.Deny {
		t.Errorf("answer %+v", a)
	}
}

func TestNothingOfAValueIsTakenForAPlace(t *testing.T) {
	a := answerOf(t, "codex", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"x","tool_input":{}}`,
		chain.Outcome{Decision: chain.Deny, Reason: `$input $reason "$output"`})
	want := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"$input $reason \"$output\""}}`
	if string(a.Body) != want {
		t.Errorf("answer %s", a.Body)
	}
}

func TestAnInputIsPutWhereItWas(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":1,"params":{"name":"x","arguments":{"a":1},"_meta":1.0},"method":"m"}`: `{"id":1,"params":{"name":"x","arguments":{"b":2},"_meta":1.0},"method":"m"}`,
		`{"params":{"name":"x"}}`: `{"params":{"name":"x","arguments":{"b":2}}}`,
		`{}`:                      `{"params":{"arguments":{"b":2}}}`,
	} {
		if got := string(with(json.RawMessage(body), "params.arguments", json.RawMessage(`{"b":2}`))); got != want {
			t.Errorf("%s became %s, want %s", body, got, want)
		}
	}
}

func TestACommandRelaysOnlyWhatAGatewaySaid(t *testing.T) {
	for name, tc := range map[string]struct {
		client, decision, body string
		want                   Command
		err                    string
	}{
		"an allow":                 {client: "codex", decision: "allow", body: `{}`, want: Command{Stdout: []byte(`{}`)}},
		"a deny":                   {client: "codex", decision: "deny", body: `{"decision":"block","reason":"r"}`, want: Command{Stdout: []byte(`{"decision":"block","reason":"r"}`)}},
		"an allow that is silence": {client: "goose", decision: "allow", body: `{}`},
		"an allow by exit code":    {client: "kiro", decision: "allow", body: `{"decision":"allow"}`},
		"a deny by exit code":      {client: "kiro", decision: "deny", body: `{"decision":"deny","reason":"r"}`, want: Command{Exit: 2, Stderr: []byte("r\n")}},
		"a deny without a reason":  {client: "kiro", decision: "deny", body: `{"decision":"deny"}`, want: Command{Exit: 2, Stderr: []byte("denied\n")}},
		"no decision":              {client: "codex", body: `{}`, err: `the header X-Hookgate-Decision of the answer is not a decision: ""`},
		"no such decision":         {client: "codex", decision: "Allow", body: `{}`, err: `the header X-Hookgate-Decision of the answer is not a decision: "Allow"`},
		"a deny with an allow":     {client: "claude-code", decision: "deny", body: `{}`, err: `the header X-Hookgate-Decision of the answer is "deny", and its body says something else`},
		"the same, said":           {client: "kiro", decision: "deny", body: `{"decision":"allow"}`, err: `the header X-Hookgate-Decision of the answer is "deny", and its body says something else`},
		"an allow with a deny":     {client: "goose", decision: "allow", body: `{"decision":"block"}`, err: `the header X-Hookgate-Decision of the answer is "allow", and its body says something else`},
		"nothing":                  {client: "codex", decision: "allow", err: `the answer is not a JSON object: no JSON value`},
		"a cut answer":             {client: "codex", decision: "allow", body: `{"a":`, err: `the answer is not a JSON object: the JSON text is cut short`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := client(t, tc.client).Relay(tc.decision, []byte(tc.body))
			if (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
		})
	}
}
