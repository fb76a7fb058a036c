package config

import (
	"slices"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// Chain is the effective configuration of one chain: the operator's hooks and its
// own, with their common settings.
type Chain struct {
	Name string
	// Budget is the maximum duration of a decision: the smaller one of the
	// operator's and the chain's own, if the chain sets one. An operator's file
	// without a budget counts as 20 s, and so does a chain that has neither.
	Budget time.Duration
	// OnUncovered denies if either file says so, otherwise allows.
	OnUncovered chain.Coverage
	// Hooks are the operator's hooks in order, then the chain's own.
	Hooks []*Hook
}

// Chain returns the named chain; [OperatorChain] is the operator's own. It
// returns false if there is no such file.
func (s *Set) Chain(name string) (Chain, bool) {
	own := s.Chains[name]
	if name == OperatorChain {
		own = s.Operator
	}
	if own == nil {
		return Chain{}, false
	}
	files := []*File{own}
	if s.Operator != nil && own != s.Operator {
		files = []*File{s.Operator, own}
	}
	c := Chain{Name: name, Budget: files[0].Budget, OnUncovered: chain.AllowUncovered}
	if c.Budget == 0 {
		c.Budget = defaultBudget
	}
	for _, f := range files {
		if f.Budget > 0 {
			c.Budget = min(c.Budget, f.Budget)
		}
		if f.OnUncovered != nil && *f.OnUncovered == chain.DenyUncovered {
			c.OnUncovered = chain.DenyUncovered
		}
		c.Hooks = append(c.Hooks, f.Hooks...)
	}
	return c, true
}

// WorstCase returns an upper bound of how long the chain's hooks can take at an
// event if each uses its whole timeout, for the tool with the longest sum. Hooks
// that are asked in sequence add up; a run of neighboring guards counts with its
// longest timeout, because they are asked concurrently. If a chain names too many
// tools to look at each, all of its hooks count as asked for one. Shadows do not count,
// because nothing waits for them, nor does the time of a person, which is not
// part of the budget.
func (c Chain) WorstCase(event chain.Event) time.Duration {
	// A tool that no hook names exactly is covered by at most the hooks with a
	// matching pattern or without a list.
	longest := worst(c.Hooks, func(h *Hook) bool {
		return h.Event == event && (len(h.Tools) == 0 || slices.ContainsFunc(h.Tools, isPattern))
	})
	named, entries := map[string]bool{}, len(c.Hooks)
	for _, h := range c.Hooks {
		entries += len(h.Tools)
		for _, tool := range h.Tools {
			if !isPattern(tool) {
				named[tool] = true
			}
		}
	}
	if len(named) > mostCompared/max(entries, 1) {
		return worst(c.Hooks, func(h *Hook) bool { return h.Event == event })
	}
	for tool := range named {
		longest = max(longest, worst(c.Hooks, func(h *Hook) bool { return h.Event == event && h.covers(tool) }))
	}
	return longest
}

// mostCompared is how many comparisons of tools WorstCase makes. A tenant's file
// can name so many that all of them would delay every reload by minutes.
const mostCompared = 10_000_000

// PersonCase returns how long people can take in total at an event, in addition
// to WorstCase.
func (c Chain) PersonCase(event chain.Event) time.Duration {
	var total time.Duration
	for _, h := range c.Hooks {
		if h.Event == event && h.IsApproval() {
			total += h.Timeout
		}
	}
	return total
}

// worst returns how long the hooks that apply can take in total.
func worst(hooks []*Hook, applies func(*Hook) bool) time.Duration {
	var total, run time.Duration // run is the longest timeout in the current run of guards
	for _, h := range hooks {
		switch {
		case h.Mode == chain.Shadow || !applies(h): // does not end a run
		case h.IsApproval():
			total += run
			run = 0
		case h.Guard:
			run = max(run, h.Patience())
		default:
			total += run + h.Patience()
			run = 0
		}
	}
	return total + run
}
