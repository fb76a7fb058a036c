package client

import "github.com/hookgate/hookgate/chain"

// openhands is the OpenHands SDK. Written from its source, not tested with it.
// A result cannot be changed.
func openhands() *Client {
	in := &fields{
		workspace: "working_dir", agent: "session_id", tool: "tool_name", input: "tool_input", noInput: true, output: "tool_response|tool_output",
	}
	return &Client{
		title:   "OpenHands",
		eventAt: "event_type",
		events: append([]event{{
			name: "PreToolUse", at: chain.PreToolUse, in: in,
			allow: `{"decision":"allow"}`,
			deny:  `{"decision":"deny","reason":$reason}`,
		}, {
			name: "PostToolUse", at: chain.PostToolUse, in: in, shows: true,
			allow: `{"decision":"allow"}`,
			deny:  `{"decision":"deny","reason":$reason}`,
		}}, passing(`{"decision":"allow"}`, "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop", "Notification")...),
		refusal: `{"decision":"deny","reason":$reason}`,
		tools: map[string]string{
			"terminal": shell, "execute_bash": shell, "file_editor": editFile, "str_replace_editor": editFile, "apply_patch": editFile,
		},
	}
}
