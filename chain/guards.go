package chain

import (
	"context"
	"time"
)

// askGuards asks the run of adjacent guards that begins at participant i, all
// concurrently, and folds in their answers in order (C13). It returns the index
// after the run. Guards cannot rewrite, so each sees the same call as if they
// were asked one by one. Shadows and participants that do not apply do not end
// the run.
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
			break // no participant after the one that denied is asked
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

// askTogether asks each guard in its own goroutine and folds in the answers in
// order. Once the chain is closed, the remaining calls are cancelled and not
// counted.
func (f *fold) askTogether(ctx context.Context, guards []*Participant) {
	together, cancel := context.WithCancel(ctx)
	defer cancel()
	replies := make([]chan reply, len(guards))
	for n, p := range guards {
		replies[n] = make(chan reply, 1)
		go func() {
			// Send an answer even if the binding ends its goroutine (runtime.Goexit), or
			// the fold would wait forever.
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
