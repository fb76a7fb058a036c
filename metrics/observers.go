package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookgate/hookgate/chain"
)

// ParticipantObserver counts what one participant does. It is safe for
// concurrent use, before and after its configuration was active.
type ParticipantObserver struct {
	mode        chain.Mode
	answers     *row
	failures    *row
	failOpen    *row
	flips       *row // nil where it enforces
	transitions *row // nil where it has no breaker
	duration    prometheus.Observer

	// timeout is how long a call may take that finds it warm.
	timeout                          time.Duration
	firstCalls, connections, retries *row // nil where it is not remote
	handshakes                       *row // nil where it is not reached by TLS
	warmups                          *row // nil where it is not warmed up
	canaries                         *row // nil where there is none
}

var _ chain.ParticipantObserver = (*ParticipantObserver)(nil)

// Answered counts an answer or a failure. The time counts only where the
// participant was asked: an open breaker must not make it look fast.
func (o *ParticipantObserver) Answered(event chain.Event, answer chain.Answer, took time.Duration) {
	if answer.Failure == nil {
		o.answers.inc(answerColumn(event, o.mode, decisionColumn(answer.Outcome.Decision)))
		o.duration.Observe(took.Seconds())
		return
	}
	o.answers.inc(answerColumn(event, o.mode, failureAnswer))
	o.failures.inc(causeColumn(answer.Failure.Cause))
	if wasAsked(answer.Failure.Cause, took) {
		o.duration.Observe(took.Seconds())
	}
}

// wasAsked reports whether a failure came after the participant was asked.
func wasAsked(cause chain.Cause, took time.Duration) bool {
	return took > 0 && cause != chain.BreakerOpen && cause != chain.Saturated
}

// FailedOpen counts a failure that let a call pass.
func (o *ParticipantObserver) FailedOpen(cause chain.Cause) { o.failOpen.inc(causeColumn(cause)) }

// Flipped counts a decision that a shadow would have turned.
func (o *ParticipantObserver) Flipped(from, to chain.Decision) { o.flips.inc(flipColumn(from, to)) }

// Transition counts that the participant's breaker went from one state to
// another. What is not a state is not counted.
func (o *ParticipantObserver) Transition(from, to BreakerState) {
	if from.known() && to.known() {
		o.transitions.inc(transitionColumn(from, to))
	}
}

// ChainObserver counts what one chain decides. It is safe for concurrent use,
// before and after its configuration was active.
type ChainObserver struct {
	tools     *tools
	durations [2]prometheus.Observer // by event
	decisions [2][]*row              // by event and tool
	denials   map[string][]*row      // by participant and tool
}

var _ chain.Observer = (*ChainObserver)(nil)

// Decided counts a verdict.
func (o *ChainObserver) Decided(req *chain.Request, verdict *chain.Verdict) {
	event := eventColumn(req.Event())
	tool := o.tools.find(req.ToolName(), req.ToolAlias())
	o.durations[event].Observe(verdict.Took.Seconds())
	o.decisions[event][tool].inc(outcomeColumn(verdict.Outcome.Decision, verdict.Cause))
	if verdict.By == nil {
		return
	}
	if rows, ok := o.denials[verdict.By.Name]; ok {
		if rows[tool] == nil { // the one who denied names the tool by its alias alone
			tool = o.tools.find(req.ToolAlias())
		}
		rows[tool].inc(denialColumn(req.Event(), verdict.Cause))
	}
}

// deniedBy sets the row in which denials by the participant of the tool are
// counted. Participants of one name have one.
func (o *ChainObserver) deniedBy(p *Participant, tool int, r *row) {
	if o.denials[p.Name] == nil {
		o.denials[p.Name] = make([]*row, len(o.tools.labels))
	}
	o.denials[p.Name][tool] = r
}
