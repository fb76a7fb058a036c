package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// ProtectedPaths is the name of the guard for files that an agent must not
// change.
const ProtectedPaths = "protected-paths"

// protectedPaths denies changes to files that determine what runs later, and
// with which permissions.
type protectedPaths struct {
	name     string
	paths    pathPatterns
	commands commandReader
	fields   []string // members that name a path or contain a patch
}

func newProtectedPaths(name string, o *options) Guard {
	g := &protectedPaths{name: name, commands: readerOf(o, changingWords()...), fields: slices.Concat(pathFields(), patchFields())}
	g.commands.except = []string{"2>&1", ">&2", ">/dev/null", "> /dev/null"}
	skipped := o.words("except", defaultPaths())
	for _, text := range defaultPaths() {
		if !slices.Contains(skipped, text) {
			g.add(o, text)
		}
	}
	for _, text := range o.texts("paths") {
		g.add(o, text)
	}
	return g
}

func (g *protectedPaths) add(o *options, text string) {
	p, err := parsePathPattern(text)
	if err != nil {
		o.wrong("paths", fmt.Sprintf("has %.80q, which %v", text, err))
	}
	g.paths.add(p)
}

// defaultPaths are the protected paths by default.
func defaultPaths() []string {
	return []string{
		// the system
		"/etc", "/boot", "/bin", "/sbin", "/lib", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/var/spool/cron",
		"/System", "/Library",
		// keys and login
		"~/.ssh", "~/.gnupg",
		// what starts automatically
		"~/.bashrc", "~/.bash_profile", "~/.bash_login", "~/.bash_logout", "~/.profile",
		"~/.zshrc", "~/.zshenv", "~/.zprofile", "~/.zlogin", "~/.zlogout", "~/.config/fish",
		"~/.config/systemd", "~/.config/autostart", "~/Library/LaunchAgents",
		// what git runs
		".git/hooks", ".git/config", "~/.gitconfig", "~/.config/git",
		// what guards agents
		".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", "~/.claude.json",
		".codex/config.toml", ".codex/hooks.json", ".cursor/hooks.json", ".gemini/settings.json", ".qwen/settings.json",
		".github/hooks", ".copilot/hooks", ".grok/hooks", ".agents/hooks.json", ".windsurf/hooks.json", ".factory/settings.json",
		".kiro/agents", ".opencode/plugin", ".opencode/plugins", ".clinerules/hooks", ".basis/hooks.json",
	}
}

// Name implements transport.Interceptor.
func (g *protectedPaths) Name() string { return g.name }

// Intercept implements transport.Interceptor.
func (g *protectedPaths) Intercept(ctx context.Context, req *chain.Request) (chain.Outcome, error) {
	m := work.For(ctx, len(req.Input()))
	return verdict(m, g.object(m, req))
}

func (g *protectedPaths) object(m *work.Meter, req *chain.Request) string {
	start := workspaceOf(req)
	if len(start) > shell.MaxDir {
		return fmt.Sprintf("the workspace could not be read: its name is longer than %d bytes", shell.MaxDir)
	}
	look := search{paths: &g.paths, meter: m}
	if text, ok := chain.ReadString(req.Input()); ok && isPatch(text) {
		return look.patch(start, text)
	}
	objection := ""
	err := eachObject(m, req.Input(), g.fields, func(members []member) error {
		if objection == "" && !onlyReads(members) {
			objection = look.members(start, members)
		}
		return nil
	})
	if err != nil {
		return fmt.Sprintf("the input could not be read: %v", err)
	}
	if objection != "" {
		return objection
	}
	return g.commands.check(m, req, func(_ *work.Meter, script shell.Script) string { return look.script(script) })
}

// pathFields are the input members that name a file or a directory.
func pathFields() []string {
	return []string{
		"file_path", "filepath", "path", "paths", "file", "files", "filename", "file_name", "notebook_path", "target_file",
		"absolute_path", "relative_path", "output_path", "uri", "source", "destination", "dest", "target", "old_path", "new_path",
	}
}

// patchFields are the input members that contain a patch.
func patchFields() []string { return []string{"patch", "diff", "input", "command", "cmd"} }

// onlyReads reports whether a tool that can read and write is told to read.
func onlyReads(members []member) bool {
	return slices.ContainsFunc(members, func(m member) bool {
		return m.name == "command" && (m.text == "view" || m.text == "read")
	})
}

// search looks for protected paths in one call.
type search struct {
	paths *pathPatterns
	meter *work.Meter
	found target // the elements of the current path; reused
}

func (s *search) members(start string, members []member) string {
	for _, m := range members {
		if objection := s.member(start, m); objection != "" {
			return objection
		}
	}
	return ""
}

func (s *search) member(start string, m member) string {
	patches := slices.Contains(patchFields(), m.name)
	for _, text := range append(m.list, m.text) {
		if !s.meter.Spend(1) {
			return ""
		}
		objection := ""
		switch {
		case !patches:
			objection = s.path(text, fromTool(start, text), exactly)
		case isPatch(text):
			objection = s.patch(start, text)
		}
		if objection != "" {
			return objection
		}
	}
	return ""
}

// path objects if a place is protected. shown is how the call names it.
func (s *search) path(shown, place string, how reach) string {
	if shown == "" || !s.meter.Spend(1+len(place)/8) {
		return ""
	}
	s.found.set(place)
	if p := s.paths.first(&s.found, how, s.meter); p != nil {
		return fmt.Sprintf("%s may not be changed: %s is protected", shown, p.text)
	}
	return ""
}

// script checks the files that commands are redirected to, and those that
// well-known programs modify.
func (s *search) script(script shell.Script) string {
	for _, c := range script.Commands {
		for _, w := range c.Writes {
			if isStaged(w) {
				continue
			}
			if objection := s.path(w.Text, placeOf(c, w).path, exactly); objection != "" {
				return objection
			}
		}
		for change := range changes(c) {
			if isStaged(change.word) {
				continue
			}
			if objection := s.path(change.word.Text, change.place, change.how); objection != "" {
				return objection
			}
			if s.meter.Err() != nil {
				return ""
			}
		}
		if s.meter.Spend(1+len(c.Stdin)/16) && isPatch(c.Stdin) {
			if objection := s.patch(c.Dir, c.Stdin); objection != "" {
				return objection
			}
		}
	}
	return ""
}

// isStaged reports whether a path begins with a variable that conventionally
// names a package's staging directory, and not the system's root.
func isStaged(w shell.Word) bool {
	return strings.HasPrefix(w.Text, "/") && slices.Contains([]string{"DESTDIR", "RPM_BUILD_ROOT", "pkgdir", "INSTALL_ROOT"}, w.Unset)
}

// fromTool returns the place that a tool's path leads to. Tools also accept
// file URLs, Windows paths and a variable for the home directory.
func fromTool(start, text string) string {
	if address, ok := strings.CutPrefix(text, "file://"); ok {
		text = unescapePercent(address)
	}
	text = strings.ReplaceAll(text, `\`, "/")
	if len(text) > 1 && text[1] == ':' {
		text = text[2:]
	}
	for _, home := range []string{"$HOME", "${HOME}", "%USERPROFILE%"} {
		if rest, ok := strings.CutPrefix(text, home); ok {
			text = "~" + rest
		}
	}
	return shell.Join(start, text)
}
