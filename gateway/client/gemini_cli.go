package client

import "github.com/hookgate/hookgate/chain"

// geminiCLI is the Gemini CLI. Tested with 0.61.0. It does not identify calls,
// merges a changed input into the old one, and shows a replaced result as an
// error.
func geminiCLI() *Client {
	in := &fields{
		workspace: "cwd", agent: "session_id", tool: "tool_name", input: "tool_input",
		output: "tool_response.llmContent|tool_response.returnDisplay", failed: "tool_response.error",
		mcpServer: "mcp_context.server_name", mcpTool: "mcp_context.tool_name",
	}
	return &Client{
		title:   "Gemini CLI",
		eventAt: "hook_event_name",
		events: append([]event{{
			name: "BeforeTool", at: chain.PreToolUse, in: in, merges: true,
			allow:         `{}`,
			explicitAllow: `{"decision":"allow"}`,
			deny:          `{"decision":"deny","reason":$reason}`,
			modify:        `{"hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":$input}}`,
		}, {
			name: "AfterTool", at: chain.PostToolUse, in: in,
			allow:   `{}`,
			deny:    `{"decision":"deny","reason":$reason}`,
			replace: `{"decision":"deny","reason":$text}`,
		}}, passing(`{}`,
			"SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "PreCompress", "Notification",
		)...),
		refusal: `{"decision":"deny","reason":$reason}`,
		tools: map[string]string{
			"run_shell_command": shell, "read_file": readFile, "read_many_files": readFile, "write_file": writeFile, "replace": editFile, "web_fetch": webFetch,
		},
	}
}
