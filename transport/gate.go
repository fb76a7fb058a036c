package transport

import (
	"sync"

	"github.com/hookgate/hookgate/chain"
)

// gate knows what is under way and lets nothing more in once it was closed
// (T7). Its zero value is open.
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

// close closes the gate and returns once everybody has left.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}

// shut is the failure of a call that came after close. That a chain asks a
// binding which it has given up is a fault of the gateway.
func shut() chain.Answer {
	return chain.Fail(chain.Internal, "was not asked: the gateway has already let go of it", "asked after Close")
}
