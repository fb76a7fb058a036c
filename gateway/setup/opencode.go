package setup

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed opencode_plugin.js
var opencodePlugin string

// opencode loads a plugin. A hook in a plugin that throws denies the call, so
// it fails closed without further settings.
func opencode() client {
	return client{
		name: "opencode", title: "opencode",
		file: always(func(h Home) string {
			return h.at("XDG_CONFIG_HOME", ".config", "opencode", "plugins", "hookgate.js")
		}),
		layout:     own,
		transports: []Transport{Plugin},
		before:     []string{"tool.execute.before"},
		text: func(h hook) string {
			return strings.NewReplacer(
				`"http://127.0.0.1:8080/v1/clients/opencode"`, strconv.Quote(h.url),
				"25_000", strconv.FormatInt(h.ask.Milliseconds(), 10),
			).Replace(opencodePlugin)
		},
		question: func(command, dir string) any {
			return opencodeEvent{1, "pre_tool_use", dir, "hookgate-doctor", "hookgate-doctor", "bash", map[string]string{"command": command}}
		},
		denied: []setting{{[]string{"decision"}, `"deny"`}},
		gaps: func(Transport) []string {
			return []string{
				"A plugin that opencode cannot load is skipped: the calls run unchecked. gateway doctor opencode asks the gateway, but cannot ask opencode.",
			}
		},
	}
}

// opencodeEvent is what the plugin sends: an envelope.
type opencodeEvent struct {
	Schema    int               `json:"hook_schema"`
	Event     string            `json:"event"`
	Workspace string            `json:"workspace"`
	Agent     string            `json:"agent_id"`
	Call      string            `json:"tool_call_id"`
	Tool      string            `json:"tool_name"`
	Input     map[string]string `json:"input"`
}
