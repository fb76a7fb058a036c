package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Outcome is a decision with what belongs to it: what a participant answers,
// and what a chain answers its caller. The zero Outcome is no decision; from a
// participant it is a failure, and written to a caller it is a deny.
type Outcome struct {
	Decision Decision
	// Reason says why. From a participant that denies it reaches the model;
	// from any other it is for people.
	Reason string
	// Input is the input to run instead, one JSON object. Only with Modify.
	Input json.RawMessage
	// Output is the result to show instead, one JSON value. Only with Replace.
	Output json.RawMessage
	// IsError is whether that result is an error; nil leaves that claim as it
	// was. Only with Replace.
	IsError *bool
}

// Answer is what came back from one participant: an Outcome, or the Failure
// that took its place. Input and Output of an Outcome are valid JSON: the
// binding has made sure.
type Answer struct {
	Outcome Outcome
	// Failure is nil where the participant answered.
	Failure *Failure
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// Call is one question to one participant.
type Call struct {
	// Request is the call as the chain has left it. It is shared: nobody may
	// change what its methods return.
	Request *Request
	// Deadline is when the answer must be there, and Allowed how long that is
	// from the moment of asking.
	Deadline time.Time
	Allowed  time.Duration
	// Late is what being late is called: Timeout where the participant's own
	// time is the shorter, Budget where the chain's is. A breaker counts the
	// first and not the second.
	Late Cause
	// Guard says that the participant promised only to allow or deny.
	Guard bool
}

// Checked returns an answer as it counts: one that cannot be given to this call
// is a failure (C3, C13).
func (c Call) Checked(a Answer) Answer {
	if a.Failure != nil {
		return a
	}
	switch d := a.Outcome.Decision; {
	case d == Undecided:
		return Fail(WrongDecision, "answered without a decision", "")
	case !d.fits(c.Request.event):
		return Fail(WrongDecision, fmt.Sprintf("answered %s, which cannot be answered at %s", d, c.Request.event), "")
	case c.Guard && (d == Modify || d == Replace):
		return Fail(WrongDecision, fmt.Sprintf("answered %s, but as a guard it promised only to allow or deny", d), "")
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
	// Ask puts the call to the participant. It returns by the deadline with an
	// answer or a failure, or as soon as ctx ends: then nobody reads what it
	// returns, and it must count the call for nothing.
	Ask(ctx context.Context, call Call) Answer
}

// Participant is one entry of a chain. It is not changed after it was given to
// [New].
type Participant struct {
	// Name is what reasons call it. It need not be unique.
	Name string
	Kind Kind
	// Binding reaches it.
	Binding Binding
	// Events are those it is asked at.
	Events []Event
	// Tools are those it is asked about: exact names, with * for any run of
	// characters. Empty means every tool.
	Tools []string
	// When, if set, says whether it is asked about the call as it now stands.
	When func(*Request) bool
	// Timeout is the longest it may take; it must be positive.
	Timeout time.Duration
	// FirstTimeout, where it is longer, holds instead while Cold says that the
	// participant has to start before it can answer. Cold may be nil, and is
	// asked before every question.
	FirstTimeout time.Duration
	Cold         func() bool
	// OwnTime says that the timeout is its own: the chain's budget does not cut
	// it, and what it takes is not taken from the budget. It is for who waits for
	// a person. Neither a guard nor a shadow has it.
	OwnTime   bool
	OnFailure OnFailure
	// Guard promises only allow or deny, so that neighbours can be asked at
	// the same time.
	Guard bool
	Mode  Mode
	// Shadows bounds the shadow calls to it that are under way, whichever chain
	// they come from; the rest fail as saturated. Only with Shadow.
	Shadows *ShadowBound
	// Observer is told of every answer. May be nil.
	Observer ParticipantObserver
}

// patience is the longest that the participant may take now.
func (p *Participant) patience() time.Duration {
	if p.FirstTimeout > p.Timeout && p.Cold != nil && p.Cold() {
		return p.FirstTimeout
	}
	return p.Timeout
}

// ShadowBound bounds the shadow calls to one entry. Make it with
// [NewShadowBound].
type ShadowBound struct{ slots chan struct{} }

// NewShadowBound returns a bound of that many calls at once.
func NewShadowBound(calls int) *ShadowBound { return &ShadowBound{make(chan struct{}, calls)} }

// ParticipantObserver is told what one participant did. Its methods are called
// from many goroutines and must not block.
type ParticipantObserver interface {
	// Answered is told of each answer or failure, at which event, and how long
	// it took. It is not told of calls whose caller hung up.
	Answered(event Event, answer Answer, took time.Duration)
	// FailedOpen is told of each failure that let a call pass.
	FailedOpen(cause Cause)
	// Flipped is told where a shadow, had it been obeyed, would have turned
	// the chain's decision into another.
	Flipped(from, to Decision)
}

// Observer is told what a chain decided. Its method is called from many
// goroutines and must not block.
type Observer interface {
	// Decided is told of every verdict but those whose caller hung up.
	Decided(req *Request, verdict *Verdict)
}

// Verdict is what a chain decided and how it came to.
type Verdict struct {
	// Outcome is the answer to the caller.
	Outcome Outcome
	// Cause is NoCause where answers made the outcome, the failure's cause
	// where a failure denied, Uncovered where nobody applied.
	Cause Cause
	// By is who denied, nil where nobody did.
	By *Participant
	// Abandoned says that the caller hung up: the outcome is a deny that
	// nobody reads.
	Abandoned bool
	// Steps are the participants asked on the path, in the order of the fold.
	Steps []Step
	// Detail is for the operator: what a fault of the gateway itself was.
	Detail string
	// Took is how long the decision took.
	Took time.Duration
}

// Step is one participant's part in a verdict.
type Step struct {
	Participant *Participant
	Answer      Answer
	Took        time.Duration
}
