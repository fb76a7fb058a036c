package client

import "github.com/hookgate/hookgate/chain"

// windsurf is Windsurf Cascade. Written from its documentation, not tested with
// it. Its hooks are commands that deny a call with exit code 2 and cannot affect
// the result; over HTTP they are answered in the contract's own format.
func windsurf() *Client {
	base := fields{agent: "trajectory_id", call: "execution_id", workspace: "tool_info.cwd"}
	command, write, read, mcp := base, base, base, base
	command.inputOf, command.output = []string{"tool_info.command_line", "tool_info.cwd"}, "tool_info.output|tool_info"
	write.inputOf, write.output = []string{"tool_info.file_path", "tool_info.edits"}, "tool_info"
	read.inputOf, read.output = []string{"tool_info.file_path"}, "tool_info.content|tool_info"
	mcp.tool, mcp.input, mcp.noInput, mcp.output = "tool_info.mcp_tool_name", "tool_info.mcp_tool_arguments", true, "tool_info.mcp_result|tool_info"
	mcp.mcpServer, mcp.mcpTool = "tool_info.mcp_server_name", "tool_info.mcp_tool_name"
	return &Client{
		title: "Windsurf", command: exitCode,
		eventAt: "agent_action_name",
		events: append([]event{
			byExitCode("pre_run_command", chain.PreToolUse, "run_command", &command),
			byExitCode("pre_write_code", chain.PreToolUse, "write_code", &write),
			byExitCode("pre_read_code", chain.PreToolUse, "read_code", &read),
			byExitCode("pre_mcp_tool_use", chain.PreToolUse, "", &mcp),
			byExitCode("post_run_command", chain.PostToolUse, "run_command", &command),
			byExitCode("post_write_code", chain.PostToolUse, "write_code", &write),
			byExitCode("post_read_code", chain.PostToolUse, "read_code", &read),
			byExitCode("post_mcp_tool_use", chain.PostToolUse, "", &mcp),
		}, passing(`{"decision":"allow"}`, "pre_user_prompt", "post_cascade_response", "post_setup_worktree")...),
		refusal: `{"decision":"deny","reason":$reason}`,
		tools:   map[string]string{"run_command": shell, "write_code": writeFile, "read_code": readFile},
	}
}

// byExitCode is an event whose hooks answer by exit code: a hook before the call
// can deny it, one after it can do nothing. The body is for gateway ask.
func byExitCode(name string, at chain.Event, tool string, in *fields) event {
	return event{
		name: name, at: at, in: in, tool: tool, shows: at == chain.PostToolUse,
		allow: `{"decision":"allow"}`,
		deny:  `{"decision":"deny","reason":$reason}`,
	}
}
