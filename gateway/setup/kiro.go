package setup

import "time"

// kiro declares hooks in an agent's file. Only its user knows which agents are
// used.
func kiro() client {
	type entry struct {
		Matcher  string `json:"matcher"`
		Command  string `json:"command"`
		Timeout  int64  `json:"timeout_ms"`
		CacheTTL int    `json:"cache_ttl_seconds"`
	}
	type input struct {
		Command string `json:"command"`
	}
	type event struct {
		Event string `json:"hook_event_name"`
		Cwd   string `json:"cwd"`
		Tool  string `json:"tool_name"`
		Input input  `json:"tool_input"`
	}
	return client{
		name: "kiro", title: "Kiro CLI and Amazon Q CLI",
		layout:     flat,
		transports: []Transport{Command},
		before:     []string{"preToolUse"},
		entry:      func(h hook) any { return entry{"*", h.command, h.in(time.Millisecond), 0} },
		patience:   map[Transport]patience{Command: {"timeout_ms", time.Millisecond, 30 * time.Second}},
		gaps: func(Transport) []string {
			return []string{
				"Hooks belong to one agent: another agent's calls run unchecked. Set up each agent's file.",
				"A hook that exceeds its timeout lets the call run. gateway ask gives up before that, unless the machine is too busy to run it.",
				"Results are not checked: nothing can change them.",
				"An input cannot be changed: a decision that would change it denies.",
				"This setup is based on the vendor's documentation: it was not tested.",
			}
		},
		question: func(command, dir string) any {
			return event{"preToolUse", dir, "execute_bash", input{command}}
		},
	}
}
