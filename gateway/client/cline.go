package client

import "github.com/hookgate/hookgate/chain"

// cline is Cline. Written from its documentation, not tested with it. A result
// cannot be changed.
func cline() *Client {
	before, after := clineFields("preToolUse"), clineFields("postToolUse")
	after.output, after.succeeded = "postToolUse.result", "postToolUse.success"
	return &Client{
		title:   "Cline",
		eventAt: "hookName",
		events: append([]event{{
			name: "PreToolUse", at: chain.PreToolUse, in: before,
			allow: `{"cancel":false}`,
			deny:  `{"cancel":true,"errorMessage":$reason}`,
		}, {
			name: "PostToolUse", at: chain.PostToolUse, in: after, shows: true,
			allow: `{"cancel":false}`,
			deny:  `{"cancel":true,"errorMessage":$reason}`,
		}}, passing(`{"cancel":false}`, "TaskStart", "TaskResume", "TaskCancel", "TaskComplete", "UserPromptSubmit", "PreCompact")...),
		refusal: `{"cancel":true,"errorMessage":$reason}`,
		tools: map[string]string{
			"execute_command": shell, "read_file": readFile, "write_to_file": writeFile, "replace_in_file": editFile, "apply_patch": editFile, "web_fetch": webFetch,
		},
	}
}

// clineFields returns the fields of a body that has the call in one member.
func clineFields(in path) *fields {
	return &fields{
		workspace: "workspaceRoots.0", agent: "taskId", tool: in + ".toolName", input: in + ".parameters", noInput: true, parsed: true,
		mcpServer: in + ".parameters.server_name", mcpTool: in + ".parameters.tool_name",
		mcpCaller: "use_mcp_tool", mcpInput: in + ".parameters.arguments",
	}
}
