package setup

import "time"

func geminiCLI() client {
	type entry struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int64  `json:"timeout"`
	}
	type input struct {
		Command string `json:"command"`
	}
	type event struct {
		SessionID string `json:"session_id"`
		Cwd       string `json:"cwd"`
		Event     string `json:"hook_event_name"`
		Tool      string `json:"tool_name"`
		Input     input  `json:"tool_input"`
	}
	return client{
		name: "gemini-cli", title: "Gemini CLI",
		file:       always(func(h Home) string { return h.at("GEMINI_CLI_HOME", "", ".gemini", "settings.json") }),
		layout:     groups,
		transports: []Transport{Command},
		before:     []string{"BeforeTool"},
		after:      []string{"AfterTool"},
		entry: func(h hook) any {
			return entry{"hookgate", "command", h.command, h.in(time.Millisecond)}
		},
		patience: map[Transport]patience{Command: {"timeout", time.Millisecond, time.Minute}},
		off:      []setting{{[]string{"hooksConfig", "enabled"}, "false"}},
		offList:  []string{"hooksConfig", "disabled"},
		gaps: func(Transport) []string {
			return []string{
				"A hook that exceeds its timeout lets the call run. gateway ask gives up before that, unless the machine is too busy to run it.",
				"A changed input is merged into the old one: a key can get another value but cannot be removed; a decision that removes one denies.",
				"A replaced result reaches the model as an error.",
			}
		},
		question: func(command, dir string) any {
			return event{"hookgate-doctor", dir, "BeforeTool", "run_shell_command", input{command}}
		},
		denied: []setting{{[]string{"decision"}, `"deny"`}, {[]string{"decision"}, `"block"`}},
	}
}
