package transport

import (
	"sync"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// clearWithin is how long Close waits, once the last call has ended, for what
// calls leave to the background. Only what hangs inside the kernel takes longer:
// a program that is being started from a file system which does not answer.
const clearWithin = 5 * time.Second

// gate knows the calls that are under way and lets no more in once it was
// closed (T7). Its zero value is open.
type gate struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

// enter says whether the gate is open. Who entered must leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.inside.Add(1)
	}
	return !g.closed
}

func (g *gate) leave() { g.inside.Done() }

// close closes the gate and returns once everybody has left, which every call
// does by its deadline (T2).
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}

// cleared waits for what goes on in the background, though not for ever.
func cleared(background *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		background.Wait()
		close(done)
	}()
	closedWithin(done, clearWithin)
}

// shut is the failure of a call that came after close. That a chain asks a
// binding which it has given up is a fault of the gateway.
func shut() chain.Answer {
	return chain.Fail(chain.Internal, "was not asked: the gateway has already let go of it", "asked after Close")
}
