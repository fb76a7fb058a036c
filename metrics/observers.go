package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookgate/hookgate/chain"
)

// ParticipantObserver counts what one participant does. It is safe for
// concurrent use, and may be used before its configuration is activated and
// after it was replaced.
type ParticipantObserver struct {
	mode        chain.Mode
	answers     *row
	failures    *row
	failOpen    *row
	flips       *row // nil unless it is a shadow
	transitions *row // nil if it has no breaker
	duration    prometheus.Observer

	// timeout is the limit for a call while the participant is warm.
	timeout                          time.Duration
	firstCalls, connections, retries *row // nil if it is not remote
	handshakes                       *row // nil if it is not reached over TLS
	warmups                          *row // nil if it is not kept warm
	canaries                         *row // nil if it has no canary
}

var _ chain.ParticipantObserver = (*ParticipantObserver)(nil)

// Answered counts an answer or a failure. It records the duration only if the
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

// wasAsked reports whether the failed call reached the participant.
func wasAsked(cause chain.Cause, took time.Duration) bool {
	return took > 0 && cause != chain.BreakerOpen && cause != chain.Saturated
}

// FailedOpen counts a failure that was allowed to pass.
func (o *ParticipantObserver) FailedOpen(cause chain.Cause) { o.failOpen.inc(causeColumn(cause)) }

// Flipped counts a decision that a shadow would have changed.
func (o *ParticipantObserver) Flipped(from, to chain.Decision) { o.flips.inc(flipColumn(from, to)) }

// Transition counts a change of the breaker's state. It ignores unknown states.
func (o *ParticipantObserver) Transition(from, to BreakerState) {
	if from.known() && to.known() {
		o.transitions.inc(transitionColumn(from, to))
	}
}

// ChainObserver counts what one chain decides. It is safe for concurrent use,
// and may be used before its configuration is activated and after it was
// replaced.
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
		if rows[tool] == nil { // the participant that denied matches the tool only by its alias
			tool = o.tools.find(req.ToolAlias())
		}
		rows[tool].inc(denialColumn(req.Event(), verdict.Cause))
	}
}

// deniedBy sets the row that counts the participant's denials of the tool.
// Participants with the same name share one row.
func (o *ChainObserver) deniedBy(p *Participant, tool int, r *row) {
	if o.denials[p.Name] == nil {
		o.denials[p.Name] = make([]*row, len(o.tools.labels))
	}
	o.denials[p.Name][tool] = r
}
