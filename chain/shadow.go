package chain

import (
	"context"
	"time"
)

// shadowCall is a shadow to ask, and the call at its place in the chain.
type shadowCall struct {
	participant int
	req         *Request
}

// meetShadow records a shadow that is to be asked. Its condition is evaluated
// now, against the call in its current form; the shadow itself is asked after
// the chain has decided.
func (f *fold) meetShadow(i int) {
	if f.wanted(f.chain.participants[i]) {
		f.shadowed = append(f.shadowed, shadowCall{participant: i, req: f.req})
	}
}

// askShadows asks the recorded shadows in the background (C14). decided is the
// chain's decision without them.
func (c *Chain) askShadows(ctx context.Context, calls []shadowCall, decided Decision) {
	for _, s := range calls {
		p := c.participants[s.participant]
		select {
		case p.Shadows.slots <- struct{}{}:
		default:
			p.shadowAnswered(s.req.event, decided, Fail(Saturated, "was not asked: too many shadow calls are in flight", ""), 0)
			continue
		}
		c.shadows.Go(func() {
			defer func() { <-p.Shadows.slots }()
			// Shadow calls do not end when the caller hangs up: their answers are still
			// worth counting.
			ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
			defer cancel()
			defer context.AfterFunc(c.stopped, cancel)() //nolint:contextcheck // scoped to the chain, not to a call
			answer, took := put(ctx, p, Call{Request: s.req, Allowed: p.patience(), Late: Timeout, Guard: p.Guard}, time.Now())
			if ctx.Err() == nil {
				p.shadowAnswered(s.req.event, decided, answer, took)
			}
		})
	}
}

// shadowAnswered counts a shadow's answer, and whether obeying it would have
// changed the decision. If the observer panics, only that count is lost: the
// caller already has its answer.
func (p *Participant) shadowAnswered(event Event, decided Decision, answer Answer, took time.Duration) {
	if p.Observer == nil {
		return
	}
	defer func() { _ = recover() }()
	p.Observer.Answered(event, answer, took)
	if would := p.wouldTurn(decided, answer); would != decided {
		p.Observer.Flipped(decided, would)
	}
}

// wouldTurn is the decision that the chain would have made had it obeyed the
// answer.
func (p *Participant) wouldTurn(decided Decision, a Answer) Decision {
	said := a.Outcome.Decision
	if a.Failure != nil {
		said = Deny
		if p.OnFailure == AllowOnFailure {
			said = Allow
		}
	}
	if decided == Deny || said == Allow {
		return decided
	}
	return said
}
