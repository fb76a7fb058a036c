package client

import "github.com/hookgate/hookgate/chain"

// cursor is Cursor. Written from its documentation, not tested with it. It
// blocks the call if a hook before it gives no answer, so an allow cannot leave
// Cursor's own question to the user.
func cursor() *Client {
	in := &fields{
		workspace: "workspace_roots.0|cwd", agent: "conversation_id|session_id", call: "tool_use_id", tool: "tool_name", input: "tool_input",
		output: "tool_output", parsed: true, parsedOutput: true, mcpServer: "mcp_server_name", mcpTool: "tool_name",
	}
	command, file, failed := *in, *in, *in
	command.input, command.inputOf = "", []string{"command", "cwd"}
	file.input, file.inputOf = "", []string{"file_path"}
	failed.output, failed.parsedOutput = "error_message|error", false
	return &Client{
		title:   "Cursor",
		eventAt: "hook_event_name",
		events: append([]event{{
			name: "preToolUse", at: chain.PreToolUse, in: in,
			allow:  `{"permission":"allow"}`,
			deny:   `{"permission":"deny","user_message":$reason,"agent_message":$reason}`,
			modify: `{"permission":"allow","updated_input":$input}`,
		}, {
			name: "beforeShellExecution", at: chain.PreToolUse, in: &command, tool: "Shell",
			allow: `{"permission":"allow"}`,
			deny:  `{"permission":"deny","user_message":$reason,"agent_message":$reason}`,
		}, {
			name: "beforeMCPExecution", at: chain.PreToolUse, in: in,
			allow: `{"permission":"allow"}`,
			deny:  `{"permission":"deny","user_message":$reason,"agent_message":$reason}`,
		}, {
			name: "beforeReadFile", at: chain.PreToolUse, in: &file, tool: "Read",
			allow: `{"permission":"allow"}`,
			deny:  `{"permission":"deny","user_message":$reason}`,
		}, {
			name: "postToolUse", at: chain.PostToolUse, in: in, shape: cursorShape, stopShows: true,
			allow:   `{}`,
			deny:    `{"updated_mcp_tool_output":$output}`,
			replace: `{"updated_mcp_tool_output":$output}`,
			stop:    `{"additional_context":$reason}`,
		}, {
			name: "postToolUseFailure", at: chain.PostToolUse, in: &failed, failed: true, shows: true,
			allow: `{}`,
			deny:  `{"additional_context":$reason}`,
		}}, passing(`{}`, "sessionStart", "sessionEnd", "subagentStart", "subagentStop", "stop", "preCompact", "afterAgentResponse", "afterAgentThought")...),
		refusal: `{"permission":"deny","user_message":$reason,"agent_message":$reason}`,
		tools:   map[string]string{"Shell": shell, "Read": readFile, "Write": writeFile, "Edit": editFile, "WebFetch": webFetch},
		mcp:     mcpNames{prefix: "MCP", between: ":"},
	}
}
