package metrics

import "github.com/hookgate/hookgate/chain"

// The columns of the tables: the index of each, and the label values that the
// index stands for. A value that is out of range counts as what package chain
// takes it for.

// eventColumn is 0 before the call and 1 after it. No request has another
// event.
func eventColumn(e chain.Event) int {
	if e == chain.PostToolUse {
		return 1
	}
	return 0
}

// decisionColumn is 0 for a deny, which is also the meaning of Undecided.
func decisionColumn(d chain.Decision) int {
	if d < chain.Deny || d > chain.Replace {
		d = chain.Deny
	}
	return int(d - chain.Deny)
}

// decisionCount is the number of decisions that can be an answer.
const decisionCount = int(chain.Replace-chain.Deny) + 1

// firstCause is the first cause that is a failure.
const firstCause = chain.Uncovered + 1

func causeColumn(c chain.Cause) int {
	if c < firstCause || c > chain.Internal {
		c = chain.Internal
	}
	return int(c - firstCause)
}

func causeColumns() [][]string {
	var columns [][]string
	for _, c := range chain.Causes() {
		columns = append(columns, []string{c.String()})
	}
	return columns
}

// answerColumn is the column for an answer of a participant in that mode at the
// event. answer is a decisionColumn, or failureAnswer.
func answerColumn(e chain.Event, m chain.Mode, answer int) int {
	mode := 0
	if m == chain.Shadow {
		mode = 1
	}
	return (eventColumn(e)*2+mode)*(decisionCount+1) + answer
}

// failureAnswer stands for a failure to answer, after the decisions.
const failureAnswer = decisionCount

func answerColumns() [][]string {
	var columns [][]string
	for _, e := range chain.Events() {
		for _, m := range chain.Modes() {
			for _, d := range chain.Decisions() {
				columns = append(columns, []string{e.String(), m.String(), d.String()})
			}
			columns = append(columns, []string{e.String(), m.String(), "failure"})
		}
	}
	return columns
}

// outcomeColumn is the column for what a chain decided and why: first the
// decisions made by answers, then the two for uncovered calls, then the failure
// causes for which it denied.
func outcomeColumn(d chain.Decision, c chain.Cause) int {
	switch {
	case c == chain.NoCause:
		return decisionColumn(d)
	case c == chain.Uncovered && d == chain.Allow:
		return decisionCount + 1
	case c == chain.Uncovered:
		return decisionCount
	}
	return decisionCount + 2 + causeColumn(c)
}

func outcomeColumns() [][]string {
	var columns [][]string
	for _, d := range chain.Decisions() {
		columns = append(columns, []string{d.String(), chain.NoCause.String()})
	}
	for _, d := range []chain.Decision{chain.Deny, chain.Allow} {
		columns = append(columns, []string{d.String(), chain.Uncovered.String()})
	}
	for _, c := range chain.Causes() {
		columns = append(columns, []string{chain.Deny.String(), c.String()})
	}
	return columns
}

// denialColumn is the column for a deny at the event: a policy deny for
// NoCause, and otherwise a failure deny.
func denialColumn(e chain.Event, c chain.Cause) int {
	if c == chain.NoCause {
		return eventColumn(e) * 2
	}
	return eventColumn(e)*2 + 1
}

func denialColumns() [][]string {
	var columns [][]string
	for _, e := range chain.Events() {
		columns = append(columns, []string{e.String(), "decision"}, []string{e.String(), "failure"})
	}
	return columns
}

// flipColumn is the column for a shadow that would have changed a decision.
func flipColumn(from, to chain.Decision) int {
	return decisionColumn(from)*decisionCount + decisionColumn(to)
}

func flipColumns() [][]string {
	var columns [][]string
	for _, from := range chain.Decisions() {
		for _, to := range chain.Decisions() {
			columns = append(columns, []string{from.String(), to.String()})
		}
	}
	return columns
}

// transitionColumn is the column for a breaker's change of state. from and to
// must be known states.
func transitionColumn(from, to BreakerState) int {
	return int(from-BreakerClosed)*len(BreakerStates()) + int(to-BreakerClosed)
}

func transitionColumns() [][]string {
	var columns [][]string
	for _, from := range BreakerStates() {
		for _, to := range BreakerStates() {
			columns = append(columns, []string{from.String(), to.String()})
		}
	}
	return columns
}
