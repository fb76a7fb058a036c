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
				"Only commands, file reads and writes, and MCP tools have hooks: other tools run unchecked.",
				"Results are not checked: nothing can change them.",
				"An input cannot be changed: a decision that would change it denies.",
				"Windsurf's timeout for hooks cannot be set and is not documented.",
				"This setup is based on Windsurf's documentation: it was not tested.",
			}
		},
		question: func(command, dir string) any {
			return event{"pre_run_command", "hookgate-doctor", "hookgate-doctor", info{command, dir}}
		},
	}
}
