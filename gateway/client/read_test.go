package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func client(t testing.TB, name string) *Client {
	t.Helper()
	c, ok := Find(name)
	if !ok {
		t.Fatalf("no client %s", name)
	}
	return c
}

func envelopeOf(t testing.TB, name, event, body string) string {
	t.Helper()
	call, err := client(t, name).Read(event, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return string(call.Request().JSON())
}

func TestD3_BytesAreKept(t *testing.T) {
	got := envelopeOf(t, "claude-code", "", `{"hook_event_name":"PostToolUse","session_id":"\ud83d<&>","cwd":"/w","tool_name":"x\u0041","tool_use_id":"t",`+
		`"tool_input": {"n":9007199254740993, "e" : 1e400,"z":1.0,"<":"\/"},"tool_response":[1.50 , "\ud83d"],"later":{"b":1,"a":[1E2]}}`)
	want := `{"hook_schema":1,"event":"post_tool_use","workspace":"/w","agent_id":"\ud83d<&>","tool_call_id":"t","tool_name":"x\u0041",` +
		`"input":{"n":9007199254740993, "e" : 1e400,"z":1.0,"<":"\/"},"output":[1.50 , "\ud83d"],"is_error":false,"client":"claude-code",` +
		`"hook_event_name":"PostToolUse","session_id":"\ud83d<&>","cwd":"/w","tool_use_id":"t","later":{"b":1,"a":[1E2]}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("envelope (-want +got):\n%s", diff)
	}
}

func TestD7_NoFieldOfTheClientTakesThePlaceOfOneOfTheEnvelope(t *testing.T) {
	got := envelopeOf(t, "gemini-cli", "", `{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"x","tool_input":{},"tool_call_id":"c",`+
		`"hook_schema":2,"event":"post_tool_use","workspace":"/evil","agent_id":"a","Tool_Name":"other","tool_alias":"harmless","input":{"x":1},"INPUT":2,"output":"o","is_error":true,"client":"me","client_input":3}`)
	want := `{"hook_schema":1,"event":"pre_tool_use","workspace":"","agent_id":"s","tool_call_id":"gemini-cli-` // made
	if !strings.HasPrefix(got, want) {
		t.Errorf("envelope %s", got)
	}
	rest := got[strings.Index(got, `"tool_name"`):]
	want = `"tool_name":"x","input":{},"client":"gemini-cli","hook_event_name":"BeforeTool","session_id":"s","client_tool_call_id":"c","client_hook_schema":2,` +
		`"client_event":"post_tool_use","client_workspace":"/evil","client_agent_id":"a","client_Tool_Name":"other","client_tool_alias":"harmless",` +
		`"client_client_input":{"x":1},"client_INPUT":2,"client_output":"o","client_is_error":true,"client_client":"me","client_input":3}`
	if diff := cmp.Diff(want, rest); diff != "" {
		t.Errorf("rest (-want +got):\n%s", diff)
	}
}

func TestD6_ACallAndItsResultHaveTheSameIds(t *testing.T) {
	ids := func(t *testing.T, name, event, body string) [2]string {
		t.Helper()
		call, err := client(t, name).Read(event, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if call.Request().ToolCallID() == "" || call.Request().AgentID() == "" {
			t.Errorf("%s: no id in %s", name, call.Request().JSON())
		}
		return [2]string{call.Request().AgentID(), call.Request().ToolCallID()}
	}
	for name, tc := range map[string]struct{ client, preEvent, postEvent, pre, post, other string }{
		"Copilot": {
			"copilot", "preToolUse", "postToolUse", `{"sessionId":"s","toolName":"bash","toolArgs":{"a":1}}`,
			`{"sessionId":"s","toolName":"bash","toolArgs":{"a":1},"toolResult":{"textResultForLlm":""}}`, `{"sessionId":"s","toolName":"bash","toolArgs":{"a":2}}`,
		},
		"Gemini CLI": {
			"gemini-cli", "", "", `{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"x","tool_input":{"a":1}}`,
			`{"hook_event_name":"AfterTool","session_id":"s","tool_name":"x","tool_input":{"a":1},"tool_response":{"llmContent":""}}`,
			`{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"y","tool_input":{"a":1}}`,
		},
		"Kiro": {
			"kiro", "", "", `{"hook_event_name":"preToolUse","cwd":"/w","tool_name":"x","tool_input":{}}`,
			`{"hook_event_name":"postToolUse","cwd":"/w","tool_name":"x","tool_input":{},"tool_response":{"success":true}}`,
			`{"hook_event_name":"preToolUse","cwd":"/w2","tool_name":"x","tool_input":{}}`,
		},
		"Cline": {
			"cline", "", "", `{"hookName":"PreToolUse","taskId":"t","preToolUse":{"toolName":"x","parameters":{"a":"1"}}}`,
			`{"hookName":"PostToolUse","taskId":"t","postToolUse":{"toolName":"x","parameters":{"a":"1"},"result":"r","success":true}}`,
			`{"hookName":"PreToolUse","taskId":"t2","preToolUse":{"toolName":"x","parameters":{"a":"1"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pre, post, other := ids(t, tc.client, tc.preEvent, tc.pre), ids(t, tc.client, tc.postEvent, tc.post), ids(t, tc.client, tc.preEvent, tc.other)
			if pre != post {
				t.Errorf("the call is %v, its result %v", pre, post)
			}
			if pre[1] == other[1] {
				t.Errorf("another call has the id %s too", pre[1])
			}
		})
	}
}

func TestD4_WhatCannotBeReadSaysWhy(t *testing.T) {
	for name, tc := range map[string]struct{ client, event, body, want string }{
		"nothing":                 {"claude-code", "", ``, `no JSON value`},
		"a list":                  {"claude-code", "", `[]`, `an array instead of an object`},
		"a name twice":            {"claude-code", "", `{"a":1,"a":2}`, `duplicate object member name "a"`},
		"a name twice, nested":    {"claude-code", "", `{"tool_input":{"a":1,"a":2}}`, `duplicate object member name "a" within "/tool_input"`},
		"more than one value":     {"claude-code", "", `{} {}`, `invalid character '{' after top-level value after offset 3`},
		"no event":                {"claude-code", "", `{}`, `neither the body nor the path names the event`},
		"an event of no type":     {"claude-code", "", `{"hook_event_name":1}`, `neither the body nor the path names the event`},
		"two events":              {"claude-code", "PreToolUse", `{"hook_event_name":"PostToolUse"}`, `the path names the event "PreToolUse", but the body names "PostToolUse"`},
		"an unknown event":        {"codex", "", `{"hook_event_name":"preToolUse"}`, `event "preToolUse" is not known for Codex: known are PreToolUse, PermissionRequest, PostToolUse`},
		"no tool":                 {"codex", "", `{"hook_event_name":"PreToolUse","tool_input":{}}`, `event PreToolUse: tool_name, which names the tool, is not a string`},
		"a tool of no type":       {"codex", "", `{"hook_event_name":"PreToolUse","tool_name":{},"tool_input":{}}`, `event PreToolUse: tool_name, which names the tool, is not a string`},
		"an empty tool":           {"codex", "", `{"hook_event_name":"PreToolUse","tool_name":"","tool_input":{}}`, `is empty: a call must name its tool`},
		"no input":                {"codex", "", `{"hook_event_name":"PreToolUse","tool_name":"x"}`, `event PreToolUse: tool_input is missing: it is the tool's input`},
		"no result":               {"codex", "", `{"hook_event_name":"PostToolUse","tool_name":"x","tool_input":{}}`, `event PostToolUse: tool_response is missing: it is the tool's result`},
		"an id of no type":        {"codex", "", `{"hook_event_name":"PreToolUse","tool_name":"x","tool_input":{},"tool_use_id":[]}`, `event PreToolUse: tool_use_id, which is the tool_call_id, is neither a string nor a number`},
		"a session of no type":    {"codex", "", `{"hook_event_name":"PreToolUse","tool_name":"x","tool_input":{},"session_id":{}}`, `which is the agent_id, is neither a string nor a number`},
		"a directory of no type":  {"codex", "", `{"hook_event_name":"PreToolUse","tool_name":"x","tool_input":{},"cwd":true}`, `event PreToolUse: cwd, which is the workspace, is neither a string nor a number`},
		"no parts of an input":    {"cursor", "", `{"hook_event_name":"beforeShellExecution"}`, `all of command, cwd are missing: they are the tool's input`},
		"an envelope of tomorrow": {"opencode", "", `{"hook_schema":2,"event":"pre_tool_use","tool_name":"x","input":{}}`, `hook_schema is 2: the gateway supports 1`},
		"another interceptor":     {"agentcore", "", `{"interceptorInputVersion":"2.0","mcp":{"gatewayRequest":{"body":{"method":"tools/call","params":{"name":"x"}}}}}`, `interceptorInputVersion is "2.0": the gateway supports "1.0"`},
		"a batch":                 {"agentcore", "", `{"mcp":{"gatewayRequest":{"body":[{"method":"tools/call"}]}}}`, `neither the body nor the path names the event`},
		"a batch behind Envoy":    {"envoy-ext-authz", "mcp", `[{"method":"tools/call"}]`, `an array instead of an object`},
		"no method behind Envoy":  {"envoy-ext-authz", "mcp", `{"params":{"name":"x"}}`, `neither the body nor the path names the event`},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, tc.client)
			call, err := c.Read(tc.event, []byte(tc.body))
			if err == nil {
				t.Fatalf("read as %+v", call)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q, want %q", err, tc.want)
			}
			_, refusal := c.ReadOrRefuse(tc.event, []byte(tc.body), error.Error)
			if diff := cmp.Diff(c.Refuse(tc.event, []byte(tc.body), err.Error()), refusal); diff != "" || refusal.Decision != chain.Deny {
				t.Errorf("refused while it is read (-afterwards +then):\n%s", diff)
			}
			if a := c.Refuse(tc.event, []byte(tc.body), "the gateway is not there"); a.Decision != chain.Deny || !strings.Contains(string(a.Body), "the gateway is not there") {
				t.Errorf("refused as %+v", a)
			}
		})
	}
}

func TestD4_TheDenyOfAnUnknownEventIsOneThatEveryEventObeys(t *testing.T) {
	for _, c := range All() {
		a := c.Refuse("", nil, "the gateway is not there")
		o, err := readObject(a.Body)
		if err != nil || a.Decision != chain.Deny {
			t.Fatalf("%s: %+v, %v", c.Name(), a, err)
		}
		// If an event's own deny has no nested object, the deny for unknown
		// events contains its members.
		for i := range c.events {
			e := &c.events[i]
			if e.at != chain.PreToolUse || strings.Contains(string(e.deny), "hookSpecificOutput") {
				continue
			}
			deny, err := readObject(e.deny.fill(values{reason: "the gateway is not there"}))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range deny {
				if string(o.member(m.name)) != string(m.value) {
					t.Errorf("%s: %s is denied with %s, no event without its %s: %s", c.Name(), e.name, e.deny, m.name, a.Body)
				}
			}
		}
	}
}

func TestResultsThatAreErrorsAreSeen(t *testing.T) {
	for name, tc := range map[string]struct {
		client, body string
		want         bool
	}{
		"Gemini CLI":        {"gemini-cli", `{"hook_event_name":"AfterTool","tool_name":"x","tool_input":{},"tool_response":{"llmContent":"","error":{"message":"m"}}}`, true},
		"Gemini CLI, none":  {"gemini-cli", `{"hook_event_name":"AfterTool","tool_name":"x","tool_input":{},"tool_response":{"llmContent":"","error":null}}`, false},
		"Cline":             {"cline", `{"hookName":"PostToolUse","postToolUse":{"toolName":"x","result":"r","success":false}}`, true},
		"Cline, none":       {"cline", `{"hookName":"PostToolUse","postToolUse":{"toolName":"x","result":"r","success":true}}`, false},
		"opencode":          {"opencode", `{"hook_schema":1,"event":"post_tool_use","tool_name":"x","input":{},"output":"","is_error":true}`, true},
		"opencode, none":    {"opencode", `{"hook_schema":1,"event":"post_tool_use","tool_name":"x","input":{},"output":"","is_error":false}`, false},
		"Claude Code":       {"claude-code", `{"hook_event_name":"PostToolUseFailure","tool_name":"x","tool_input":{},"error":"e"}`, true},
		"a result of null":  {"claude-code", `{"hook_event_name":"PostToolUse","tool_name":"x","tool_input":{},"tool_response":null}`, false},
		"AgentCore, result": {"agentcore", `{"mcp":{"gatewayRequest":{"body":{"id":1,"method":"tools/call","params":{"name":"x"}}},"gatewayResponse":{"body":{"result":{"isError":true}}}}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			call, err := client(t, tc.client).Read("", []byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if call.Request().IsError() != tc.want {
				t.Errorf("is_error %v in %s", call.Request().IsError(), call.Request().JSON())
			}
		})
	}
}

func TestAnInputThatIsTextOfAnObjectIsThatObject(t *testing.T) {
	for text, want := range map[string]string{
		`"{\"a\":9007199254740993}"`: `{"a":9007199254740993}`,
		`" {} "`:                     `{}`,
		`"{\"a\":1,\"a\":2}"`:        `"{\"a\":1,\"a\":2}"`,
		`"{cut"`:                     `"{cut"`,
		`"[1]"`:                      `"[1]"`,
		`"text"`:                     `"text"`,
		`{"a":1}`:                    `{"a":1}`,
	} {
		call, err := client(t, "copilot").Read("preToolUse", fmt.Appendf(nil, `{"sessionId":"s","toolName":"x","toolArgs":%s}`, text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(call.Request().Input()); got != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
}

func TestAResultThatIsATextStaysOne(t *testing.T) {
	for name, body := range map[string]string{
		"copilot": `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"x","tool_input":"{}","tool_result":{"text_result_for_llm":"{\"a\":1}"}}`,
		"cline":   `{"hookName":"PostToolUse","taskId":"t","postToolUse":{"toolName":"x","parameters":{},"result":"{\"a\":1}","success":true}}`,
		"codex":   `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"x","tool_input":{},"tool_response":"{\"a\":1}"}`,
	} {
		if got := envelopeOf(t, name, "", body); !strings.Contains(got, `"output":"{\"a\":1}"`) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := envelopeOf(t, "cursor", "", `{"hook_event_name":"postToolUse","tool_name":"x","tool_input":{},"tool_output":"{\"output\":1.0}"}`); !strings.Contains(got, `"output":{"output":1.0}`) {
		t.Errorf("cursor: %s", got)
	}
}

func TestAMemberWithoutANameIsNoFieldOfTheEnvelope(t *testing.T) {
	got := envelopeOf(t, "gemini-cli", "", `{"":"other","hook_event_name":"AfterTool","session_id":"s","tool_name":"x","tool_input":{},"tool_response":{"llmContent":"r"}}`)
	if !strings.Contains(got, `"tool_call_id":"gemini-cli-`) || !strings.Contains(got, `"":"other"`) {
		t.Errorf("envelope %s", got)
	}
}

