package client

import "github.com/hookgate/hookgate/chain"

// copilot is the GitHub Copilot CLI. Tested with 1.0.102. The spelling of its
// events in the settings selects one of two dialects; in the first one the body
// names neither the event nor the call. Both obey answers whose names are at
// the top level.
func copilot() *Client {
	camel := &fields{
		workspace: "cwd", agent: "sessionId", tool: "toolName", input: "toolArgs|toolInput", output: "toolResult.textResultForLlm", parsed: true,
	}
	pascal := &fields{
		workspace: "cwd", agent: "session_id", tool: "tool_name", input: "tool_input", output: "tool_result.text_result_for_llm", parsed: true,
	}
	return &Client{
		title:   "Copilot",
		eventAt: "hook_event_name|hookName",
		events: append([]event{
			copilotPre("preToolUse", camel), copilotPre("PreToolUse", pascal),
			copilotAsking("permissionRequest", camel), copilotAsking("PermissionRequest", pascal),
			copilotPost("postToolUse", camel), copilotPost("PostToolUse", pascal),
			copilotFailed("postToolUseFailure", *camel), copilotFailed("PostToolUseFailure", *pascal),
		}, passing(`{}`,
			"sessionStart", "SessionStart", "sessionEnd", "SessionEnd", "userPromptSubmitted", "UserPromptSubmit", "userPromptTransformed", "agentStop", "Stop",
			"subagentStart", "subagentStop", "SubagentStop", "errorOccurred", "ErrorOccurred", "preCompact", "PreCompact", "notification", "Notification",
		)...),
		refusal: `{"permissionDecision":"deny","permissionDecisionReason":$reason,"behavior":"deny","message":$reason,` +
			`"modifiedResult":{"resultType":"success","textResultForLlm":$reason}}`,
		tools: map[string]string{
			"bash": shell, "powershell": shell, "Bash": shell, "view": readFile, "Read": readFile, "create": writeFile, "Write": writeFile,
			"edit": editFile, "str_replace_editor": editFile, "apply_patch": editFile, "Edit": editFile, "web_fetch": webFetch, "WebFetch": webFetch,
		},
	}
}

func copilotPre(name string, in *fields) event {
	return event{
		name: name, at: chain.PreToolUse, in: in,
		allow:          `{}`,
		explicitAllow:  `{"permissionDecision":"allow"}`,
		deny:           `{"permissionDecision":"deny","permissionDecisionReason":$reason}`,
		modify:         `{"modifiedArgs":$input}`,
		explicitModify: `{"permissionDecision":"allow","modifiedArgs":$input}`,
	}
}

func copilotAsking(name string, in *fields) event {
	return event{
		name: name, at: chain.PreToolUse, in: in,
		allow:         `{}`,
		explicitAllow: `{"behavior":"allow"}`,
		deny:          `{"behavior":"deny","message":$reason}`,
	}
}

func copilotPost(name string, in *fields) event {
	return event{
		name: name, at: chain.PostToolUse, in: in,
		allow:   `{}`,
		deny:    `{"modifiedResult":{"resultType":"success","textResultForLlm":$reason}}`,
		replace: `{"modifiedResult":{"resultType":"success","textResultForLlm":$text}}`,
	}
}

// copilotFailed is the event of a failed tool, whose text cannot be changed.
func copilotFailed(name string, in fields) event {
	in.output = "error"
	return event{
		name: name, at: chain.PostToolUse, in: &in, failed: true, shows: true,
		allow: `{}`,
		deny:  `{"additionalContext":$reason}`,
	}
}
