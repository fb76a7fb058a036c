package config

import (
	"slices"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// Chain is what the files come to for one chain: the operator's hooks and its
// own, and what holds for them together.
type Chain struct {
	Name string
	// Budget is the longest a decision may take: the smaller of the operator's
	// and its own. The operator's is 20 s where it does not say, and so is that
	// of a chain without an operator.
	Budget time.Duration
	// OnUncovered denies where either file says so, and allows where neither
	// does.
	OnUncovered chain.Coverage
	// Hooks are the operator's in their order, then its own.
	Hooks []*Hook
}

// Chain returns the chain of a name; [OperatorChain] is the operator's own. It
// returns false where there is no such file.
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

// WorstCase is how long the hooks of the chain can take together at an event,
// if each takes all of its time, for the tool for which that is longest. It is
// never less than that. Hooks that are asked one after the other add up, and a
// run of neighbouring guards counts with its longest, since they are asked at
// the same time. Shadows are waited for by nobody, and the time of a person is no
// part of a budget.
func (c Chain) WorstCase(event chain.Event) time.Duration {
	// Any tool that no hook names exactly meets, at most, the hooks that match
	// by a pattern or have no list.
	longest := worst(c.Hooks, func(h *Hook) bool {
		return h.Event == event && (len(h.Tools) == 0 || slices.ContainsFunc(h.Tools, isPattern))
	})
	for _, h := range c.Hooks {
		for _, tool := range h.Tools {
			if !isPattern(tool) {
				longest = max(longest, worst(c.Hooks, func(h *Hook) bool { return h.Event == event && h.covers(tool) }))
			}
		}
	}
	return longest
}

// PersonCase is how long people can take together at an event, on top of what the
// hooks do.
func (c Chain) PersonCase(event chain.Event) time.Duration {
	var total time.Duration
	for _, h := range c.Hooks {
		if h.Event == event && h.IsApproval() {
			total += h.Timeout
		}
	}
	return total
}

// worst is how long the hooks that apply can take together.
func worst(hooks []*Hook, applies func(*Hook) bool) time.Duration {
	var total, run time.Duration // run is of the guards that are asked together
	for _, h := range hooks {
		switch {
		case h.Mode == chain.Shadow || !applies(h): // ends no run
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
