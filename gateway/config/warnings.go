package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookgate/hookgate/chain"
)

func isPattern(tool string) bool { return strings.Contains(tool, "*") }

// covers reports whether a hook is asked about a tool.
func (h *Hook) covers(tool string) bool {
	return len(h.Tools) == 0 || slices.ContainsFunc(h.Tools, func(pattern string) bool { return chain.MatchTool(pattern, tool) })
}

// warned adds the warnings that concern whole chains, and returns all warnings
// in order.
func (l *loader) warned() []Warning {
	var all []Warning
	for _, name := range l.set.chainNames() {
		c, _ := l.set.Chain(name)
		f := l.set.file(name)
		found := append(l.warnings[name], warnEmpty(c, f)...)
		found = append(found, warnTimes(c, f)...)
		sortWarnings(found)
		all = append(all, found...)
	}
	return append(all, l.warnings[""]...)
}

// chainNames returns the names of all chains, the operator's first.
func (s *Set) chainNames() []string {
	names := slices.Sorted(maps.Keys(s.Chains))
	if s.Operator != nil {
		names = slices.Insert(names, 0, OperatorChain)
	}
	return names
}

// file returns a chain's own file.
func (s *Set) file(name string) *File {
	if name == OperatorChain {
		return s.Operator
	}
	return s.Chains[name]
}

// warnEmpty warns of a chain that decides nothing.
func warnEmpty(c Chain, f *File) []Warning {
	if c.OnUncovered == chain.DenyUncovered || slices.ContainsFunc(c.Hooks, func(h *Hook) bool { return h.Mode == chain.Enforce }) {
		return nil
	}
	why := "this chain has no hooks: every call is allowed"
	if len(c.Hooks) > 0 {
		why = "all hooks of this chain are in shadow mode: every call is allowed"
	}
	return []Warning{{Position{File: f.Path, Line: f.budgetAt.line, Column: f.budgetAt.column}, why}}
}

// warnTimes warns of timeouts that exceed the budget.
func warnTimes(c Chain, f *File) []Warning {
	var all []Warning
	for _, h := range f.Hooks {
		key := "timeout_ms"
		if h.FirstTimeout > 0 {
			key = "first_call_timeout_ms"
		}
		if h.Patience() > c.Budget && !h.IsApproval() {
			all = append(all, Warning{h.Position, fmt.Sprintf(
				"%s %d is longer than the budget of the whole chain (budget_ms %d)",
				key, h.Patience().Milliseconds(), c.Budget.Milliseconds())})
		}
	}
	if c.Name != OperatorChain && len(f.Hooks) == 0 && f.Budget == 0 {
		return all // only the operator's hooks, which are reported for the operator's chain
	}
	longest, at := time.Duration(0), chain.PreToolUse
	for _, event := range chain.Events() {
		if t := c.WorstCase(event); t > longest {
			longest, at = t, event
		}
	}
	if longest > c.Budget {
		all = append(all, Warning{
			Position{File: f.Path, Line: f.budgetAt.line, Column: f.budgetAt.column},
			fmt.Sprintf("the hooks of chain %q can take %d ms in total at %s, but budget_ms is %d: a chain that runs out of time denies",
				c.Name, longest.Milliseconds(), at, c.Budget.Milliseconds()),
		})
	}
	return all
}
