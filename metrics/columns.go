package metrics

import "github.com/hookgate/hookgate/chain"

// The columns of the tables, each as an index and as the label values that the
// index stands for. What is out of range counts as the value that the
// vocabulary of package chain reads it as.

// eventColumn is 0 before the call and 1 after it; no request carries another
// event.
func eventColumn(e chain.Event) int {
	if e == chain.PostToolUse {
		return 1
	}
	return 0
}

// decisionColumn is 0 for a deny: that is what an undecided outcome means.
func decisionColumn(d chain.Decision) int {
	if d < chain.Deny || d > chain.Replace {
		d = chain.Deny
	}
	return int(d - chain.Deny)
}

// decisionCount is the number of decisions that can be answered.
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

// answerColumn is what a participant in that mode answered at the event. A
// failure is one more answer after the decisions.
func answerColumn(e chain.Event, m chain.Mode, answer int) int {
	mode := 0
	if m == chain.Shadow {
		mode = 1
	}
	return (eventColumn(e)*2+mode)*(decisionCount+1) + answer
}

// failureAnswer is the answer of one that could not answer.
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

// outcomeColumn is what a chain decided and why: first the decisions made by
// answers, then the two for calls that were not covered, then the causes for
// which it denied.
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

// denialColumn is why a participant's part in a call at the event was a deny:
// it said no, or it could not answer.
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

// flipColumn is from which decision to which a shadow would have turned.
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

// transitionColumn is from which state to which a breaker went; both must be
// states.
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
