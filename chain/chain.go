package chain

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configures a chain.
type Options struct {
	// Name is the chain's name in records and metrics.
	Name string
	// Participants in the order in which they are asked (C10).
	Participants []*Participant
	// Budget is the longest that a decision may take. It must be positive.
	Budget time.Duration
	// OnUncovered is the decision for a call to which no enforcing participant
	// applies.
	OnUncovered Coverage
	// Observer is told of every verdict. It may be nil.
	Observer Observer
}

// Chain asks participants in order and folds their answers into one decision.
// It is safe for concurrent use.
type Chain struct {
	name         string
	participants []*Participant
	tools        [][]pattern // per participant, by index
	budget       time.Duration
	onUncovered  Coverage
	observer     Observer

	shadows sync.WaitGroup
	// stopped is done after Stop. A shadow call outlives its caller, but not its
	// chain.
	stopped context.Context //nolint:containedctx // scoped to the chain, not to a call
	stop    context.CancelFunc
}

// New returns a chain, or an error that lists every problem with the options.
func New(o Options) (*Chain, error) {
	c := &Chain{
		name: o.Name, participants: slices.Clone(o.Participants), budget: o.Budget,
		onUncovered: o.OnUncovered, observer: o.Observer,
		tools: make([][]pattern, len(o.Participants)),
	}
	c.stopped, c.stop = context.WithCancel(context.Background())
	var errs []error
	if o.Budget <= 0 {
		errs = append(errs, fmt.Errorf("chain %q: budget %v is not positive", o.Name, o.Budget))
	}
	for i, p := range o.Participants {
		if err := p.check(); err != nil {
			errs = append(errs, fmt.Errorf("chain %q: participant %d: %w", o.Name, i, err))
			continue
		}
		c.tools[i] = patterns(p.Tools)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func (p *Participant) check() error {
	switch {
	case p == nil:
		return errors.New("is missing")
	case p.Name == "":
		return errors.New("has no name")
	case p.Binding == nil:
		return fmt.Errorf("%q has no binding", p.Name)
	case len(p.Events) == 0:
		return fmt.Errorf("%q has no event", p.Name)
	case p.Timeout <= 0:
		return fmt.Errorf("%q: timeout %v is not positive", p.Name, p.Timeout)
	case p.Mode == Shadow && p.Shadows == nil:
		return fmt.Errorf("%q is a shadow without a limit of calls in flight (Shadows)", p.Name)
	case p.OwnTime && (p.Mode == Shadow || p.Guard):
		return fmt.Errorf("%q has OwnTime, which a shadow or a guard cannot have", p.Name)
	case p.Kind == Interceptor && p.OnFailure != DenyOnFailure:
		return fmt.Errorf("%q is an interceptor, which always denies on failure", p.Name)
	}
	return nil
}

// Wait blocks until no shadow call is in flight. It must not run concurrently
// with a call of Decide or DecideSince.
func (c *Chain) Wait() { c.shadows.Wait() }

// Stop cancels the shadow calls in flight and makes later ones end at once. It
// does not affect decisions.
func (c *Chain) Stop() { c.stop() }

// reserve is the part of a budget that is kept for writing the response, so
// that a chain whose participants hang still answers within its budget.
func reserve(budget time.Duration) time.Duration {
	return min(budget/10, 50*time.Millisecond)
}

// longest is the most time that a single participant gets. It is slightly less
// than the time that the chain has, so that a participant that uses all of it
// exceeds its own timeout and not the budget. Its failure policy then applies,
// and its breaker counts the failure.
func longest(budget time.Duration) time.Duration {
	return budget - reserve(budget) - reserve(budget)/5
}

// Decide asks the chain about req. ctx is done when the caller hangs up.
// within, if positive, is how long the caller waits for the answer; it can only
// shorten the chain's budget.
func (c *Chain) Decide(ctx context.Context, req *Request, within time.Duration) *Verdict {
	return c.DecideSince(ctx, req, within, time.Now())
}

// DecideSince is Decide with the budget counted from began, when the gateway
// began to read the request: a large body takes long to read (C12).
func (c *Chain) DecideSince(ctx context.Context, req *Request, within time.Duration, began time.Time) (v *Verdict) {
	budget := c.limit(within)
	defer func() {
		if p := recover(); p != nil {
			v = c.internal(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
			c.report(req, v, began)
		}
	}()
	f := &fold{chain: c, req: req, budget: budget, within: within, deadline: c.Deadline(began, within)}
	if within > 0 {
		f.patience = began.Add(within - reserve(within))
	}
	f.run(ctx)
	f.conclude()
	c.report(req, &f.verdict, began)
	if !f.verdict.Abandoned {
		c.askShadows(ctx, f.shadowed, f.verdict.Outcome.Decision)
	}
	return &f.verdict
}

// Deadline returns when the participants of a decision that began then have to
// have answered. A request that could not be parsed by then needs no decision.
func (c *Chain) Deadline(began time.Time, within time.Duration) time.Time {
	budget := c.limit(within)
	return began.Add(budget - reserve(budget))
}

// limit is the budget of a decision whose caller waits that long, 0 if it did
// not say so.
func (c *Chain) limit(within time.Duration) time.Duration {
	if within > 0 {
		return min(c.budget, within)
	}
	return c.budget
}

// internal is the verdict for a fault of the gateway itself (C11).
func (c *Chain) internal(detail string) *Verdict {
	return &Verdict{
		Outcome: Outcome{Decision: Deny, Reason: "the gateway could not decide: internal fault"},
		Cause:   Internal, Detail: detail,
	}
}

// report completes the verdict and passes it to the observer. An observer that
// panics is a fault of the gateway: the verdict becomes a deny, and the
// observer is not called again.
func (c *Chain) report(req *Request, v *Verdict, began time.Time) {
	v.Took = time.Since(began)
	if c.observer == nil || v.Abandoned {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			took := v.Took
			*v = *c.internal(fmt.Sprintf("panic in an observer: %v\n%s", p, debug.Stack()))
			v.Took = took
		}
	}()
	c.observer.Decided(req, v)
}

// applies reports whether participant i is asked about the event and tool of
// req (C4).
func (c *Chain) applies(i int, req *Request) bool {
	if !slices.Contains(c.participants[i].Events, req.event) {
		return false
	}
	// An alias can only add participants: no choice of tool name bypasses one.
	return matchAny(c.tools[i], req.toolName) || req.toolAlias != "" && matchAny(c.tools[i], req.toolAlias)
}

// fold is the state of one decision.
type fold struct {
	chain    *Chain
	req      *Request // as rewritten so far
	budget   time.Duration
	deadline time.Time
	// within is how long the caller waits, and patience is the deadline that
	// follows from it; both are zero where the caller did not say. Participants
	// with OwnTime are held to them.
	within   time.Duration
	patience time.Time

	covered   bool
	closed    bool     // the verdict is final and no later participant is asked
	hands     []string // who rewrote the call, in order
	opened    []string // failures that were allowed to pass
	rewritten Decision // Undecided, Modify or Replace
	shadowed  []shadowCall
	verdict   Verdict
}

// run asks the participants in order until the chain is closed.
func (f *fold) run(ctx context.Context) {
	c := f.chain
	f.verdict.Steps = make([]Step, 0, len(c.participants))
	for i := 0; i < len(c.participants) && !f.closed; {
		if !c.applies(i, f.req) {
			i++
			continue
		}
		p := c.participants[i]
		if p.Mode == Shadow {
			f.meetShadow(i)
			i++
			continue
		}
		f.covered = true
		if p.Guard {
			i = f.askGuards(ctx, i)
			continue
		}
		if f.wanted(p) {
			answer, took := f.ask(ctx, p)
			f.take(ctx, p, answer, took)
		}
		i++
	}
}

// wanted reports whether the participant's condition holds for the call in its
// current form. If the condition panics, the participant is asked. So it is once
// the time has run out, which it then learns: a chain that is late denies, also
// if it was its conditions that took the time (C12).
func (f *fold) wanted(p *Participant) (yes bool) {
	if p.When == nil {
		return true
	}
	defer func() {
		if recover() != nil {
			yes = true
		}
	}()
	return !time.Now().Before(f.deadline) || p.When(f.req, f.deadline) || !time.Now().Before(f.deadline)
}

// ask asks p about the call in its current form.
func (f *fold) ask(ctx context.Context, p *Participant) (Answer, time.Duration) {
	if p.OwnTime {
		return f.askApart(ctx, p)
	}
	began := time.Now()
	call := Call{Request: f.req, Allowed: min(p.patience(), longest(f.chain.budget)), Late: Timeout, Guard: p.Guard}
	if left := f.deadline.Sub(began); left < call.Allowed {
		call.Allowed, call.Late = left, Budget
	}
	if call.Allowed <= 0 {
		return Fail(Budget, "was not asked: no time was left", ""), 0
	}
	return put(ctx, p, call, began)
}

// askApart asks a participant with OwnTime. The time that it takes is added
// back to the deadline of the others (C12).
func (f *fold) askApart(ctx context.Context, p *Participant) (Answer, time.Duration) {
	began := time.Now()
	call := Call{Request: f.req, Allowed: p.Timeout, Late: Timeout}
	if left := f.patience.Sub(began); f.within > 0 && left < call.Allowed {
		call.Allowed, call.Late = left, Budget
	}
	if call.Allowed <= 0 || !began.Before(f.deadline) {
		return Fail(Budget, "was not asked: no time was left", ""), 0
	}
	answer, took := put(ctx, p, call, began)
	f.deadline = f.deadline.Add(took)
	if f.within > 0 && f.patience.Before(f.deadline) {
		f.deadline = f.patience
	}
	return answer, took
}

// put asks one participant. Every binding is called here, and only here, so
// this is the place that recovers from panics and enforces the contract and the
// deadline.
func put(ctx context.Context, p *Participant, call Call, began time.Time) (answer Answer, took time.Duration) {
	call.Deadline = began.Add(call.Allowed)
	defer func() {
		if r := recover(); r != nil {
			answer = Fail(Panic, fmt.Sprintf("panicked: %v", r), string(debug.Stack()))
			took = time.Since(began)
		}
	}()
	answer = call.Checked(p.Binding.Ask(ctx, call))
	took = time.Since(began)
	if answer.Failure == nil && took > call.Allowed {
		answer = call.Expired("an answer came after the deadline")
	}
	return answer, took
}

// take folds one answer into the verdict (C1 to C9).
func (f *fold) take(ctx context.Context, p *Participant, a Answer, took time.Duration) {
	if ctx.Err() != nil {
		f.abandon(ctx)
		return
	}
	f.verdict.Steps = append(f.verdict.Steps, Step{Participant: p, Answer: a, Took: took})
	if p.Observer != nil {
		p.Observer.Answered(f.req.event, a, took)
	}
	if a.Failure != nil {
		f.fail(p, a.Failure)
		return
	}
	switch a.Outcome.Decision {
	case Allow:
	case Modify:
		f.req = f.req.WithInput(a.Outcome.Input)
		f.rewritten = Modify
		f.hands = append(f.hands, hand(p, a.Outcome.Reason))
	case Replace:
		isError := f.req.isError
		if a.Outcome.IsError != nil {
			isError = *a.Outcome.IsError
		}
		f.req = f.req.WithOutput(a.Outcome.Output, isError)
		f.rewritten = Replace
		f.hands = append(f.hands, hand(p, a.Outcome.Reason))
	case Deny, Undecided:
		f.close(p, NoCause, "denied by "+hand(p, a.Outcome.Reason))
	}
}

// fail folds in the failure of p.
func (f *fold) fail(p *Participant, why *Failure) {
	switch {
	case why.Cause == Budget && p.OwnTime && f.within > 0:
		f.close(p, Budget, fmt.Sprintf("%s could not answer within the %d ms that the caller waits: %s",
			called(p), f.within.Milliseconds(), why.Text))
	case why.Cause == Budget:
		f.close(p, Budget, fmt.Sprintf("%s could not answer within the chain's budget of %d ms: %s",
			called(p), f.budget.Milliseconds(), why.Text))
	case p.OnFailure == AllowOnFailure:
		f.opened = append(f.opened, called(p)+" could not answer and allows on failure: "+why.Text)
		if p.Observer != nil {
			p.Observer.FailedOpen(why.Cause)
		}
	default:
		f.close(p, why.Cause, called(p)+" could not answer and denies on failure: "+why.Text)
	}
}

func (f *fold) close(p *Participant, cause Cause, reason string) {
	f.closed = true
	f.verdict.By, f.verdict.Cause = p, cause
	f.verdict.Outcome = Outcome{Decision: Deny, Reason: reason}
}

func (f *fold) abandon(ctx context.Context) {
	f.close(nil, NoCause, fmt.Sprintf("the caller stopped waiting: %v", context.Cause(ctx)))
	f.verdict.Abandoned = true
}

// called is the participant's name in reasons.
func called(p *Participant) string { return p.Kind.String() + " '" + p.Name + "'" }

// hand is the participant's name, followed by its reason if it gave one.
func hand(p *Participant, reason string) string {
	if reason == "" {
		return called(p)
	}
	return called(p) + ": " + reason
}

// conclude makes the outcome of a chain that nobody denied.
func (f *fold) conclude() {
	v := &f.verdict
	switch {
	case f.closed:
	case !f.covered:
		v.Cause = Uncovered
		v.Outcome = f.uncovered()
	case f.rewritten == Modify:
		v.Outcome = Outcome{Decision: Modify, Input: f.req.Input(), Reason: f.said()}
	case f.rewritten == Replace:
		isError := f.req.isError
		v.Outcome = Outcome{Decision: Replace, Output: f.req.Output(), IsError: &isError, Reason: f.said()}
	default:
		v.Outcome = Outcome{Decision: Allow, Reason: f.said()}
	}
}

// uncovered is the outcome if no participant applies.
func (f *fold) uncovered() Outcome {
	if f.chain.onUncovered == AllowUncovered {
		return Outcome{Decision: Allow}
	}
	return Outcome{
		Decision: Deny,
		Reason:   fmt.Sprintf("denied: no participant of chain '%s' applies to tool '%s' at %s", f.chain.name, f.req.toolName, f.req.event),
	}
}

// said is the reason of an outcome that is not a deny: who rewrote the call,
// and which failures were allowed to pass (C5, C6).
func (f *fold) said() string { return strings.Join(append(f.hands, f.opened...), "; ") }
