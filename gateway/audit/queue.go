package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"
)

// gather is how long a record without a waiting caller waits to be batched with
// others.
const gather = 50 * time.Millisecond

// largestBatch is the maximum number of records in one write.
const largestBatch = 1024

// A durable write waits for more records to join it, for the duration of the
// previous write divided by assembly, and at most longestAssembly.
const (
	assembly        = 4
	longestAssembly = 10 * time.Millisecond
)

// retryPause is the pause before a correction is retried.
const retryPause = time.Second

// interest is what depends on a record.
type interest uint8

const (
	// nobody waits for the record.
	nobody interest = iota
	// somebody waits for the record to become durable.
	somebody
	// correction is a record that is retried until it is kept.
	correction
)

// entry is a queued record.
type entry struct {
	record Record
	group  *group // the callers that wait for it; nil if none does
	owed   bool   // it is a correction
}

// group is the set of callers that wait for the same write and get one signal
// (L4).
type group struct {
	done chan struct{} // closed once err is set
	err  error
	late *time.Timer // ends the group when the patience is over

	// Guarded by the queue's lock.
	left  int // its records that are not written yet
	ended bool
}

// queue is the bounded queue of one output (L3).
type queue struct {
	Output
	options Options

	mu      sync.Mutex
	entries []entry
	bytes   int
	forming *group // the group that the next caller joins; nil if there is none
	closed  bool
	// expected is how many records with waiting callers are expected for the next
	// write.
	expected int

	// took is how long the last durable write took. Only run uses it.
	took time.Duration

	some   chan struct{} // holds a token while there are entries
	hurry  chan struct{} // holds a token while a caller waits for one of them, or they are many
	enough chan struct{} // holds a token once the expected number of entries is queued
	ending chan struct{} // closed by close
	ended  chan struct{} // closed by run, once err is set
	err    error
	retry  *time.Timer // wakes the queue to retry corrections
}

func newQueue(out Output, o Options) *queue {
	q := &queue{
		Output: out, options: o, some: make(chan struct{}, 1), hurry: make(chan struct{}, 1), enough: make(chan struct{}, 1),
		ending: make(chan struct{}), ended: make(chan struct{}),
	}
	q.retry = time.AfterFunc(retryPause, q.wake)
	q.retry.Stop()
	return q
}

var (
	errClosed = errors.New("it is closed")
	errFull   = errors.New("its queue is full")
	errLate   = errors.New("it did not confirm the record in time")
)

// add queues a record. It returns the group that is signaled, if a caller waits
// for the record.
func (q *queue) add(r Record, who interest) (*group, error) {
	q.mu.Lock()
	size := len(r.Body)
	switch {
	case q.closed:
		q.mu.Unlock()
		q.options.Observer.Dropped(q.Name, 1)
		return nil, q.because(errClosed)
	case who != correction && (len(q.entries) >= q.options.MaxRecords || q.bytes+size > q.options.MaxBytes):
		q.mu.Unlock()
		q.options.Observer.Dropped(q.Name, 1)
		return nil, q.because(errFull)
	}
	e := entry{record: r, owed: who == correction}
	if who == somebody {
		e.group = q.join()
	}
	q.entries = append(q.entries, e)
	q.bytes += size
	many := len(q.entries) >= largestBatch/2
	if len(q.entries) == q.expected {
		nudge(q.enough)
	}
	q.mu.Unlock()
	if who != nobody || many {
		q.wake()
	} else {
		nudge(q.some)
	}
	return e.group, nil
}

// because adds the name of the output to an error.
func (q *queue) because(err error) error { return fmt.Errorf("audit %s: %w", q.Name, err) }

// join adds a caller to the forming group. The caller holds the lock.
func (q *queue) join() *group {
	g := q.forming
	if g == nil {
		g = &group{done: make(chan struct{})}
		g.late = time.AfterFunc(q.options.Patience, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.end(g, q.because(errLate))
		})
		q.forming = g
	}
	g.left++
	return g
}

// end signals the result to a group, once. The caller holds the lock.
func (q *queue) end(g *group, err error) {
	if q.forming == g {
		q.forming = nil
	}
	if g.ended {
		return
	}
	g.ended, g.err = true, err
	g.late.Stop()
	close(g.done)
}

// nudge puts a token into c unless it is full.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.ending)
	}
}

// run writes queued records until the queue is closed.
func (q *queue) run() {
	defer close(q.ended)
	defer q.retry.Stop()
	for {
		select {
		case <-q.some:
		case <-q.ending:
			q.drain()
			q.err = q.Sink.Close()
			return
		}
		q.linger()
		q.write()
	}
}

