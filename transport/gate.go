package transport

import (
	"sync"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// clearWithin is how long Close waits, after the last call has ended, for what
// the calls left in the background. Only a hang in the kernel takes longer,
// such as starting a program from a file system that does not respond.
const clearWithin = 5 * time.Second

// gate tracks the calls in flight, and admits no more after close (T7). Its
// zero value is open.
type gate struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

// enter reports whether the gate is open. If it is, the caller must call leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.inside.Add(1)
	}
	return !g.closed
}

func (g *gate) leave() { g.inside.Done() }

// close closes the gate and waits for every call that entered; each leaves by
// its deadline (T2).
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}

// cleared waits for background, but at most for clearWithin.
func cleared(background *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		background.Wait()
		close(done)
	}()
	closedWithin(done, clearWithin)
}

// shut is the failure of a call after Close. It is a fault of the gateway if a
// chain asks a binding that it has given up.
func shut() chain.Answer {
	return chain.Fail(chain.Internal, "was not asked: the gateway has already closed it", "asked after Close")
}
