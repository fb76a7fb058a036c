package client

import "github.com/hookgate/hookgate/chain"

// kiro is the Kiro CLI and its predecessor, the Amazon Q CLI. Written from its
// documentation, not tested with it. Its hooks are commands that deny a call
// with exit code 2 and cannot affect the result; it identifies neither the agent
// nor the call.
func kiro() *Client {
	in := &fields{
		workspace: "cwd", tool: "tool_name", input: "tool_input", noInput: true, output: "tool_response", succeeded: "tool_response.success",
	}
	return &Client{
		title: "Kiro", command: exitCode,
		eventAt: "hook_event_name",
		events: append([]event{
			byExitCode("preToolUse", chain.PreToolUse, "", in),
			byExitCode("postToolUse", chain.PostToolUse, "", in),
		}, passing(`{"decision":"allow"}`, "agentSpawn", "userPromptSubmit", "stop")...),
		refusal: `{"decision":"deny","reason":$reason}`,
		tools: map[string]string{
			"execute_bash": shell, "execute_cmd": shell, "shell": shell, "fs_read": readFile, "read": readFile, "fs_write": writeFile, "write": writeFile, "web_fetch": webFetch,
		},
		mcp: mcpNames{prefix: "@", between: "/"},
	}
}
