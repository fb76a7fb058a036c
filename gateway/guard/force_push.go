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

// NoForcePush is the name of the guard against force-pushes.
const NoForcePush = "no-force-push"

// noForcePush denies git pushes that can remove other people's commits.
type noForcePush struct {
	name         string
	commands     commandReader
	allowLease   bool
	allowDeletes bool
}

func newNoForcePush(name string, o *options) Guard {
	return &noForcePush{
		name: name,
		// Every command that pushes contains one of these words.
		commands:     readerOf(o, "push", "send-pack"),
		allowLease:   o.flag("allow_lease"),
		allowDeletes: o.flag("allow_deletes"),
	}
}

// Name implements transport.Interceptor.
func (g *noForcePush) Name() string { return g.name }

// Intercept implements transport.Interceptor.
func (g *noForcePush) Intercept(ctx context.Context, req *chain.Request) (chain.Outcome, error) {
	m := work.For(ctx, len(req.Input()))
	if strings.Contains(strings.ToLower(req.ToolName()+" "+req.ToolAlias()), "push") {
		forced, err := g.forcedByMember(m, req)
		if forced || err != nil && m.Err() == nil { // otherwise verdict reports why
			return deny(forcedReason), err
		}
	}
	return verdict(m, g.commands.check(m, req, g.object))
}

const forcedReason = "force-push is not allowed: it rewrites history that others have"

// forcedByMember reports whether a push tool is told to force by a member of
// its input.
func (g *noForcePush) forcedByMember(m *work.Meter, req *chain.Request) (forced bool, err error) {
	wanted := []string{"force", "force_with_lease", "forceWithLease", "mirror"}
	err = eachObject(m, req.Input(), wanted, func(members []member) error {
		for _, m := range members {
			mayLease := g.allowLease && strings.Contains(m.name, "ease")
			forced = forced || m.kind == trueMember && !mayLease
		}
		return nil
	})
	return forced, err
}

func (g *noForcePush) object(m *work.Meter, script shell.Script) string {
	return g.objectToAny(m, script, 0)
}

func (g *noForcePush) objectToAny(m *work.Meter, script shell.Script, aliases int) string {
	for _, c := range script.Commands {
		if !m.Spend(1 + len(c.Args)) {
			return ""
		}
		if objection := g.objectTo(m, c, aliases); objection != "" {
			return objection
		}
	}
	return ""
}

// objectTo checks one command, including aliases that its own words define.
func (g *noForcePush) objectTo(m *work.Meter, c shell.Command, aliases int) string {
	switch c.Name {
	case "git", "hub":
	case "git-push", "git-send-pack":
		return g.objectToPush(c.Args)
	default:
		return ""
	}
	settings, words := gitSettings(c.Args)
	if len(words) == 0 {
		return ""
	}
	command := strings.ToLower(words[0].Text)
	switch command {
	case "push", "send-pack":
		for _, s := range settings {
			if forcesByDefault(s.key, s.value) {
				return forcedReason
			}
		}
		return g.objectToPush(words[1:])
	case "config":
		return g.objectToConfig(m, argumentsOf(words[1:]).operands, aliases)
	}
	for _, s := range settings {
		if s.key == "alias."+command {
			return g.objectToAlias(m, s.value, words[1:], aliases)
		}
	}
	return ""
}

// objectToConfig checks a persistent setting: it could turn a later,
// innocent-looking push into a forced one.
func (g *noForcePush) objectToConfig(m *work.Meter, operands []shell.Word, aliases int) string {
	for i := range len(operands) - 1 {
		key, value := strings.ToLower(operands[i].Text), operands[i+1].Text
		if forcesByDefault(key, value) {
			return forcedReason
		}
		if strings.HasPrefix(key, "alias.") {
			return g.objectToAlias(m, value, nil, aliases)
		}
	}
	return ""
}

// objectToAlias expands an alias as git does: a git command, or a shell command
// after an exclamation mark.
func (g *noForcePush) objectToAlias(m *work.Meter, value string, rest []shell.Word, aliases int) string {
	const most = 5
	if aliases == most {
		return fmt.Sprintf("the command could not be read: its aliases lead to more than %d further aliases", most)
	}
	text, ok := strings.CutPrefix(value, "!")
	if !ok {
		text = "git " + value
	}
	return readAnd(m, func(m *work.Meter, script shell.Script) string {
		if last := len(script.Commands) - 1; last >= 0 {
			c := &script.Commands[last]
			c.Args = slices.Concat(c.Args, rest)
		}
		return g.objectToAny(m, script, aliases+1)
	}, text, "")
}

// setting is the value of one -c option of git.
type setting struct{ key, value string }

// gitSettings splits git's arguments into the settings of -c and the words from
// the git command on.
func gitSettings(words []shell.Word) (settings []setting, rest []shell.Word) {
	for i := 0; i < len(words); i++ {
		switch text := words[i].Text; {
		case text == "-c" && i+1 < len(words):
			i++
			key, value, _ := strings.Cut(words[i].Text, "=")
			settings = append(settings, setting{strings.ToLower(key), value})
		case text == "-C", text == "--git-dir", text == "--work-tree", text == "--namespace", text == "--super-prefix",
			text == "--config-env", text == "--exec-path", text == "--attr-source":
			i++
		case strings.HasPrefix(text, "-"), text == "":
		default:
			return settings, words[i:]
		}
	}
	return settings, nil
}

// forcesByDefault reports whether a setting makes every push a forced one.
func forcesByDefault(key, value string) bool {
	if !strings.HasPrefix(key, "remote.") {
		return false
	}
	return strings.HasSuffix(key, ".push") && strings.HasPrefix(value, "+") ||
		strings.HasSuffix(key, ".mirror") && value != "false" && value != "0" && value != "no" && value != "off"
}

// objectToPush checks the arguments of a push. Git accepts abbreviated options.
func (g *noForcePush) objectToPush(words []shell.Word) string {
	args := argumentsOf(words, "-o", "--push-option", "--repo", "--receive-pack", "--exec")
	const deletes = "deleting a remote branch is not allowed: pushed again, it is a force-push"
	switch {
	case pushLetter(args, "f"), args.long("force"), args.long("mirror"):
		return forcedReason
	case args.long("force-with-lease") && !g.allowLease:
		return forcedReason
	case !g.allowDeletes && (pushLetter(args, "d") || args.long("delete") || args.long("prune")):
		return deletes
	}
	for i, w := range args.operands {
		switch {
		case strings.HasPrefix(w.Text, "+"):
			return forcedReason
		case strings.HasPrefix(w.Text, ":") && len(w.Text) > 1 && i > 0 && !g.allowDeletes:
			return deletes
		}
	}
	return ""
}

// pushLetter reports whether a short option is given. What follows an o in the
// same word is a value.
func pushLetter(args arguments, letter string) bool {
	for _, f := range args.flags {
		letters, _, _ := strings.Cut(f.Text[1:], "o")
		if !strings.HasPrefix(letters, "-") && strings.Contains(letters, letter) {
			return true
		}
	}
	return false
}
