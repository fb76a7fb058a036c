package client

import "github.com/hookgate/hookgate/chain"

// codex is the Codex CLI of OpenAI. Tested with 0.171.0. It validates answers
// strictly, and runs the call if an answer is invalid: do not add names to the
// templates here. An allow has none.
func codex() *Client {
	in := &fields{
		workspace: "cwd", agent: "agent_id|session_id", call: "tool_use_id", tool: "tool_name", input: "tool_input", output: "tool_response",
	}
	return &Client{
		title:   "Codex",
		eventAt: "hook_event_name",
		events: append([]event{{
			name: "PreToolUse", at: chain.PreToolUse, in: in,
			allow:  `{}`,
			deny:   `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":$reason}}`,
			modify: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":$input}}`,
		}, {
			name: "PermissionRequest", at: chain.PreToolUse, in: in,
			allow:         `{}`,
			explicitAllow: `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`,
			deny:          `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":$reason}}}`,
		}, {
			name: "PostToolUse", at: chain.PostToolUse, in: in,
			allow:   `{}`,
			deny:    `{"decision":"block","reason":$reason}`,
			replace: `{"decision":"block","reason":$text}`,
		}}, passing(`{}`,
			"SessionStart", "UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact",
		)...),
		refusal: `{"decision":"block","reason":$reason}`,
		tools:   map[string]string{"Bash": shell, "apply_patch": editFile},
	}
}
