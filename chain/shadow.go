package chain

import (
	"context"
	"time"
)

// shadowCall is a shadow that met the call, and the call as it then stood.
type shadowCall struct {
	participant int
	req         *Request
}

// meetShadow remembers that a shadow would have been asked here. Its condition
// is evaluated now, against the call as it stands; the asking waits until the
// chain has decided.
func (f *fold) meetShadow(i int) {
	if f.wanted(f.chain.participants[i]) {
		f.shadowed = append(f.shadowed, shadowCall{participant: i, req: f.req})
	}
}

// askShadows asks the shadows that met the call, off the path (C14). decided is
// what the chain said without them.
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
			// What a caller that hung up no longer reads is still worth counting.
			ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
			defer cancel()
			defer context.AfterFunc(c.stopped, cancel)() //nolint:contextcheck // of the life of the chain, not of a call
			answer, took := put(ctx, p, Call{Request: s.req, Allowed: p.patience(), Late: Timeout, Guard: p.Guard}, time.Now())
			if ctx.Err() == nil {
				p.shadowAnswered(s.req.event, decided, answer, took)
			}
		})
	}
}

// shadowAnswered counts what a shadow said, and whether obeying it would have
// turned the decision. An observer that panics loses that count and nothing
// else: the caller has its answer.
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

// wouldTurn is what the chain would have decided had it obeyed the answer.
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