func TestWhatAModelPutsIntoAnInputMakesNoOtherToolOfIt(t *testing.T) {
	got := envelopeOf(t, "cline", "", `{"hookName":"PreToolUse","taskId":"t","preToolUse":{"toolName":"execute_command",`+
		`"parameters":{"command":"git push --force","server_name":"harmless","tool_name":"echo","arguments":"{}"}}}`)
	for _, want := range []string{`"tool_name":"execute_command","tool_alias":"shell"`, `"input":{"command":"git push --force",`} {
		if !strings.Contains(got, want) {
			t.Errorf("envelope %s has no %s", got, want)
		}
	}
}

// The guarded request is forwarded to a server that may ignore case in names and
// use the last duplicate.
func TestD4_ACallForAServerHasItsNamesInOneCaseAlone(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"Name":"x"}}%s}`
	bodies := map[string]struct{ body, field string }{
		"the method":    {`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"x"}}`, "Method"},
		"the method, ſ": {`{"id":1,"method":"ping","paramſ":{"name":"x"}}`, "paramſ"},
		"the tool":      {`{"id":1,"method":"tools/call","params":{"name":"read","NAME":"drop"}}`, "NAME"},
		"the input":     {`{"id":1,"method":"tools/call","params":{"name":"read","arguments":{},"Arguments":{"all":true}}}`, "Arguments"},
		"the call":      {fmt.Sprintf(call, `,"Params":{"name":"drop"}`), "Params"},
		"its id":        {fmt.Sprintf(call, `,"ID":2`), "ID"},
	}
	for name, tc := range bodies {
		for agent, body := range map[string]string{
			"envoy-ext-authz": tc.body,
			"agentcore":       `{"interceptorInputVersion":"1.0","mcp":{"gatewayRequest":{"body":` + tc.body + `}}}`,
		} {
			t.Run(agent+", "+name, func(t *testing.T) {
				got, err := client(t, agent).Read("", []byte(body))
				if err == nil {
					t.Fatalf("read as %+v", got)
				}
				if want := fmt.Sprintf("field %q differs from ", tc.field); !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q", err, want)
				}
				if a := client(t, agent).Refuse("", []byte(body), "no"); a.Decision != chain.Deny {
					t.Errorf("refused as %+v", a)
				}
			})
		}
	}
	if got := envelopeOf(t, "envoy-ext-authz", "", fmt.Sprintf(call, ``)); !strings.Contains(got, `"input":{"Name":"x"}`) {
		t.Errorf("envelope %s", got)
	}
	result := `{"interceptorInputVersion":"1.0","mcp":{"gatewayRequest":{"body":{"id":1,"method":"tools/call","params":{"name":"x"}}},` +
		`"gatewayResponse":{"body":{"result":{"content":[],"Content":[{"type":"text","text":"a key"}]}}}}}`
	if got, err := client(t, "agentcore").Read("", []byte(result)); err == nil {
		t.Errorf("read as %+v", got)
	}
}

func TestAToolOfAServerIsNotTakenForABuiltInOneOfItsName(t *testing.T) {
	for name, tc := range map[string]struct{ client, body, want string }{
		"Cursor":     {"cursor", `{"hook_event_name":"beforeMCPExecution","tool_name":"Shell","tool_input":"{}","mcp_server_name":"other"}`, `"tool_name":"Shell","tool_alias":"mcp__other__Shell"`},
		"Gemini CLI": {"gemini-cli", `{"hook_event_name":"BeforeTool","tool_name":"read_file","tool_input":{},"mcp_context":{"server_name":"other","tool_name":"read_file"}}`, `"tool_name":"read_file","tool_alias":"mcp__other__read_file"`},
		"Windsurf":   {"windsurf", `{"agent_action_name":"pre_mcp_tool_use","tool_info":{"mcp_server_name":"other","mcp_tool_name":"run_command","mcp_tool_arguments":{}}}`, `"tool_name":"run_command","tool_alias":"mcp__other__run_command"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := envelopeOf(t, tc.client, "", tc.body); !strings.Contains(got, tc.want) {
				t.Errorf("envelope %s has no %s", got, tc.want)
			}
		})
	}
}

func TestAValueIsParsedOnceHoweverManyPathsLeadThroughIt(t *testing.T) {
	o, err := readObject([]byte(`{"a":{"b":{"c":1,"d":[{"e":2}]}},"n":null,"s":"{}"}`))
	if err != nil {
		t.Fatal(err)
	}
	for way, want := range map[string]string{"a.b.c": "1", "a.b.d.0.e": "2", "a.b.d.1": "", "a.b.d.x": "", "a.b.c.x": "", "n.x": "", "s.x": "", "x.y": ""} {
		if got := string(o.follow(way)); got != want {
			t.Errorf("%s leads to %q, want %q", way, got, want)
		}
	}
	b := o.at("a").object().at("b")
	first := b.object()
	if second := b.object(); &first[0] != &second[0] {
		t.Error("a value is parsed anew")
	}
}
