package setup

import "time"

// claudeCode declares HTTP hooks: with onFailure they fail closed without
// starting a process for each call.
func claudeCode() client {
	type entry struct {
		Type      string `json:"type"`
		URL       string `json:"url,omitempty"`
		Command   string `json:"command,omitempty"`
		Timeout   int64  `json:"timeout"`
		OnFailure string `json:"onFailure"`
	}
	seconds := patience{"timeout", time.Second, 600 * time.Second}
	return client{
		name: "claude-code", title: "Claude Code",
		file:       always(func(h Home) string { return h.at("CLAUDE_CONFIG_DIR", ".claude", "settings.json") }),
		layout:     groups,
		transports: []Transport{HTTP, Command},
		before:     []string{"PreToolUse"},
		after:      []string{"PostToolUse"},
		entry: func(h hook) any {
			e := entry{Type: "http", URL: h.url, Timeout: h.in(time.Second), OnFailure: "block"}
			if h.transport == Command {
				e.Type, e.URL, e.Command = "command", "", h.command
			}
			return e
		},
		patience: map[Transport]patience{Command: seconds, HTTP: seconds},
		closing:  &member{"onFailure", `"block"`},
		off:      []setting{{[]string{"disableAllHooks"}, "true"}},
		gaps: func(t Transport) []string {
			gaps := []string{
				"Builds of Claude Code that do not know onFailure ignore it silently (2.1.197 did): they run the call when the hook fails. Use 2.1.332 or newer, or --command, which also blocks in older builds as long as the program itself can run.",
				"After a call, a failed hook only adds a note: the model still sees the output. The text of a call that failed by itself (PostToolUseFailure) cannot be replaced.",
				"Files named with @ in a prompt never reach a hook. Of an output beyond the inline limit, a hook only gets the part that the model sees.",
			}
			if t == Command {
				gaps[0] = "A build that does not know onFailure (2.1.197 did not) runs the call when the hook exceeds its timeout."
			}
			return gaps
		},
		question: askedAsClaude("Bash"),
		denied:   []setting{{[]string{"hookSpecificOutput", "permissionDecision"}, `"deny"`}, {[]string{"decision"}, `"block"`}},
	}
}

// askedAsClaude returns the pre-call event of Claude Code and of the clients
// that adopted its format.
func askedAsClaude(shell string) func(command, dir string) any {
	type input struct {
		Command string `json:"command"`
	}
	type event struct {
		SessionID string `json:"session_id"`
		Cwd       string `json:"cwd"`
		Event     string `json:"hook_event_name"`
		Tool      string `json:"tool_name"`
		Input     input  `json:"tool_input"`
		ID        string `json:"tool_use_id"`
	}
	return func(command, dir string) any {
		return event{"hookgate-doctor", dir, "PreToolUse", shell, input{command}, "hookgate-doctor"}
	}
}
