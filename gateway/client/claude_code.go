package client

import "github.com/hookgate/hookgate/chain"

// claudeCode is Claude Code. Tested with 2.1.332.
func claudeCode() *Client {
	in := &fields{
		workspace: "cwd", agent: "agent_id|session_id", call: "tool_use_id", tool: "tool_name", input: "tool_input", output: "tool_response",
	}
	failed := *in
	failed.output = "error"
	return &Client{
		title:   "Claude Code",
		eventAt: "hook_event_name",
		events: append([]event{{
			name: "PreToolUse", at: chain.PreToolUse, in: in,
			allow:          `{}`,
			explicitAllow:  `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`,
			deny:           `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":$reason}}`,
			modify:         `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":$input}}`,
			explicitModify: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":$input}}`,
		}, {
			// The user is being asked. Another input could be run only by
			// answering for the user.
			name: "PermissionRequest", at: chain.PreToolUse, in: in,
			allow:          `{}`,
			explicitAllow:  `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`,
			deny:           `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":$reason}}}`,
			explicitModify: `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":$input}}}`,
		}, {
			name: "PostToolUse", at: chain.PostToolUse, in: in, shape: claudeShape,
			allow:   `{}`,
			deny:    `{"decision":"block","reason":$reason,"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":$output}}`,
			replace: `{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":$output}}`,
			stop:    `{"continue":false,"stopReason":$reason}`,
		}, {
			// The text of a failed tool cannot be changed. Ending the turn is the
			// strongest possible answer.
			name: "PostToolUseFailure", at: chain.PostToolUse, in: &failed, failed: true, shows: true,
			allow: `{}`,
			deny:  `{"continue":false,"stopReason":$reason}`,
		}}, passing(`{}`,
			"SessionStart", "SessionEnd", "UserPromptSubmit", "Notification", "Stop", "SubagentStart", "SubagentStop", "PreCompact",
		)...),
		refusal: `{"continue":false,"stopReason":$reason,"decision":"block","reason":$reason}`,
		tools:   claudeTools(),
	}
}

// claudeTools maps the tools of Claude Code to their aliases.
func claudeTools() map[string]string {
	return map[string]string{
		"Bash": shell, "Read": readFile, "Write": writeFile, "Edit": editFile, "MultiEdit": editFile, "NotebookEdit": editFile, "WebFetch": webFetch,
	}
}
