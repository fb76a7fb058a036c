package agentproc

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hookgate/hookgate/chain"
)

// Sink takes a turn's events as they come. Its methods are called one at a
// time, in the order of the events: a response before what the agent says to
// it. They may block, and return as soon as ctx ends; an error ends the turn.
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
	queue   []*delivered
	waiting int   // bytes of partials in the queue
	closed  bool  // nothing more comes
	err     error // of the sink: nothing more is taken
}

// delivered is a partial, or a response or the place of one.
type delivered struct {
	partial  *Partial
	response *Response // nil while it is being written
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
	d.queue = append(d.queue, &delivered{partial: &p})
	d.changed.Broadcast()
}

// place keeps a place for a response that is about to be written: what the
// agent says to it may be read before its writer knows that it is written.
// settle is told the response, or nil where none was written.
func (d *delivery) place() (settle func(*Response)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := &delivered{}
	if d.err == nil {
		d.queue = append(d.queue, kept)
	}
	return func(r *Response) {
		d.mu.Lock()
		defer d.mu.Unlock()
		kept.response = r
		if r == nil {
			d.queue = slices.DeleteFunc(d.queue, func(q *delivered) bool { return q == kept })
		}
		d.changed.Broadcast()
	}
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

func (d *delivery) next() (next *delivered, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.ready()
	for ; at < 0 && !d.closed; at = d.ready() {
		d.changed.Wait()
	}
	if at < 0 {
		return nil, false
	}
	next = d.queue[at]
	d.queue = slices.Delete(d.queue, at, at+1)
	if next.partial != nil {
		d.waiting -= len(next.partial.Text)
		d.changed.Broadcast()
	}
	return next, true
}

// ready is where the next event stands, less than 0 where there is none yet.
// Partials wait behind a response that is being written, but not without end:
// an agent that does not read must not be kept from writing by it.
func (d *delivery) ready() int {
	for i, q := range d.queue {
		if q.partial != nil || q.response != nil {
			return i
		}
		if d.waiting < maxWaiting && !d.closed {
			return -1
		}
	}
	return -1
}

// give hands one event over. A sink that panics has failed.
func (d *delivery) give(ctx context.Context, next *delivered) (err error) {
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
