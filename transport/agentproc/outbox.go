package agentproc

import (
	"errors"
	"io"
	"os"
	"sync"
)

// outbox writes lines to the agent in its own goroutine, one at a time, so that
// an agent that does not read blocks nobody else.
type outbox struct {
	out io.WriteCloser
	// last is called right before a response is written. It returns the response
	// to write, and whether to write it at all.
	last func(frame) (Response, bool)
	// place is called before a response is written. The function that it returns
	// is called with the response after it was written or could not be, or with
	// nil if the agent had ended.
	place func() func(*Response)

	mu      sync.Mutex
	changed sync.Cond
	queue   []frame
	closed  bool
}

// frame is a response that is to be written.
type frame struct {
	response Response
	// ask is the request that it answers, or nil if the decider was not asked.
	ask *ask
	// done is closed once the frame is written or dropped. It may be nil.
	done chan struct{}
}

func newOutbox(out io.WriteCloser, last func(frame) (Response, bool), place func() func(*Response)) *outbox {
	o := &outbox{out: out, last: last, place: place}
	o.changed.L = &o.mu
	return o
}

// send queues a frame. It does not block.
func (o *outbox) send(f frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		f.finish()
		return
	}
	o.queue = append(o.queue, f)
	o.changed.Signal()
}

// close drops the queue and makes run return.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, f := range o.queue {
		f.finish()
	}
	o.queue = nil
	o.changed.Signal()
}

// run writes the turn line and then, if the agent may ask for permission, the
// responses until close. Otherwise it closes the agent's input after the turn
// line (A5).
func (o *outbox) run(turnLine []byte, permission bool) {
	// An agent that has ended or closed its input may still have answered.
	_, _ = o.out.Write(turnLine)
	if !permission {
		_ = o.out.Close()
		return
	}
	for {
		f, ok := o.next()
		if !ok {
			return
		}
		o.write(f)
	}
}

func (o *outbox) next() (f frame, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && !o.closed {
		o.changed.Wait()
	}
	if len(o.queue) == 0 {
		return frame{}, false
	}
	f = o.queue[0]
	o.queue = o.queue[1:]
	return f, true
}

func (o *outbox) write(f frame) {
	defer f.finish()
	r, wanted := o.last(f)
	if !wanted {
		return
	}
	settle := o.place()
	_, err := o.out.Write(r.Answer.response(r.RequestID))
	if errors.Is(err, os.ErrClosed) { // closed by the gateway, since the agent has ended
		settle(nil)
		return
	}
	r.Undelivered = err
	settle(&r)
}

func (f frame) finish() {
	if f.done != nil {
		close(f.done)
	}
}
