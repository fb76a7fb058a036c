package guard

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
)

// ProtectedPaths is the name of the guard of files that are not the agent's to
// change.
const ProtectedPaths = "protected-paths"

// protectedPaths denies changes to files that decide what runs later, and with
// whose rights.
type protectedPaths struct {
	name     string
	paths    []pathPattern
	commands commandReader
}

func newProtectedPaths(name string, o *options) Guard {
	g := &protectedPaths{name: name, commands: commandReader{
		words: changingWords(), except: []string{"2>&1", ">&2", ">/dev/null", "> /dev/null"}, fields: o.texts("fields"),
	}}
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
	g.paths = append(g.paths, p)
}

// defaultPaths are protected where nothing else is said.
func defaultPaths() []string {
	return []string{
		// the system
		"/etc", "/boot", "/bin", "/sbin", "/lib", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/var/spool/cron",
		"/System", "/Library",
		// keys, and who may log in
		"~/.ssh", "~/.gnupg",
		// what starts by itself
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
	start := workspaceOf(req)
	if text, ok := chain.ReadString(req.Input()); ok && isPatch(text) {
		return verdict(g.objectToPatch(start, text)), nil
	}
	objection := ""
	err := eachObject(req.Input(), slices.Concat(pathFields(), patchFields()), func(members []member) error {
		if objection == "" && !onlyReads(members) {
			objection = g.objectToMembers(start, members)
		}
		return nil
	})
	if err != nil {
		return deny(fmt.Sprintf("the input could not be read: %v", err)), nil
	}
	if objection != "" {
		return deny(objection), nil
	}
	return g.commands.check(ctx, req, g.objectToScript)
}

// verdict denies with an objection, and allows where there is none.
func verdict(objection string) chain.Outcome {
	if objection != "" {
		return deny(objection)
	}
	return chain.Outcome{Decision: chain.Allow}
}

// The members of an input that name a file or a directory.
func pathFields() []string {
	return []string{
		"file_path", "filepath", "path", "paths", "file", "files", "filename", "file_name", "notebook_path", "target_file",
		"absolute_path", "relative_path", "output_path", "uri", "source", "destination", "dest", "target", "old_path", "new_path",
	}
}

// The members of an input that hold a patch.
func patchFields() []string { return []string{"patch", "diff", "input", "command", "cmd"} }

// onlyReads reports whether a tool that can read and write is told to read.
func onlyReads(members []member) bool {
	return slices.ContainsFunc(members, func(m member) bool {
		return m.name == "command" && (m.text == "view" || m.text == "read")
	})
}

func (g *protectedPaths) objectToMembers(start string, members []member) string {
	for _, m := range members {
		if objection := g.objectToMember(start, m); objection != "" {
			return objection
		}
	}
	return ""
}

func (g *protectedPaths) objectToMember(start string, m member) string {
	if slices.Contains(patchFields(), m.name) {
		for _, text := range append(m.list, m.text) {
			if isPatch(text) {
				if objection := g.objectToPatch(start, text); objection != "" {
					return objection
				}
			}
		}
		return ""
	}
	for _, text := range append(m.list, m.text) {
		if objection := g.objectToPath(text, fromTool(start, text), exactly); objection != "" {
			return objection
		}
	}
	return ""
}

// objectToPath objects where a place is protected. shown is how the call names
// it.
func (g *protectedPaths) objectToPath(shown, place string, how reach) string {
	if shown == "" {
		return ""
	}
	for _, p := range g.paths {
		if p.matches(place, how) {
			return fmt.Sprintf("%s may not be changed: %s is protected", shown, p.text)
		}
	}
	return ""
}

// objectToScript looks at the files that commands are redirected to and at
// those that the usual programs change.
func (g *protectedPaths) objectToScript(script shell.Script) string {
	for _, c := range script.Commands {
		for _, w := range c.Writes {
			if objection := g.objectToPath(w.Text, placeOf(c, w).path, exactly); objection != "" {
				return objection
			}
		}
		for _, change := range changes(c) {
			if objection := g.objectToPath(change.word.Text, change.place, change.how); objection != "" {
				return objection
			}
		}
		if isPatch(c.Stdin) {
			if objection := g.objectToPatch(c.Dir, c.Stdin); objection != "" {
				return objection
			}
		}
	}
	return ""
}

// fromTool is the place that a tool's path leads to. Tools take addresses of
// files, paths of Windows and a variable for the home directory too.
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

// pathPattern is a protected path: it stands for itself and all below it.
type pathPattern struct {
	text     string
	elements []string // in lower case; may hold wildcards
	home     bool     // begins in a home directory
	rooted   bool     // begins in the root directory; else anywhere
}

// reach is what a change does to a place.
type reach uint8

const (
	// exactly: it changes the place or something in it.
	exactly reach = iota
	// whole: it removes or moves the place with all that is in it.
	whole
)

func parsePathPattern(text string) (pathPattern, error) {
	p := pathPattern{text: text}
	rest := strings.TrimSuffix(text, "/")
	if rest == "" || rest == "~" {
		return p, errors.New("is everything: name what is in it")
	}
	if rest, p.home = strings.CutPrefix(rest, "~/"); !p.home {
		rest, p.rooted = strings.CutPrefix(rest, "/")
	}
	for element := range strings.SplitSeq(strings.ToLower(rest), "/") {
		if element == "" || element == "." || element == ".." {
			return p, fmt.Errorf("has an element %q", element)
		}
		if _, err := path.Match(element, ""); err != nil {
			return p, errors.New("has a wildcard that is not closed")
		}
		p.elements = append(p.elements, element)
	}
	return p, nil
}

// matches reports whether a change to a place changes what is protected.
func (p pathPattern) matches(place string, how reach) bool {
	rooted := path.IsAbs(place)
	elements := strings.Split(strings.Trim(strings.ToLower(place), "/"), "/")
	switch {
	case p.home:
		if rest, ok := belowHome(elements); ok && rooted {
			return p.begins(rest, how)
		}
		return false
	case p.rooted:
		for !rooted && len(elements) > 0 && elements[0] == ".." {
			elements = elements[1:] // far enough up is the root directory
			if len(elements) == 0 || elements[0] != ".." {
				rooted = true
			}
		}
		return rooted && p.begins(elements, how)
	}
	for i := range elements {
		if !bareGlob(elements[i]) && p.begins(elements[i:], how) {
			return true
		}
	}
	return false
}

// begins reports whether elements lead to the pattern or below it, or, of a
// change to the whole of a place, whether the pattern is below elements.
func (p pathPattern) begins(elements []string, how reach) bool {
	n := min(len(elements), len(p.elements))
	if n == 0 || n < len(p.elements) && how != whole {
		return false
	}
	for i := range n {
		if !nameMatches(p.elements[i], elements[i]) {
			return false
		}
	}
	return true
}

// nameMatches compares two names, either of which may hold wildcards. Those of
// a shell leave names that begin with a dot out.
func nameMatches(pattern, name string) bool {
	if ok, err := path.Match(pattern, name); ok && err == nil {
		return true
	}
	if strings.HasPrefix(pattern, ".") && strings.IndexAny(name, "*?") == 0 {
		return false
	}
	ok, err := path.Match(name, pattern)
	return ok && err == nil
}

// belowHome returns what of a path is below a home directory.
func belowHome(elements []string) ([]string, bool) {
	switch {
	case elements[0] == "root":
		return elements[1:], true
	case len(elements) > 1 && (elements[0] == "home" || elements[0] == "users"):
		return elements[2:], true
	}
	return nil, false
}
