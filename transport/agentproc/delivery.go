package agentproc

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hookgate/hookgate/chain"
)

// Sink receives a turn's events. Its methods are called one at a time, in the
// order of the events: a response comes before the agent's reaction to it. They
// may block, but must return as soon as ctx is done. An error ends the turn.
type Sink interface {
	// Partial receives a part of the reply.
	Partial(ctx context.Context, p Partial) error
	// Responded receives each response to a permission request.
	Responded(ctx context.Context, r Response) error
}

// Response is what an agent was told about one permission request.
type Response struct {
	RequestID string
	// ToolName is empty if it could not be read.
	ToolName string
	Answer   Answer
	// Cause is why the answer is not the decider's, or NoCause if it is.
	Cause chain.Cause
	// Undelivered is why the agent could not be told, or nil if it was.
	Undelivered error
}

// delivery passes events to the sink in its own goroutine, so that a slow sink
// delays neither the agent's requests nor the responses (A11). Partials wait
// for space in the queue, which in the end stops reading from the agent
// (backpressure). Responses do not wait; their number is bounded otherwise.
type delivery struct {
	sink Sink

	mu      sync.Mutex
	changed sync.Cond
	queue   []*delivered
	waiting int   // size of the partials in the queue
	closed  bool  // no more events follow
	err     error // of the sink; nothing more is queued
}

// delivered is a partial, a response, or the place reserved for a response.
type delivered struct {
	partial  *Partial
	response *Response // nil while it is being written
}

const (
	// maxWaiting is how many bytes of partials are queued for the sink.
	maxWaiting = 1 << 20
	// partialSize is what a partial counts in addition to its text: an agent can
	// send any number of empty ones.
	partialSize = 128
)

// size is how much of maxWaiting a partial takes.
func (p *Partial) size() int { return partialSize + len(p.Text) + len(p.Role) }

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
	d.waiting += p.size()
	d.queue = append(d.queue, &delivered{partial: &p})
	d.changed.Broadcast()
}

// place reserves the position of a response that is about to be written: the
// agent's reaction to it may be read before its writer knows that it was
// written. settle fills the position, or removes it if it is called with nil.
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

// close marks the end of the events.
func (d *delivery) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.changed.Broadcast()
}

// run passes on events until all are delivered, or until the sink fails.
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
		d.waiting -= next.partial.size()
		d.changed.Broadcast()
	}
	return next, true
}

// ready is the index of the next event to deliver, or -1. Partials wait behind
// a response that is being written, but only up to maxWaiting: waiting must not
// block the output of an agent that does not read its input.
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

// give passes one event to the sink. A panic of the sink is an error.
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
