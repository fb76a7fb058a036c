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

// destructive denies shell commands that destroy what nobody can bring back.
type destructive struct {
	name     string
	commands commandReader
	rules    []shellRule
}

// shellRule is one kind of destruction.
type shellRule struct {
	name string
	// words are the programs it is about: a command line without any of them
	// is of no interest to it.
	words []string
	// object says what is wrong with a command; empty is nothing.
	object func(call shellCall) string
}

// shellCall is one command of a script.
type shellCall struct {
	shell.Command
	script    shell.Script
	workspace string
	unread    []int // as unreadSources makes it
	meter     *work.Meter
}

// ruin tells what is lost if everything is that a word of the command names, as
// [place.ruin] does. A word that is empty names nothing.
func (c shellCall) ruin(w shell.Word) string {
	const directories = 32 // are compared, some
	if w.Text == "" || !c.meter.Spend(directories+(len(c.Dir)+len(w.Text))/8) {
		return ""
	}
	return placeOf(c.Command, w).ruin(c.workspace)
}

// shellRules are all the kinds, in the order in which they are asked.
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

// objectTo asks the rule about each command of the script of a call.
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
