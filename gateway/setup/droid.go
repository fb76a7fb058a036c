package setup

import "time"

func droid() client {
	return client{
		name: "droid", title: "Factory Droid",
		file:       always(func(h Home) string { return h.at("", ".factory", "settings.json") }),
		layout:     groups,
		transports: []Transport{Command},
		before:     []string{"PreToolUse"},
		after:      []string{"PostToolUse"},
		entry:      func(h hook) any { return commandEntry{"command", h.command, h.in(time.Second)} },
		patience:   map[Transport]patience{Command: {"timeout", time.Second, time.Minute}},
		gaps: func(Transport) []string {
			return []string{
				"A hook that exceeds its timeout is assumed to let the call run. gateway ask gives up before that, unless the machine is too busy to run it.",
				"A result cannot be replaced.",
				"This setup is based on Factory's documentation: it was not tested.",
			}
		},
		question: askedAsClaude("Execute"),
		denied:   []setting{{[]string{"hookSpecificOutput", "permissionDecision"}, `"deny"`}, {[]string{"decision"}, `"block"`}},
	}
}
