package setup

import "time"

func openHands() client {
	type input struct {
		Command string `json:"command"`
	}
	type event struct {
		Event     string `json:"event_type"`
		Tool      string `json:"tool_name"`
		Input     input  `json:"tool_input"`
		SessionID string `json:"session_id"`
		Dir       string `json:"working_dir"`
	}
	return client{
		name: "openhands", title: "OpenHands",
		file:       always(func(h Home) string { return h.at("", ".openhands", "hooks.json") }),
		layout:     groups,
		transports: []Transport{Command},
		before:     []string{"PreToolUse"},
		after:      []string{"PostToolUse"},
		entry:      func(h hook) any { return commandEntry{"command", h.command, h.in(time.Second)} },
		patience:   map[Transport]patience{Command: {"timeout", time.Second, time.Minute}},
		gaps: func(Transport) []string {
			return []string{
				"A .openhands/hooks.json in the project replaces this file, whatever it contains.",
				"A hook that exceeds its timeout lets the call run. gateway ask gives up before that, unless the machine is too busy to run it.",
				"An input cannot be changed and a result cannot be replaced: such a decision denies.",
				"This setup is based on the source of OpenHands' SDK: it was not tested.",
			}
		},
		question: func(command, dir string) any {
			return event{"PreToolUse", "terminal", input{command}, "hookgate-doctor", dir}
		},
		denied: []setting{{[]string{"decision"}, `"deny"`}},
	}
}
