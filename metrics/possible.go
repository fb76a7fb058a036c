package metrics

import (
	"slices"

	"github.com/hookgate/hookgate/chain"
)

// What a configuration makes possible, as columns of the tables (M2).

// columns is a bit set of columns.
type columns uint64

func (s *columns) add(column int) { *s |= 1 << column }

// rewrite is the decision that rewrites at the event.
func rewrite(e chain.Event) chain.Decision {
	if e == chain.PostToolUse {
		return chain.Replace
	}
	return chain.Modify
}

// decisions are those that the participant may answer at the event.
func (p *Participant) decisions(e chain.Event) []chain.Decision {
	if p.Guard {
		return []chain.Decision{chain.Deny, chain.Allow}
	}
	return []chain.Decision{chain.Deny, chain.Allow, rewrite(e)}
}

// causes are the possible failures of the participant at the event: those that
// its binding reports, and those that the chain derives from an answer.
func (p *Participant) causes(e chain.Event) []chain.Cause {
	made := []chain.Cause{chain.Timeout, chain.Panic, chain.WrongDecision}
	if e == chain.PostToolUse {
		made = append(made, chain.Malformed) // a replace without an output
	} else {
		made = append(made, chain.UnusableRewrite)
	}
	if p.Mode == chain.Shadow {
		made = append(made, chain.Saturated)
	} else {
		made = append(made, chain.Budget)
	}
	for _, c := range p.Causes {
		switch {
		case c < firstCause || c > chain.Internal:
		case c == chain.UnusableRewrite || c == chain.Budget: // reported by the chain, handled above
		case c == chain.BreakerOpen && !p.HasBreaker:
		default:
			made = append(made, c)
		}
	}
	return made
}

// answers returns the columns of its answers, and those of its failures.
func (p *Participant) answers() (answers, failures columns) {
	for _, e := range p.Events {
		for _, d := range p.decisions(e) {
			answers.add(answerColumn(e, p.Mode, decisionColumn(d)))
		}
		answers.add(answerColumn(e, p.Mode, failureAnswer))
		for _, c := range p.causes(e) {
			failures.add(causeColumn(c))
		}
	}
	return answers, failures
}

// failsOpen returns the columns of the failures that may be allowed to pass. An
// exhausted budget never is.
func (p *Participant) failsOpen() (causes columns) {
	if p.Mode == chain.Shadow || p.OnFailure != chain.AllowOnFailure {
		return 0
	}
	for _, e := range p.Events {
		for _, c := range p.causes(e) {
			if c != chain.Budget {
				causes.add(causeColumn(c))
			}
		}
	}
	return causes
}

// transitions returns the columns of the possible changes of a breaker's state.
func (p *Participant) transitions() (ways columns) {
	if p.HasBreaker {
		ways.add(transitionColumn(BreakerClosed, BreakerOpen))
		ways.add(transitionColumn(BreakerOpen, BreakerHalfOpen))
		ways.add(transitionColumn(BreakerHalfOpen, BreakerOpen))
		ways.add(transitionColumn(BreakerHalfOpen, BreakerClosed))
	}
	return ways
}

// enforces reports whether the chain obeys the participant at the event.
func (p *Participant) enforces(e chain.Event) bool {
	return p.Mode == chain.Enforce && slices.Contains(p.Events, e)
}

// flips returns the columns of the decisions that a shadow could have changed.
// A deny always stays a deny.
func (c *Chain) flips(p *Participant) (turns columns) {
	for _, e := range p.Events {
		allowed, rewritten := c.uncovered() == chain.Allow, false
		for _, other := range c.Participants {
			if other.enforces(e) {
				allowed = true
				rewritten = rewritten || !other.Guard
			}
		}
		if allowed {
			turns.add(flipColumn(chain.Allow, chain.Deny))
		}
		if allowed && !p.Guard {
			turns.add(flipColumn(chain.Allow, rewrite(e)))
		}
		if rewritten {
			turns.add(flipColumn(rewrite(e), chain.Deny))
		}
	}
	return turns
}

// denials returns the columns of the ways in which the participant can deny.
func (p *Participant) denials() (why columns) {
	for _, e := range p.Events {
		why.add(denialColumn(e, chain.NoCause))
		why.add(denialColumn(e, chain.Budget)) // whatever its failure policy
	}
	return why
}

// outcomes returns the columns of what the chain can decide at the event for
// the tools under one label. asked says, for each participant, about how many
// of these tools it is asked.
func (c *Chain) outcomes(e chain.Event, asked []reach) (decided columns) {
	decided.add(outcomeColumn(chain.Deny, chain.Internal))
	covered := reachesNone
	for i, p := range c.Participants {
		if !p.enforces(e) || asked[i] == reachesNone {
			continue
		}
		covered = max(covered, asked[i])
		for _, d := range p.decisions(e) {
			decided.add(outcomeColumn(d, chain.NoCause))
		}
		decided.add(outcomeColumn(chain.Deny, chain.Budget))
		if p.OnFailure == chain.DenyOnFailure {
			for _, cause := range p.causes(e) {
				decided.add(outcomeColumn(chain.Deny, cause))
			}
		}
	}
	if covered != reachesAll {
		decided.add(outcomeColumn(c.uncovered(), chain.Uncovered))
	}
	return decided
}

// uncovered is the decision for an uncovered call.
func (c *Chain) uncovered() chain.Decision {
	if c.OnUncovered == chain.AllowUncovered {
		return chain.Allow
	}
	return chain.Deny
}
