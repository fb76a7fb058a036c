package setup

// cline runs one program for each event, named after it.
func cline() client {
	type call struct {
		Tool       string            `json:"toolName"`
		Parameters map[string]string `json:"parameters"`
	}
	type event struct {
		Name  string   `json:"hookName"`
		Task  string   `json:"taskId"`
		Roots []string `json:"workspaceRoots"`
		Call  call     `json:"preToolUse"`
	}
	return client{
		name: "cline", title: "Cline",
		file: func(h Home, event string) string {
			return h.at("", "Documents/Cline/Rules/Hooks", event)
		},
		layout:     own,
		transports: []Transport{Command},
		before:     []string{"PreToolUse"},
		after:      []string{"PostToolUse"},
		text: func(h hook) string {
			return "#!/bin/sh\n# Written by gateway init cline, which replaces it.\n" + h.command + "\n"
		},
		gaps: func(Transport) []string {
			return []string{
				"A hook of the same name in a project's .clinerules/hooks replaces this one.",
				"An input cannot be changed and a result cannot be replaced: such a decision cancels the call.",
				"Cline's timeout for hooks cannot be set and is not documented; according to Cline, it blocks when the timeout expires.",
				"This setup is based on Cline's documentation: it was not tested.",
			}
		},
		steps: []string{"Enable hooks in Cline's settings."},
		question: func(command, dir string) any {
			return event{"PreToolUse", "hookgate-doctor", []string{dir}, call{"execute_command", map[string]string{"command": command}}}
		},
		denied: []setting{{[]string{"cancel"}, "true"}},
	}
}
