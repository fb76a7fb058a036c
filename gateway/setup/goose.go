package setup

import "time"

// goose declares hooks in a plugin. Only its user knows where the plugins are.
func goose() client {
	type entry struct {
		Type      string `json:"type"`
		Command   string `json:"command"`
		Timeout   int64  `json:"timeout"`
		OnFailure string `json:"on_failure"`
	}
	type input struct {
		Command string `json:"command"`
	}
	type event struct {
		Event     string `json:"event"`
		SessionID string `json:"session_id"`
		ID        string `json:"tool_call_id"`
		Tool      string `json:"tool_name"`
		Input     input  `json:"tool_input"`
		Dir       string `json:"working_dir"`
	}
	return client{
		name: "goose", title: "Goose",
		layout:     groups,
		transports: []Transport{Command},
		before:     []string{"PreToolUse"},
		entry:      func(h hook) any { return entry{"command", h.command, h.in(time.Second), "block"} },
		patience:   map[Transport]patience{Command: {"timeout", time.Second, 30 * time.Second}},
		closing:    &member{"on_failure", `"block"`},
		gaps: func(Transport) []string {
			return []string{
				"on_failure needs Goose 1.48 or newer. An older one lets the call run when the hook exceeds its timeout.",
				"Results are not checked: nothing can change them.",
				"An input cannot be changed: a decision that would change it denies.",
				"This setup is based on Goose's source: it was not tested.",
			}
		},
		question: func(command, dir string) any {
			return event{"PreToolUse", "hookgate-doctor", "hookgate-doctor", "developer__shell", input{command}, dir}
		},
		denied: []setting{{[]string{"decision"}, `"block"`}},
	}
}
