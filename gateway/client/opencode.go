package client

import "github.com/hookgate/hookgate/chain"

// opencode is opencode through the plugin in examples/. Tested with 1.18.33.
// The plugin is part of this project: its dialect is the contract's, with
// results in opencode's own shape.
func opencode() *Client {
	in := &fields{
		workspace: "workspace", agent: "agent_id", call: "tool_call_id", tool: "tool_name", input: "input", output: "output", failed: "is_error",
	}
	return &Client{
		title:   "opencode",
		eventAt: "event", expect: map[string]string{"hook_schema": "1"},
		events: []event{{
			name: "pre_tool_use", at: chain.PreToolUse, in: in,
			allow:  `{"decision":"allow"}`,
			deny:   `{"decision":"deny","reason":$reason}`,
			modify: `{"decision":"modify","input":$input}`,
		}, {
			name: "post_tool_use", at: chain.PostToolUse, in: in, shape: opencodeShape,
			allow:   `{"decision":"allow"}`,
			deny:    `{"decision":"deny","reason":$reason}`,
			replace: `{"decision":"replace","output":$output}`,
		}},
		refusal: `{"decision":"deny","reason":$reason}`,
		tools: map[string]string{
			"bash": shell, "read": readFile, "write": writeFile, "edit": editFile, "patch": editFile, "apply_patch": editFile, "webfetch": webFetch,
		},
	}
}
