package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func codex() client {
	return client{
		name: "codex", title: "Codex",
		file:       always(func(h Home) string { return h.at("CODEX_HOME", ".codex", "hooks.json") }),
		layout:     groups,
		transports: []Transport{Command},
		before:     []string{"PreToolUse"},
		after:      []string{"PostToolUse"},
		entry:      func(h hook) any { return commandEntry{"command", h.command, h.in(time.Second)} },
		patience:   map[Transport]patience{Command: {"timeout", time.Second, 600 * time.Second}},
		gaps: func(Transport) []string {
			return []string{
				"Codex runs a hook only after the user has trusted it, and asks again whenever its declaration changes: until then the call runs unchecked.",
				"A hook that exceeds its timeout lets the call run. gateway ask gives up before that, unless the machine is too busy to run it.",
				"A result can only be replaced by text.",
			}
		},
		trust:    codexTrust,
		steps:    []string{"Start codex, type /hooks, and trust the hooks of hookgate. codex exec silently skips untrusted hooks."},
		question: askedAsClaude("Bash"),
		denied:   []setting{{[]string{"hookSpecificOutput", "permissionDecision"}, `"deny"`}, {[]string{"decision"}, `"block"`}},
	}
}

// codexTrust checks whether Codex has recorded an approval next to the
// declarations. Only Codex can tell whether it applies to the hook as currently
// declared.
func codexTrust(path string) (Severity, string) {
	config := filepath.Join(filepath.Dir(path), "config.toml")
	text, err := os.ReadFile(config)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Open, "cannot read whether the user has trusted the hook: " + err.Error()
	case !strings.Contains(string(text), path+":pre_tool_use:"):
		return Open, "the hook has not been trusted, so Codex skips it: start codex and type /hooks"
	}
	return Remark, config + " says that a hook of this file was trusted. If the hook has changed since, Codex skips it: type /hooks in codex to check"
}
