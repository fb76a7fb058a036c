package client

import "github.com/hookgate/hookgate/chain"

// droid is Factory Droid. Written from its documentation, not tested with it. Its
// dialect resembles Claude Code's. A changed input is documented only together
// with an allow, which skips its own question to the user; a replaced result is
// not documented at all.
func droid() *Client {
	in := &fields{
		workspace: "cwd", agent: "session_id", call: "tool_use_id", tool: "tool_name", input: "tool_input", output: "tool_response",
	}
	return &Client{
		title:   "Droid",
		eventAt: "hook_event_name",
		events: append([]event{{
			name: "PreToolUse", at: chain.PreToolUse, in: in,
			allow:          `{}`,
			explicitAllow:  `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`,
			deny:           `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":$reason}}`,
			explicitModify: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":$input}}`,
		}, {
			name: "PermissionRequest", at: chain.PreToolUse, in: in,
			allow:          `{}`,
			explicitAllow:  `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`,
			deny:           `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":$reason}}}`,
			explicitModify: `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":$input}}}`,
		}, {
			// Ending the turn is the strongest possible answer.
			name: "PostToolUse", at: chain.PostToolUse, in: in, shows: true,
			allow: `{}`,
			deny:  `{"continue":false,"stopReason":$reason,"decision":"block","reason":$reason}`,
		}}, passing(`{}`, "SessionStart", "SessionEnd", "UserPromptSubmit", "Notification", "Stop", "SubagentStop", "PreCompact")...),
		refusal: `{"continue":false,"stopReason":$reason,"decision":"block","reason":$reason}`,
		tools: map[string]string{
			"Execute": shell, "Read": readFile, "Create": writeFile, "Write": writeFile, "Edit": editFile, "MultiEdit": editFile, "ApplyPatch": editFile,
			"FetchUrl": webFetch,
		},
	}
}
