package client

import "github.com/hookgate/hookgate/chain"

// qwenCode is Qwen Code. Tested with 0.24.4. An input can be changed only by
// allowing a PermissionRequest explicitly. A result cannot be replaced; a deny
// after the call ends the turn.
func qwenCode() *Client {
	in := &fields{
		workspace: "cwd", agent: "agent_id|session_id", call: "tool_call_id|tool_use_id", tool: "tool_name", input: "tool_input",
		output: "tool_response.llmContent|tool_response",
	}
	failed := *in
	failed.output = "error"
	return &Client{
		title:   "Qwen Code",
		eventAt: "hook_event_name",
		events: append([]event{{
			name: "PreToolUse", at: chain.PreToolUse, in: in,
			allow:         `{}`,
			explicitAllow: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`,
			deny:          `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":$reason}}`,
		}, {
			name: "PermissionRequest", at: chain.PreToolUse, in: in,
			allow:          `{}`,
			explicitAllow:  `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`,
			deny:           `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":$reason}}}`,
			explicitModify: `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":$input}}}`,
		}, {
			name: "PostToolUse", at: chain.PostToolUse, in: in,
			allow: `{}`,
			deny:  `{"continue":false,"stopReason":$reason}`,
		}, {
			name: "PostToolUseFailure", at: chain.PostToolUse, in: &failed, failed: true, shows: true,
			allow: `{}`,
			deny:  `{"continue":false,"stopReason":$reason}`,
		}}, passing(`{}`,
			"SessionStart", "SessionEnd", "UserPromptSubmit", "Notification", "Stop", "SubagentStart", "SubagentStop", "PreCompact",
		)...),
		refusal: `{"decision":"deny","reason":$reason,"continue":false,"stopReason":$reason}`,
		tools: map[string]string{
			"run_shell_command": shell, "read_file": readFile, "read_many_files": readFile, "write_file": writeFile, "edit": editFile, "web_fetch": webFetch,
		},
	}
}
