package client

import "github.com/hookgate/hookgate/chain"

// goose is goose, 1.48 or newer. Written from its source, not tested with it.
// No output allows, and a result cannot be changed.
func goose() *Client {
	in := &fields{
		workspace: "working_dir", agent: "session_id", call: "tool_call_id", tool: "tool_name", input: "tool_input", output: "tool_output", noInput: true,
	}
	return &Client{
		title: "goose", command: jsonIfDenied,
		eventAt: "event",
		events: append([]event{{
			name: "PreToolUse", at: chain.PreToolUse, in: in,
			allow: `{}`,
			deny:  `{"decision":"block","reason":$reason}`,
		}, {
			name: "PostToolUse", at: chain.PostToolUse, in: in, shows: true,
			allow: `{}`,
			deny:  `{"decision":"block","reason":$reason}`,
		}, {
			name: "PostToolUseFailure", at: chain.PostToolUse, in: in, failed: true, shows: true,
			allow: `{}`,
			deny:  `{"decision":"block","reason":$reason}`,
		}}, passing(`{}`, "PreToolUseResult", "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop")...),
		refusal: `{"decision":"block","reason":$reason}`,
		tools: map[string]string{
			"developer__shell": shell, "shell": shell, "developer__text_editor": editFile, "developer__edit": editFile, "developer__write": writeFile,
		},
		mcp: mcpNames{between: "__"},
	}
}
