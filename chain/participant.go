package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Outcome is a decision and what belongs to it. Participants return one, and a
// chain returns one to its caller. The zero Outcome is undecided: from a
// participant it is a failure, and to a caller it is written as a deny.
type Outcome struct {
	Decision Decision
	// Reason explains the decision. The model sees the reason of a deny; other
	// reasons are for people.
	Reason string
	// Input is the rewritten input, one JSON object. Only with Modify.
	Input json.RawMessage
	// Output is the rewritten result, one JSON value. Only with Replace.
	Output json.RawMessage
	// IsError says whether that result is an error; nil keeps the previous value.
	// Only with Replace.
	IsError *bool
}

// Answer is what one participant returned: an Outcome, or the Failure that
// takes its place. The binding guarantees that the Input and Output of the
// Outcome are valid JSON.
type Answer struct {
	Outcome Outcome
	// Failure is nil if the participant answered.
	Failure *Failure
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// Call is one question to one participant.
type Call struct {
	// Request is the call as the preceding participants left it. It is shared: the
	// byte slices that its methods return must not be modified.
	Request *Request
	// Deadline is when the answer is due, and Allowed is the time from asking
	// until then.
	Deadline time.Time
	Allowed  time.Duration
	// Late is the failure cause if the answer is late: Timeout if the
	// participant's own timeout is the shorter limit, Budget if the chain's budget
	// is. A breaker counts Timeout but not Budget.
	Late Cause
	// Guard says that the participant promised to answer only allow or deny.
	Guard bool
}

// Checked returns the answer if it is valid for this call, and otherwise the
// failure that takes its place (C3, C13).
func (c Call) Checked(a Answer) Answer {
	if a.Failure != nil {
		return a
	}
	switch d := a.Outcome.Decision; {
	case d == Undecided:
		return Fail(WrongDecision, "answered without a decision", "")
	case !d.fits(c.Request.event):
		return Fail(WrongDecision, fmt.Sprintf("answered %s, which is not allowed at %s", d, c.Request.event), "")
	case c.Guard && (d == Modify || d == Replace):
		return Fail(WrongDecision, fmt.Sprintf("answered %s, but a guard may only allow or deny", d), "")
	case d == Modify && !isObject(a.Outcome.Input):
		return Fail(UnusableRewrite, "answered modify with an input that is not a JSON object", "")
	case d == Replace && len(a.Outcome.Output) == 0:
		return Fail(Malformed, "answered replace without an output", "")
	}
	return a
}

// Expired is the failure of a participant that did not answer in time.
func (c Call) Expired(detail string) Answer {
	return Fail(c.Late, fmt.Sprintf("timed out after %d ms", c.Allowed.Milliseconds()), detail)
}

// Binding reaches one participant. It must be safe for concurrent use.
type Binding interface {
	// Ask asks the participant and returns its answer or a failure by
	// call.Deadline. It returns early if ctx is done: nobody reads the result
	// then, and the binding must not count the call as a success or a failure.
	Ask(ctx context.Context, call Call) Answer
}

// Participant is one entry of a chain. It must not be modified after it is
// passed to [New].
type Participant struct {
	// Name identifies it in reasons. It need not be unique.
	Name string
	Kind Kind
	// Binding reaches the participant.
	Binding Binding
	// Events are the events at which it is asked.
	Events []Event
	// Tools are the tools that it is asked about: exact names, in which * stands
	// for any run of characters. Empty means every tool.
	Tools []string
	// When, if set, is the condition under which it is asked. It sees the call in
	// its current form. It returns by until, with true if it could not be evaluated.
	When func(r *Request, until time.Time) bool
	// Timeout is the longest that an answer may take. It must be positive.
	Timeout time.Duration
	// FirstTimeout replaces a shorter Timeout while Cold reports that the
	// participant has to start before it can answer. Cold may be nil. It is called
	// before every question.
	FirstTimeout time.Duration
	Cold         func() bool
	// OwnTime exempts the participant from the chain's budget: the budget does not
	// shorten its timeout, and its time does not count towards the budget. It is
	// for participants that wait for a person. Guards and shadows cannot have it.
	OwnTime   bool
	OnFailure OnFailure
	// Guard promises to answer only allow or deny, so that adjacent guards can be
	// asked concurrently.
	Guard bool
	Mode  Mode
	// Shadows limits the shadow calls to this entry that are in flight, across all
	// chains. Calls over the limit fail as Saturated. It is required with Shadow
	// and otherwise unused.
	Shadows *ShadowBound
	// Observer is told of every answer. It may be nil.
	Observer ParticipantObserver
}

// patience is the longest that the participant's next answer may take.
func (p *Participant) patience() time.Duration {
	if p.FirstTimeout > p.Timeout && p.Cold != nil && p.Cold() {
		return p.FirstTimeout
	}
	return p.Timeout
}

// ShadowBound limits the concurrent shadow calls to one entry. Create it with
// [NewShadowBound].
type ShadowBound struct{ slots chan struct{} }

// NewShadowBound returns a limit of the given number of concurrent calls.
func NewShadowBound(calls int) *ShadowBound { return &ShadowBound{make(chan struct{}, calls)} }

// ParticipantObserver is told what one participant did. Its methods are called
// concurrently and must not block.
type ParticipantObserver interface {
	// Answered is called with each answer or failure, its event and how long it
	// took. It is not called if the caller hung up.
	Answered(event Event, answer Answer, took time.Duration)
	// FailedOpen is called with each failure that was allowed to pass.
	FailedOpen(cause Cause)
	// Flipped is called if obeying a shadow would have changed the chain's
	// decision from one to another.
	Flipped(from, to Decision)
}

// Observer is told what a chain decided. Its method is called concurrently and
// must not block.
type Observer interface {
	// Decided is called with every verdict, except if the caller hung up.
	Decided(req *Request, verdict *Verdict)
}

// Verdict is what a chain decided and why.
type Verdict struct {
	// Outcome is the answer to the caller.
	Outcome Outcome
	// Cause is NoCause if answers made the outcome, the failure's cause for a
	// failure deny, and Uncovered if no participant applied.
	Cause Cause
	// By is the participant that denied, or nil.
	By *Participant
	// Abandoned says that the caller hung up. The outcome is then a deny that
	// nobody reads.
	Abandoned bool
	// Steps are the participants that were asked, in fold order, without shadows.
	Steps []Step
	// Detail describes a fault of the gateway itself, for the operator.
	Detail string
	// Took is how long the decision took.
	Took time.Duration
}

// Step is one participant's part of a verdict.
type Step struct {
	Participant *Participant
	Answer      Answer
	Took        time.Duration
}
