package guard

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/hookgate/hookgate/chain"
)

// newGuard returns a guard with options given as JSON text.
func newGuard(tb testing.TB, use string, with map[string]string) Guard {
	tb.Helper()
	given := map[string]json.RawMessage{}
	for name, value := range with {
		given[name] = json.RawMessage(value)
	}
	g, err := New(Options{Use: use, With: given})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// call returns a tool call in the workspace /home/dev/ws.
func call(tb testing.TB, tool, input string) *chain.Request {
	tb.Helper()
	return callIn(tb, "/home/dev/ws", tool, input)
}

func callIn(tb testing.TB, workspace, tool, input string) *chain.Request {
	tb.Helper()
	text := []byte(`{"hook_schema":1,"event":"pre_tool_use","agent_id":"a","tool_call_id":"c","workspace":`)
	text = chain.AppendString(text, workspace)
	text = append(text, `,"tool_name":`...)
	text = chain.AppendString(text, tool)
	text = append(text, `,"input":`...)
	text = append(text, input...)
	return parsed(tb, append(text, '}'))
}

// result returns the result of a call.
func result(tb testing.TB, output string) *chain.Request {
	tb.Helper()
	return parsed(tb, []byte(`{"hook_schema":1,"event":"post_tool_use","agent_id":"a","tool_call_id":"c","workspace":"/w",`+
		`"tool_name":"Bash","input":{},"output":`+output+`,"is_error":false}`))
}

func parsed(tb testing.TB, text []byte) *chain.Request {
	tb.Helper()
	req, err := chain.ParseRequest(text)
	if err != nil {
		tb.Fatalf("%v in %.200s", err, text)
	}
	return req
}

// shellInput is the input of a shell tool.
func shellInput(command string) string {
	return string(chain.AppendString([]byte(`{"command":`), command)) + "}"
}

// said returns a guard's reason, "" for an allow.
func said(tb testing.TB, g Guard, req *chain.Request) string {
	tb.Helper()
	o, err := g.Intercept(context.Background(), req)
	switch {
	case err != nil:
		tb.Fatal(err)
	case o.Decision == chain.Allow && o.Reason == "":
		return ""
	case o.Decision != chain.Deny || o.Reason == "":
		tb.Fatalf("answered %+v, which is neither a plain allow nor a deny with a reason", o)
	}
	return o.Reason
}
