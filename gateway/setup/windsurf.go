package setup

func windsurf() client {
	type entry struct {
		Command string `json:"command"`
		Show    bool   `json:"show_output"`
	}
	type info struct {
		Command string `json:"command_line"`
		Cwd     string `json:"cwd"`
	}
	type event struct {
		Action     string `json:"agent_action_name"`
		Trajectory string `json:"trajectory_id"`
		Execution  string `json:"execution_id"`
		Info       info   `json:"tool_info"`
	}
	return client{
		name: "windsurf", title: "Windsurf Cascade",
		file:       always(func(h Home) string { return h.at("", ".codeium", "windsurf", "hooks.json") }),
		layout:     flat,
		transports: []Transport{Command},
		before:     []string{"pre_run_command", "pre_write_code", "pre_read_code", "pre_mcp_tool_use"},
		entry:      func(h hook) any { return entry{h.command, true} },
		gaps: func(Transport) []string {
			return []string{
				"Only commands, reads and writes of files, and MCP tools have hooks: other tools run unasked.",
				"Results are not asked about: nothing can change them.",
				"An input cannot be changed: a decision that would change it denies.",
				"How long Windsurf waits for a hook cannot be set, and is not documented.",
				"This is written from Windsurf's documentation: it was not run.",
			}
		},
		question: func(command, dir string) any {
			return event{"pre_run_command", "hookgate-doctor", "hookgate-doctor", info{command, dir}}
		},
	}
}
