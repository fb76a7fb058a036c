package agentproc

import (
	"context"
	"fmt"
	"sync"

	"github.com/hookgate/hookgate/chain"
)

// Sink takes a turn's events as they come. Its methods are called one at a
// time, in the order of the events. They may block, and return as soon as ctx
// ends; an error ends the turn.
type Sink interface {
	// Partial takes a piece of the reply.
	Partial(ctx context.Context, p Partial) error
	// Responded is told of each response to a permission request.
	Responded(ctx context.Context, r Response) error
}

// Response is what an agent was told about one permission request.
type Response struct {
	RequestID string
	// ToolName is empty where the request could not be read so far.
	ToolName string
	Answer   Answer
	// Cause is why the answer is not the decider's; NoCause where it is.
	Cause chain.Cause
	// Undelivered is why the agent could not be told; nil where it was.
	Undelivered error
}

// delivery hands events to the sink in a goroutine of its own, so that a slow
// sink holds up neither the agent's requests nor the responses (A11). Partials
// wait for room, which in the end holds up the agent's output; responses, which
// are bounded otherwise, do not.
type delivery struct {
	sink Sink

	mu      sync.Mutex
	changed sync.Cond
	queue   []delivered
	waiting int   // bytes of partials in the queue
	closed  bool  // nothing more comes
	err     error // of the sink: nothing more is taken
}

// delivered is a partial or a response.
type delivered struct {
	partial  *Partial
	response *Response
}

// maxWaiting is how much of partials waits for the sink.
const maxWaiting = 1 << 20

func newDelivery(sink Sink) *delivery {
	d := &delivery{sink: sink}
	d.changed.L = &d.mu
	return d
}

func (d *delivery) partial(p Partial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.waiting >= maxWaiting && d.err == nil {
		d.changed.Wait()
	}
	if d.err != nil {
		return
	}
	d.waiting += len(p.Text)
	d.queue = append(d.queue, delivered{partial: &p})
	d.changed.Broadcast()
}

func (d *delivery) responded(r Response) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return
	}
	d.queue = append(d.queue, delivered{response: &r})
	d.changed.Broadcast()
}

// close says that nothing more comes.
func (d *delivery) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.changed.Broadcast()
}

// run delivers until everything is delivered, or until the sink fails.
func (d *delivery) run(ctx context.Context) error {
	for {
		next, ok := d.next()
		if !ok {
			return nil
		}
		if err := d.give(ctx, next); err != nil {
			d.mu.Lock()
			d.err = err
			d.queue = nil
			d.changed.Broadcast()
			d.mu.Unlock()
			return err
		}
	}
}

func (d *delivery) next() (next delivered, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.queue) == 0 && !d.closed {
		d.changed.Wait()
	}
	if len(d.queue) == 0 {
		return delivered{}, false
	}
	next = d.queue[0]
	d.queue = d.queue[1:]
	if next.partial != nil {
		d.waiting -= len(next.partial.Text)
		d.changed.Broadcast()
	}
	return next, true
}

// give hands one event over. A sink that panics has failed.
func (d *delivery) give(ctx context.Context, next delivered) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the turn's reader panicked: %v", p)
		}
	}()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if next.partial != nil {
		return d.sink.Partial(ctx, *next.partial)
	}
	return d.sink.Responded(ctx, *next.response)
}
