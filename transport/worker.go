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

// WorkerOptions configures a program of which a number of processes is kept
// running.
type WorkerOptions struct {
	// Command is the program. Its MaxInFlight also counts the calls that wait for
	// a free process. Zero means 64 per process.
	Command CommandOptions
	// Processes is how many are kept running. It must be positive.
	Processes int
	// Patience is how long a process may take for one call, even if its caller
	// gives up earlier. Zero means 5 s.
	Patience time.Duration
	// Backoff is the delay before a failed process is restarted.
	Backoff Backoff
	// BindAnswers gives every call an id, in the field "webhook_id" of its
	// envelope, that the answer must repeat unless it is a deny.
	BindAnswers bool
}

// Backoff is the delay before a restart: Min after the first failure, doubled
// after each further failure without an answer in between, up to Max. Random
// jitter shortens it by up to half, so that processes that failed together do
// not restart together. Zero values mean 100 ms and 30 s.
type Backoff struct{ Min, Max time.Duration }

// after is the delay after that many consecutive failures.
func (b Backoff) after(failures int) time.Duration {
	pause := b.Min
	for range failures - 1 {
		if pause >= b.Max/2 {
			pause = b.Max
			break
		}
		pause *= 2
	}
	return pause - rand.N(pause/2+1) //nolint:gosec // jitter for restarts, not a secret
}

// withDefaults returns the backoff with defaults for zero values, or an error
// if it is invalid.
func (b Backoff) withDefaults() (Backoff, error) {
	if b.Min == 0 {
		b.Min = 100 * time.Millisecond
	}
	if b.Max == 0 {
		b.Max = max(30*time.Second, b.Min)
	}
	if b.Min < 0 || b.Max < b.Min {
		return b, fmt.Errorf("worker: backoff from %v to %v is not a range of positive times", b.Min, b.Max)
	}
	return b, nil
}

// Worker is the [chain.Binding] of a program whose processes keep running. It
// writes one envelope per line to stdin and reads one decision object per line
// from stdout, in order, with one call at a time per process.
//
// Unless answers are bound, only the order ties an answer to its request. A
// process that is out of step is therefore never used again. When a caller
// gives up, by hanging up or because its time was short, the process gets no
// other request until it has answered, and that answer is discarded. Were the
// process killed instead, a few impatient callers could keep every process down
// for everybody.
type Worker struct {
	program     *program
	maxResponse int64
	patience    time.Duration
	backoff     Backoff
	binds       bool
	calls       limit
	gate        gate
	pool        *pool
	restarts    atomic.Int64

	stop  context.CancelFunc
	seats sync.WaitGroup
}

// NewWorker starts the processes in the background and returns the binding, or
// an error that lists every problem with the options. If the program cannot be
// started, the calls fail.
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
		program: program, maxResponse: response, patience: o.Patience, backoff: backoff, binds: o.BindAnswers,
		calls: limit{max: int64(inFlight)}, pool: newPool(o.Processes), stop: stop,
	}
	for seat := range o.Processes {
		w.seats.Go(func() { w.keep(ctx, seat) })
	}
	return w, nil
}

// Status is the binding's current state.
func (w *Worker) Status() Status {
	return Status{
		InFlight: w.calls.inFlight(),
		Workers:  &WorkerStatus{Processes: len(w.pool.down), Alive: w.pool.running(), Restarts: w.restarts.Load()},
	}
}

// Close waits for the calls in flight to end, ends the processes and waits
// until they are cleaned up. It waits at most 5 s for a process that hangs in
// the kernel; the clean-up continues in the background.
func (w *Worker) Close() {
	w.gate.close()
	w.stop()
	cleared(&w.seats)
}

// keep keeps one process running until ctx is done.
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

// live starts a process, offers it to the calls until it has exited, and
// returns how it ended.
func (w *Worker) live(ctx context.Context) fall {
	running, err := w.program.start(ctx)
	if err != nil {
		f := w.program.notStarted(err).Failure
		return fall{cause: f.Cause, why: "it " + f.Text, detail: f.Detail}
	}
	defer running.close()
	p := newWorkerProcess(running, w.binds)
	w.pool.offer(p)
	select {
	case <-running.exited:
	case <-ctx.Done():
		p.part()
		p.interrupt() // unblocks a call that still reads from it
		w.pool.retire(p)
		return fall{}
	}
	running.abandon()
	w.pool.retire(p)
	<-running.gone // immediate, since the process has exited
	running.settle(time.Now().Add(settleWithin))
	return p.fall()
}

// Ask asks the next free process.
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

// leave returns a process after a call: at once, or in the background after it
// has given the answer that it still owes.
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
