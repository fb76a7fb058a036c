package setup

import "time"

// qwenCode runs a command although it supports HTTP hooks: those let the call
// run whatever goes wrong, and no setting changes that.
func qwenCode() client {
	type entry struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		URL     string `json:"url,omitempty"`
		Command string `json:"command,omitempty"`
		Timeout int64  `json:"timeout"`
	}
	return client{
		name: "qwen-code", title: "Qwen Code",
		file:       always(func(h Home) string { return h.at("QWEN_HOME", ".qwen", "settings.json") }),
		layout:     groups,
		transports: []Transport{Command, HTTP},
		before:     []string{"PreToolUse"},
		after:      []string{"PostToolUse"},
		entry: func(h hook) any {
			if h.transport == HTTP {
				return entry{"hookgate", "http", h.url, "", h.in(time.Second)}
			}
			return entry{"hookgate", "command", "", h.command, h.in(time.Millisecond)}
		},
		patience: map[Transport]patience{
			Command: {"timeout", time.Millisecond, time.Minute},
			HTTP:    {"timeout", time.Second, 600 * time.Second},
		},
		off: []setting{{[]string{"disableAllHooks"}, "true"}},
		gaps: func(t Transport) []string {
			gaps := []string{
				"An input cannot be changed before a call: a decision that would change it denies.",
				"A result cannot be replaced: a decision that would replace it ends the turn.",
			}
			if t == HTTP {
				return append(gaps, "Over HTTP, every failure lets the call run: a gateway that is down, slow or broken guards nothing, and no setting changes that. Omit --http to use a command, which blocks.")
			}
			return append(gaps, "A hook that exceeds its timeout lets the call run. gateway ask gives up before that, unless the machine is too busy to run it.")
		},
		question: askedAsClaude("run_shell_command"),
		denied:   []setting{{[]string{"hookSpecificOutput", "permissionDecision"}, `"deny"`}, {[]string{"decision"}, `"deny"`}, {[]string{"decision"}, `"block"`}},
	}
}