// linger waits until the queued records should be written.
func (q *queue) linger() {
	select {
	case <-q.hurry:
		q.assemble()
		return
	default:
	}
	timer := time.NewTimer(gather)
	defer timer.Stop()
	select {
	case <-q.hurry:
		q.assemble()
	case <-q.ending:
	case <-timer.C:
	}
}

// assemble waits for the callers whose records have just been made durable:
// usually they are about to add their next record, and one write can then cover
// all of them (L4). It first yields to all runnable goroutines; then it waits
// until the expected number of entries is there, for at most a fraction of the
// duration of a write.
func (q *queue) assemble() {
	for before := -1; before != q.length(); {
		before = q.length()
		runtime.Gosched()
	}
	if q.complete() {
		return
	}
	timer := time.NewTimer(min(q.took/assembly, longestAssembly))
	defer timer.Stop()
	select {
	case <-q.enough:
	case <-timer.C:
	case <-q.ending:
	}
}

// complete reports whether the expected number of entries is queued. If it
// returns false, enough will signal it.
func (q *queue) complete() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.enough: // a stale token
	default:
	}
	return len(q.entries) >= q.expected
}

// drain writes the remaining records while the sink accepts them.
func (q *queue) drain() {
	for until := time.Now().Add(q.options.Patience); time.Now().Before(until) && q.write(); {
	}
	left, _ := q.take(q.length())
	if len(left) == 0 {
		return
	}
	q.options.Observer.Dropped(q.Name, len(left))
	q.options.Logger.LogAttrs(context.Background(), slog.LevelError, "audit records could not be written before the gateway ended",
		slog.String("output", q.Name), slog.Int("records", len(left)))
	q.tell(left, q.because(errClosed))
}

func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries)
}

// take removes up to most entries from the queue and reports whether they must be
// durable. It closes the forming group, so that a group cannot grow forever.
func (q *queue) take(most int) (batch []entry, durable bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forming = nil
	if batch = q.entries; len(batch) > most {
		batch, q.entries = batch[:most:most], batch[most:]
	} else {
		q.entries = nil
	}
	for i := range batch {
		q.bytes -= len(batch[i].record.Body)
		durable = durable || batch[i].group != nil || batch[i].owed
	}
	return batch, durable
}

// write gives the sink one batch. It returns true if there was one and nothing in
// it has to be retried. If entries remain, it signals them again.
func (q *queue) write() bool {
	batch, durable := q.take(largestBatch)
	if len(batch) == 0 {
		return false
	}
	began := time.Now()
	records := make([]Record, len(batch))
	for i := range batch {
		records[i] = batch[i].record
	}
	ctx, cancel := context.WithTimeout(context.Background(), q.options.Patience)
	err := q.Sink.Write(ctx, records, durable)
	cancel()
	if durable {
		q.took = time.Since(began)
	}
	again := 0
	if err != nil {
		err = q.because(err)
		q.options.Logger.LogAttrs(ctx, slog.LevelError, "audit records could not be written",
			slog.String("output", q.Name), slog.Int("records", len(batch)), slog.Any("error", err))
		again = q.putBack(batch)
		q.options.Observer.Failed(q.Name, len(batch)-again)
	} else {
		q.options.Observer.Written(q.Name, len(batch))
	}
	q.tell(batch, err)
	if again > 0 {
		q.retry.Reset(retryPause)
	} else if q.length() > 0 {
		q.wake()
	}
	return again == 0
}

// wake has the queued entries written.
func (q *queue) wake() {
	nudge(q.some)
	nudge(q.hurry)
}

// putBack returns the corrections of a batch to the front of the queue and
// returns their number. They still come after any record that they correct and
// that was kept.
func (q *queue) putBack(batch []entry) int {
	var owed []entry
	for i := range batch {
		if batch[i].owed {
			owed = append(owed, batch[i])
		}
	}
	if len(owed) == 0 {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range owed {
		q.bytes += len(owed[i].record.Body)
	}
	q.entries = append(owed, q.entries...)
	return len(owed)
}

// tell signals the result to the callers that wait for records of a batch.
func (q *queue) tell(batch []entry, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expected = len(q.entries)
	for i := range batch {
		g := batch[i].group
		if g == nil {
			continue
		}
		q.expected++
		if g.left--; g.left == 0 || err != nil {
			q.end(g, err)
		}
	}
}
