package setup

// cline has a program for each event, named like it.
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
				"A hook of the same name in a project's .clinerules/hooks takes the place of this one.",
				"Neither an input can be changed nor a result replaced: such a decision cancels.",
				"How long Cline waits for a hook cannot be set, and is not documented; it says that it blocks then.",
				"This is written from Cline's documentation: it was not run.",
			}
		},
		steps: []string{"Switch hooks on in Cline's settings."},
		question: func(command, dir string) any {
			return event{"PreToolUse", "hookgate-doctor", []string{dir}, call{"execute_command", map[string]string{"command": command}}}
		},
		denied: []setting{{[]string{"cancel"}, "true"}},
	}
}
