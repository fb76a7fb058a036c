package transport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// WorkerOptions configure a program of which some processes are kept running.
type WorkerOptions struct {
	// Command is the program. MaxInFlight also bounds the calls that wait for
	// a free process, and is 64 for each of the Processes if zero.
	Command CommandOptions
	// Processes is how many are kept running; it must be positive.
	Processes int
	// Patience is how long a process may take over one question, also where
	// its caller gives up earlier. Zero means 5 s.
	Patience time.Duration
	// Backoff is how long a process that failed is left down.
	Backoff Backoff
}

// Backoff is the time before a restart: Min after the first failure, twice as
// long after each further one without an answer in between, Max at most. Up to
// half of it is taken off at random, so that processes which fell together do
// not rise together. Zeroes mean 100 ms and 30 s.
type Backoff struct{ Min, Max time.Duration }

// after is the pause behind that many failures in a row.
func (b Backoff) after(failures int) time.Duration {
	pause := b.Min
	for range failures - 1 {
		if pause >= b.Max/2 {
			pause = b.Max
			break
		}
		pause *= 2
	}
	return pause - rand.N(pause/2+1) //nolint:gosec // spreads restarts and guards nothing
}

// withDefaults is the backoff with its zeroes replaced, or why it cannot be
// one.
func (b Backoff) withDefaults() (Backoff, error) {
	if b.Min == 0 {
		b.Min = 100 * time.Millisecond
	}
	if b.Max == 0 {
		b.Max = max(30*time.Second, b.Min)
	}
	if b.Min < 0 || b.Max < b.Min {
		return b, fmt.Errorf("worker: backoff from %v to %v is no range of positive times", b.Min, b.Max)
	}
	return b, nil
}

// Worker is the [chain.Binding] of a program whose processes stay: one
// envelope a line on stdin, one decision object a line on stdout, in order, one
// call at a time for each process.
//
// Nothing but the order ties an answer to its question. A process that has
// once been out of step is therefore never asked again. One whose caller gave
// up, by hanging up or because its time was short, is in step once it has
// answered all the same: until then it is asked nothing else, and that answer
// is thrown away. Were it killed instead, a few impatient callers could keep
// every process of everybody from ever being up.
type Worker struct {
	program     *program
	maxResponse int64
	patience    time.Duration
	backoff     Backoff
	calls       limit
	gate        gate
	pool        *pool
	restarts    atomic.Int64

	stop  context.CancelFunc
	seats sync.WaitGroup
}

// NewWorker starts the processes in the background and returns the binding, or
// every reason why the options cannot be one. A program that cannot be started
// is seen by each call.
func NewWorker(o WorkerOptions) (*Worker, error) {
	var errs []error
	if o.Processes < 1 {
		errs = append(errs, fmt.Errorf("worker: processes %d is not positive", o.Processes))
	}
	switch {
	case o.Patience < 0:
		errs = append(errs, fmt.Errorf("worker: patience %v is negative", o.Patience))
	case o.Patience == 0:
		o.Patience = 5 * time.Second
	}
	backoff, err := o.Backoff.withDefaults()
	errs = append(errs, err)
	response, inFlight, err := o.Command.limits(64 * o.Processes)
	errs = append(errs, err)
	program, err := newProgram(o.Command, 2*o.Processes)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &Worker{
		program: program, maxResponse: response, patience: o.Patience, backoff: backoff,
		calls: limit{max: int64(inFlight)}, pool: newPool(o.Processes), stop: stop,
	}
	for seat := range o.Processes {
		w.seats.Go(func() { w.keep(ctx, seat) })
	}
	return w, nil
}

// Status is the binding's present state.
func (w *Worker) Status() Status {
	return Status{
		InFlight: w.calls.inFlight(),
		Workers:  &WorkerStatus{Processes: len(w.pool.down), Alive: w.pool.running(), Restarts: w.restarts.Load()},
	}
}

// Close lets the calls in flight end, ends the processes and returns when
// nothing of them is left. It gives up on what hangs inside the kernel after
// 5 s; should that ever come back, it is still cleared up.
func (w *Worker) Close() {
	w.gate.close()
	w.stop()
	cleared(&w.seats)
}

// keep has one process running until ctx ends.
func (w *Worker) keep(ctx context.Context, seat int) {
	failures := 0
	for first := true; ctx.Err() == nil; first = false {
		if !first {
			w.restarts.Add(1)
		}
		end := w.live(ctx)
		if end.answered {
			failures = 0
		}
		failures++
		pause := w.backoff.after(failures)
		end.again = time.Now().Add(pause)
		w.pool.fell(seat, end)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		w.pool.rises(seat)
	}
}

// live starts a process, offers it to the calls until it has exited, and says
// how it ended.
func (w *Worker) live(ctx context.Context) fall {
	running, err := w.program.start(ctx)
	if err != nil {
		f := w.program.notStarted(err).Failure
		return fall{cause: f.Cause, why: "it " + f.Text, detail: f.Detail}
	}
	defer running.close()
	p := newWorkerProcess(running)
	w.pool.offer(p)
	select {
	case <-running.exited:
	case <-ctx.Done():
		p.part()
		p.interrupt() // whoever still hears it
		w.pool.retire(p)
		return fall{}
	}
	running.abandon()
	w.pool.retire(p)
	<-running.gone // in an instant, since it has exited
	running.settle(time.Now().Add(settleWithin))
	return p.fall()
}

// Ask puts the call to the next free process.
func (w *Worker) Ask(ctx context.Context, call chain.Call) chain.Answer {
	if !w.calls.enter() {
		return w.calls.full()
	}
	defer w.calls.leave()
	if !w.gate.enter() {
		return shut()
	}
	defer w.gate.leave()
	for {
		p, failure := w.pool.take(ctx, call)
		if failure != nil {
			return chain.Answer{Failure: failure}
		}
		answer, asked := p.ask(ctx, call, w.maxResponse, w.patience)
		w.leave(p)
		if asked {
			return answer
		}
	}
}

// leave gives a process back after a call: at once, or in the background once
// it owes nothing any more.
func (w *Worker) leave(p *workerProcess) {
	w.program.reapStrays()
	if p.owed == nil {
		w.pool.giveBack(p)
		return
	}
	go func() {
		p.settleUp(w.maxResponse)
		w.pool.giveBack(p)
	}()
}
