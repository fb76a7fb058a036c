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
				"A .openhands/hooks.json in the project takes the place of this file, whatever it says.",
				"A hook that exceeds its time-out lets the call run. gateway ask gives up before that, unless the machine is too busy to run it.",
				"Neither an input can be changed nor a result replaced: such a decision denies.",
				"This is written from the source of OpenHands' SDK: it was not run.",
			}
		},
		question: func(command, dir string) any {
			return event{"PreToolUse", "terminal", input{command}, "hookgate-doctor", dir}
		},
		denied: []setting{{[]string{"decision"}, `"deny"`}},
	}
}
