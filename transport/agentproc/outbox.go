package agentproc

import (
	"errors"
	"io"
	"os"
	"sync"
)

// outbox writes lines to the agent, one at a time, in a goroutine of its own:
// an agent that does not read holds up nobody else.
type outbox struct {
	out io.WriteCloser
	// last has the last word on a response before it is written: what it says
	// now, and whether it is still to be written.
	last func(frame) (Response, bool)
	// place is called before a response is written. What it returns is told of
	// the response once it was written or could not be, or of nil where the
	// agent had ended.
	place func() func(*Response)

	mu      sync.Mutex
	changed sync.Cond
	queue   []frame
	closed  bool
}

// frame is one response on its way.
type frame struct {
	response Response
	// ask is what it responds to, nil where that was put to nobody.
	ask *ask
	// done is closed once the frame is written or given up. May be nil.
	done chan struct{}
}

func newOutbox(out io.WriteCloser, last func(frame) (Response, bool), place func() func(*Response)) *outbox {
	o := &outbox{out: out, last: last, place: place}
	o.changed.L = &o.mu
	return o
}

// send queues a frame.
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

// close drops what is queued and lets run return.
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

// run writes the turn line and then, where the agent may ask, the responses
// until close. Where it may not, its input ends with the turn line (A5).
func (o *outbox) run(turnLine []byte, permission bool) {
	// An agent that has ended or closed its input may have answered all the
	// same.
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
	if errors.Is(err, os.ErrClosed) { // by us, since the agent has ended
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
