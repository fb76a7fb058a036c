package guard

import (
	"context"
	"slices"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
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
	for _, rule := range shellRules() {
		if !slices.Contains(skipped, rule.name) {
			g.rules = append(g.rules, rule)
			g.commands.words = append(g.commands.words, rule.words...)
		}
	}
	g.commands.fields = o.texts("fields")
	return g
}

// Name implements transport.Interceptor.
func (g *destructive) Name() string { return g.name }

// Intercept implements transport.Interceptor.
func (g *destructive) Intercept(ctx context.Context, req *chain.Request) (chain.Outcome, error) {
	workspace := workspaceOf(req)
	return g.commands.check(ctx, req, func(script shell.Script) string {
		for _, rule := range g.rules {
			if rule.object == nil {
				if script.Bomb {
					return "it defines a function that starts itself without end (a fork bomb)"
				}
				continue
			}
			for _, c := range script.Commands {
				if objection := rule.object(shellCall{c, script, workspace}); objection != "" {
					return objection
				}
			}
		}
		return ""
	})
}
