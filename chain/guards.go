package chain

import (
	"context"
	"time"
)

// askGuards asks the run of neighbouring guards that begins with participant
// i, all at the same time, folds their answers in order, and returns the index
// behind the run (C13). None of them can rewrite, so each sees the call that it
// would see if they were asked one by one. A shadow or a participant that does
// not apply does not end the run.
func (f *fold) askGuards(ctx context.Context, i int) int {
	c := f.chain
	var asked []*Participant
	end := i
	for ; end < len(c.participants); end++ {
		p := c.participants[end]
		if !c.applies(end, f.req) || p.Mode == Shadow {
			continue
		}
		if !p.Guard {
			break
		}
		if f.wanted(p) {
			asked = append(asked, p)
		}
	}
	if len(asked) == 1 {
		answer, took := f.ask(ctx, asked[0])
		f.take(ctx, asked[0], answer, took)
	} else {
		f.askTogether(ctx, asked)
	}
	for s := i; s < end; s++ {
		p := c.participants[s]
		if p == f.verdict.By {
			break // nobody behind the one that denied is asked
		}
		if p.Mode == Shadow && c.applies(s, f.req) {
			f.meetShadow(s)
		}
	}
	return end
}

// reply is one guard's answer.
type reply struct {
	answer Answer
	took   time.Duration
}

// askTogether asks every guard in a goroutine of its own and folds in order as
// the answers come. Once the chain is closed the others are cancelled and
// counted for nothing.
func (f *fold) askTogether(ctx context.Context, guards []*Participant) {
	together, cancel := context.WithCancel(ctx)
	defer cancel()
	replies := make([]chan reply, len(guards))
	for n, p := range guards {
		replies[n] = make(chan reply, 1)
		go func() {
			// A binding that ends its goroutine must not leave the fold waiting.
			said := reply{answer: Fail(Panic, "ended without an answer", "its goroutine exited")}
			defer func() { replies[n] <- said }()
			said.answer, said.took = f.ask(together, p)
		}()
	}
	for n, p := range guards {
		if f.closed {
			return
		}
		r := <-replies[n]
		f.take(ctx, p, r.answer, r.took)
	}
}
