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

// gather is how long a record that nobody waits for waits for others, so that
// they are written together.
const gather = 50 * time.Millisecond

// largestBatch is the most records that a sink is given at once.
const largestBatch = 1024

// A write waits for others to join it for a part of what the last one took, and
// not longer than that.
const (
	assembly        = 4
	longestAssembly = 10 * time.Millisecond
)

// retryPause is how long a correction waits before it is tried again.
const retryPause = time.Second

// interest is who minds what becomes of a record.
type interest uint8

const (
	// nobody waits for it.
	nobody interest = iota
	// somebody waits for it.
	somebody
	// correction is a record that is tried until it is kept.
	correction
)

// entry is a record on its way.
type entry struct {
	record Record
	group  *group // of those who wait for it; nil where nobody does
	owed   bool   // it is a correction
}

// group are those who wait for the same write, and are told with one signal (L4).
type group struct {
	done chan struct{} // closed once err is set
	err  error
	late *time.Timer // ends it when the patience is over

	// Of the queue's lock.
	left  int // how many of its records are not written yet
	ended bool
}

// queue is what waits for one output (L3).
type queue struct {
	Output
	options Options

	mu      sync.Mutex
	entries []entry
	bytes   int
	forming *group // whom the next one to wait joins; nil where there is none
	closed  bool
	// expected is how many are expected to wait for the next write.
	expected int

	// took is what the last write took that was waited for. It is run's own.
	took time.Duration

	some   chan struct{} // holds a token while there are entries
	hurry  chan struct{} // holds a token while one of them is waited for, or they are many
	enough chan struct{} // holds a token once as many wait as are expected
	ending chan struct{} // closed by close
	ended  chan struct{} // closed by run, once err is set
	err    error
	retry  *time.Timer // wakes it for corrections that could not be kept
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
	errLate   = errors.New("it did not say in time that it kept the record")
)

// add takes a record, and returns the group that it is told with where somebody
// waits for it.
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

// because is an error of this output.
func (q *queue) because(err error) error { return fmt.Errorf("audit %s: %w", q.Name, err) }

// join adds one to the group that is forming. It is called with the lock held.
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

// end tells a group how it ended, once. It is called with the lock held.
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

// nudge leaves a token, unless there is one.
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

// run writes what is added until the end.
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

// linger waits until what there is should be written.
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

// assemble waits for those whose records have just been made safe: mostly they
// are about to bring the next, and one write is then of them all (L4). Whoever
// can run goes first; then it waits until they are as many as there were, and no
// longer than a part of what a write takes.
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

// complete reports whether everybody is there who is expected. Where not, enough
// will say so.
func (q *queue) complete() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.enough: // of an earlier time
	default:
	}
	return len(q.entries) >= q.expected
}

// drain writes what is left, as long as the sink takes it.
func (q *queue) drain() {
	for until := time.Now().Add(q.options.Patience); time.Now().Before(until) && q.write(); {
	}
	left, _ := q.take(q.length())
	if len(left) == 0 {
		return
	}
	q.options.Observer.Dropped(q.Name, len(left))
	q.options.Logger.LogAttrs(context.Background(), slog.LevelError, "records of the audit trail could not be kept before the end",
		slog.String("output", q.Name), slog.Int("records", len(left)))
	q.tell(left, q.because(errClosed))
}

func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries)
}

// take takes up to so many entries off the queue, and says whether they have to
// be safe. Who waits for one of them is joined by nobody any more, lest a group
// grow without an end.
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

// write gives the sink one batch, and reports whether to go on: there was one,
// and nothing of it has to be tried again. What is left keeps its token.
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
		q.options.Logger.LogAttrs(ctx, slog.LevelError, "records of the audit trail could not be kept",
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

// wake has what there is written.
func (q *queue) wake() {
	nudge(q.some)
	nudge(q.hurry)
}

// putBack puts the corrections of a batch back in front, behind what they
// correct as far as it was written, and says how many there are.
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

// tell has those who wait for records of a batch told how it ended.
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
