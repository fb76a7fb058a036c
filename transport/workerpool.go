package transport

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// pool hands out the processes of a worker, each to one call at a time.
type pool struct {
	mu      sync.Mutex
	idle    []*workerProcess // last in, first out: the most recently used process is the warmest
	waiting []*waiter        // in order of arrival
	down    []fall           // by seat; zero if a process is running or being started
	alive   int
}

// waiter is a call for which no process is free.
type waiter struct {
	deadline time.Time
	turn     chan turn // buffered, for one turn
}

// turn is what a waiter receives: a process or a failure.
type turn struct {
	process *workerProcess
	failure *chain.Failure
}

// fall is how a process ended.
type fall struct {
	cause       chain.Cause
	why, detail string    // why is a complete clause
	answered    bool      // at least once
	again       time.Time // when the next one is started
}

func newPool(seats int) *pool { return &pool{down: make([]fall, seats)} }

// running is the number of running processes.
func (q *pool) running() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.alive
}

// take returns a free process. It waits for one while one can become free in
// time.
func (q *pool) take(ctx context.Context, call chain.Call) (*workerProcess, *chain.Failure) {
	q.mu.Lock()
	if last := len(q.idle) - 1; last >= 0 {
		p := q.idle[last]
		q.idle = q.idle[:last]
		p.taken = true
		q.mu.Unlock()
		return p, nil
	}
	if f := q.hopeless(call.Deadline); f != nil {
		q.mu.Unlock()
		return nil, f
	}
	me := &waiter{deadline: call.Deadline, turn: make(chan turn, 1)}
	q.waiting = append(q.waiting, me)
	q.mu.Unlock()

	late := time.NewTimer(time.Until(call.Deadline))
	defer late.Stop()
	select {
	case t := <-me.turn:
		return t.process, t.failure
	case <-late.C:
	case <-ctx.Done():
	}
	q.leave(me)
	return nil, call.Expired("none of its processes was free").Failure
}

// leave removes a waiter from the queue. A process that was handed to it at the
// same moment goes to the next waiter.
func (q *pool) leave(me *waiter) {
	q.mu.Lock()
	at := slices.Index(q.waiting, me)
	if at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	q.mu.Unlock()
	if at >= 0 {
		return
	}
	if t := <-me.turn; t.process != nil {
		q.giveBack(t.process)
	}
}

// hopeless is the failure of a call for which no process can become free before
// its deadline. It is nil if a process is running, being started, or will be
// started in time.
func (q *pool) hopeless(deadline time.Time) *chain.Failure {
	next := q.down[0]
	for _, f := range q.down {
		if f.again.IsZero() || f.again.Before(deadline) {
			return nil
		}
		if f.again.Before(next.again) {
			next = f
		}
	}
	wait := max(time.Until(next.again).Round(100*time.Millisecond), 100*time.Millisecond)
	text := fmt.Sprintf("has no running process: %s; the next start is in %v", next.why, wait)
	return chain.Fail(next.cause, text, next.detail).Failure
}

// offer adds a started process to the pool.
func (q *pool) offer(p *workerProcess) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.alive++
	q.hand(p)
}

// hand gives a process to the longest waiting call, or makes it idle.
func (q *pool) hand(p *workerProcess) {
	p.taken = len(q.waiting) > 0
	if !p.taken {
		q.idle = append(q.idle, p)
		return
	}
	first := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	first.turn <- turn{process: p}
}

// giveBack returns a process after a call. A process that is out of step is
// killed instead of being handed on.
func (q *pool) giveBack(p *workerProcess) {
	if p.spoilt {
		p.end()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	p.taken = false
	switch {
	case p.retired:
		close(p.back)
	case !p.spoilt:
		q.hand(p)
	}
}

// retire removes a process that has exited from the pool. It blocks until no
// call uses it.
func (q *pool) retire(p *workerProcess) {
	q.mu.Lock()
	q.alive--
	p.retired = true
	if at := slices.Index(q.idle, p); at >= 0 {
		q.idle = slices.Delete(q.idle, at, at+1)
	}
	taken := p.taken
	q.mu.Unlock()
	if taken {
		<-p.back
	}
}

// fell records that a seat has no process and will have none before f.again.
// Waiters for whom that is too late receive the failure.
func (q *pool) fell(seat int, f fall) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down[seat] = f
	q.waiting = slices.DeleteFunc(q.waiting, func(w *waiter) bool {
		f := q.hopeless(w.deadline)
		if f != nil {
			w.turn <- turn{failure: f}
		}
		return f != nil
	})
}

// rises records that a process is being started on the seat.
func (q *pool) rises(seat int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down[seat] = fall{}
}
