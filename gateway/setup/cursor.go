package setup

import "time"

func cursor() client {
	type entry struct {
		Command    string `json:"command"`
		Timeout    int64  `json:"timeout"`
		FailClosed bool   `json:"failClosed"`
	}
	type input struct {
		Command string `json:"command"`
	}
	type event struct {
		Conversation string   `json:"conversation_id"`
		Event        string   `json:"hook_event_name"`
		Roots        []string `json:"workspace_roots"`
		Tool         string   `json:"tool_name"`
		Input        input    `json:"tool_input"`
		ID           string   `json:"tool_use_id"`
		Cwd          string   `json:"cwd"`
	}
	return client{
		name: "cursor", title: "Cursor",
		file:       always(func(h Home) string { return h.at("", ".cursor", "hooks.json") }),
		layout:     flat,
		header:     []member{{"version", "1"}},
		transports: []Transport{Command},
		before:     []string{"preToolUse"},
		after:      []string{"postToolUse"},
		entry:      func(h hook) any { return entry{h.command, h.in(time.Second), true} },
		patience:   map[Transport]patience{Command: {"timeout", time.Second, time.Minute}},
		closing:    &member{"failClosed", "true"},
		gaps: func(Transport) []string {
			return []string{
				"Results of built-in tools cannot be replaced or withheld, only those of MCP tools.",
				"An allow must be explicit, and Cursor treats it as the user's approval: it does not ask the user again.",
				"This setup is based on Cursor's documentation: it was not tested.",
			}
		},
		question: func(command, dir string) any {
			return event{"hookgate-doctor", "preToolUse", []string{dir}, "Shell", input{command}, "hookgate-doctor", dir}
		},
		denied: []setting{{[]string{"permission"}, `"deny"`}},
	}
}
