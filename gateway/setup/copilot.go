package setup

import "time"

// copilot runs a command: it sends hooks only to https URLs, and over HTTP a
// timeout or an invalid answer lets the call run. The spelling of the events
// selects the dialect whose body names the event.
func copilot() client {
	type entry struct {
		Type    string `json:"type"`
		Bash    string `json:"bash,omitempty"`
		URL     string `json:"url,omitempty"`
		Timeout int64  `json:"timeoutSec"`
	}
	seconds := patience{"timeoutSec", time.Second, 30 * time.Second}
	return client{
		name: "copilot", title: "GitHub Copilot CLI",
		file:       always(func(h Home) string { return h.at("COPILOT_HOME", ".copilot", "hooks", "hookgate.json") }),
		layout:     flat,
		header:     []member{{"version", "1"}},
		transports: []Transport{Command, HTTP},
		before:     []string{"PreToolUse"},
		after:      []string{"PostToolUse"},
		entry: func(h hook) any {
			if h.transport == HTTP {
				return entry{"http", "", h.url, h.in(time.Second)}
			}
			return entry{"command", h.command, "", h.in(time.Second)}
		},
		patience: map[Transport]patience{Command: seconds, HTTP: seconds},
		off:      []setting{{[]string{"disableAllHooks"}, "true"}},
		gaps: func(t Transport) []string {
			gaps := []string{
				"A hook that exceeds its timeout lets the call run. gateway ask gives up before that, unless the machine is too busy to run it.",
				"The text of a call that failed by itself cannot be replaced.",
				"disableAllHooks in another settings file of Copilot switches this hook off; one in /etc/github-copilot/policy.d stays on.",
			}
			if t == HTTP {
				gaps[0] = "Over HTTP, a timeout or an unreadable answer lets the call run. An http:// URL is dropped silently unless it is on loopback and COPILOT_HOOK_ALLOW_LOCALHOST=1 is set. Omit --http to use a command."
			}
			return gaps
		},
		question: askedAsClaude("Bash"),
		denied:   []setting{{[]string{"permissionDecision"}, `"deny"`}, {[]string{"hookSpecificOutput", "permissionDecision"}, `"deny"`}},
	}
}
