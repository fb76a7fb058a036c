package guard

import (
	"context"
	"slices"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// DestructiveShell is the name of the guard against commands that destroy.
const DestructiveShell = "destructive-shell"

// destructive denies shell commands whose destruction cannot be undone.
type destructive struct {
	name     string
	commands commandReader
	rules    []shellRule
}

// shellRule detects one kind of destruction.
type shellRule struct {
	name string
	// words are the programs that it is about: a command line that contains
	// none of them is irrelevant to it.
	words []string
	// object explains what is wrong with a command; "" means nothing.
	object func(call shellCall) string
}

// shellCall is one command of a script.
type shellCall struct {
	shell.Command
	script    shell.Script
	workspace string
	unread    []int // computed by unreadSources
	meter     *work.Meter
}

// ruin describes what is lost if everything that w names is destroyed, as
// [place.ruin] does. An empty word names nothing.
func (c shellCall) ruin(w shell.Word) string {
	const directories = 32 // approximately the number of directories it compares
	if w.Text == "" || !c.meter.Spend(directories+(len(c.Dir)+len(w.Text))/8) {
		return ""
	}
	return placeOf(c.Command, w).ruin(c.workspace)
}

// shellRules returns all rules, in the order in which they are checked.
func shellRules() []shellRule {
	return []shellRule{
		{"remove", []string{"rm"}, removes},
		{"permissions", []string{"chmod", "chown", "chgrp"}, changesPermissions},
		{"disk", diskWords(), writesDisk},
		{"fork-bomb", []string{"("}, nil},
		{"power", []string{"shutdown", "reboot", "halt", "poweroff", "init", "systemctl", "kill"}, powersOff},
		{"find-delete", []string{"find"}, findDeletes},
		{"piped-script", append(fetchers(), decoders()...), runsUnread},
		{"kubernetes", []string{"kubectl"}, deletesCluster},
		{"infrastructure", infrastructureWords(), destroysInfrastructure},
		{"database", databaseWords(), dropsDatabase},
	}
}

func names(rules []shellRule) []string {
	all := make([]string, len(rules))
	for i, r := range rules {
		all[i] = r.name
	}
	return all
}

func newDestructive(name string, o *options) Guard {
	g := &destructive{name: name}
	skipped := o.words("except", names(shellRules()))
	var words []string
	for _, rule := range shellRules() {
		if !slices.Contains(skipped, rule.name) {
			g.rules = append(g.rules, rule)
			words = append(words, rule.words...)
		}
	}
	g.commands = readerOf(o, words...)
	return g
}

// Name implements transport.Interceptor.
func (g *destructive) Name() string { return g.name }

// Intercept implements transport.Interceptor.
func (g *destructive) Intercept(ctx context.Context, req *chain.Request) (chain.Outcome, error) {
	workspace := workspaceOf(req)
	m := work.For(ctx, len(req.Input()))
	return verdict(m, g.commands.check(m, req, func(m *work.Meter, script shell.Script) string {
		call := shellCall{script: script, workspace: workspace, unread: unreadSources(script), meter: m}
		for _, rule := range g.rules {
			if objection := rule.objectTo(call); objection != "" {
				return objection
			}
		}
		return ""
	}))
}

// objectTo checks each command in the script of a call.
func (r shellRule) objectTo(call shellCall) string {
	if r.object == nil {
		if call.script.Bomb {
			return "it defines a function that starts itself without end (a fork bomb)"
		}
		return ""
	}
	for _, c := range call.script.Commands {
		if !call.meter.Spend(1) {
			return ""
		}
		call.Command = c
		if objection := r.object(call); objection != "" {
			return objection
		}
	}
	return ""
}
