package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Sink is where records go.
type Sink interface {
	// Write takes records in their order. Where durable is set it returns once
	// they outlast a crash. After an error none of them counts as kept.
	Write(ctx context.Context, records []Record, durable bool) error
	// Close releases what it holds; nothing is written afterwards.
	Close() error
}

// Output is a sink of a trail.
type Output struct {
	// Name is what metrics and errors call it.
	Name string
	Sink Sink
	// Durable is whether a record that has to be safe has to be safe here.
	Durable bool
}

// Observer counts what became of records. Its methods are called from the
// goroutines of the trail.
type Observer interface {
	// Written, Dropped and Failed count records of an output: kept, not taken
	// for want of room, and not kept because the sink could not.
	Written(output string, records int)
	Dropped(output string, records int)
	Failed(output string, records int)
}

// Options configure a [Trail].
type Options struct {
	Outputs []Output
	// Patience is how long a sink may take, and how long a record is waited
	// for. Default 5 s.
	Patience time.Duration
	// MaxRecords and MaxBytes bound what waits for each output. Default 8192
	// records, 32 MiB.
	MaxRecords int
	MaxBytes   int
	Observer   Observer
	Logger     *slog.Logger
}

// gather is how long a record that nobody waits for waits for others, so that
// they are written together.
const gather = 50 * time.Millisecond

// largestBatch is the most records that a sink is given at once.
const largestBatch = 1024

// Trail passes records on to its outputs, each on a goroutine of its own: one
// that is slow holds up no other. A trail without outputs keeps nothing.
type Trail struct {
	queues   []*queue
	patience time.Duration
}

// New returns a trail. It must be closed, which closes its sinks.
func New(o Options) *Trail {
	if o.Patience <= 0 {
		o.Patience = 5 * time.Second
	}
	if o.MaxRecords <= 0 {
		o.MaxRecords = 8192
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 32 << 20
	}
	t := &Trail{patience: o.Patience}
	for _, out := range o.Outputs {
		q := &queue{
			Output: out, options: o, some: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
			ending: make(chan struct{}), ended: make(chan struct{}),
		}
		t.queues = append(t.queues, q)
		go q.run()
	}
	return t
}

// Empty reports whether nothing is kept.
func (t *Trail) Empty() bool { return len(t.queues) == 0 }

// Durable reports whether a record can be made safe.
func (t *Trail) Durable() bool {
	for _, q := range t.queues {
		if q.Durable {
			return true
		}
	}
	return false
}

// Keep takes a record that nobody waits for.
func (t *Trail) Keep(r Record) {
	for _, q := range t.queues {
		_ = q.add(entry{record: r}) // what was dropped is counted
	}
}

// KeepSafely takes a record and returns once it is safe in every output that
// can make it so, or says why it is not, or not known to be (L5).
func (t *Trail) KeepSafely(ctx context.Context, r Record) error {
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	kept := make(chan error, len(t.queues))
	waiting := 0
	var errs []error
	for _, q := range t.queues {
		e := entry{record: r}
		if q.Durable {
			e.kept = kept
		}
		err := q.add(e)
		if q.Durable && err != nil {
			errs = append(errs, err)
		} else if q.Durable {
			waiting++
		}
	}
	if waiting == 0 && len(errs) == 0 {
		return errors.New("nothing of the audit trail can make a record safe")
	}
	for range waiting {
		select {
		case err := <-kept:
			errs = append(errs, err)
		case <-ctx.Done():
			return fmt.Errorf("the audit trail did not say in time that it kept the record: %w", ctx.Err())
		}
	}
	return errors.Join(errs...)
}

// Close writes what there is, within the patience for each output, and closes
// the sinks.
func (t *Trail) Close() error {
	for _, q := range t.queues {
		q.close()
	}
	var errs []error
	for _, q := range t.queues {
		select {
		case <-q.ended:
			errs = append(errs, q.err)
		case <-time.After(2 * t.patience): // a sink that does not keep to its context
			errs = append(errs, fmt.Errorf("audit %s: it does not end", q.Name))
		}
	}
	return errors.Join(errs...)
}

// entry is a record on its way, and whom to tell.
type entry struct {
	record Record
	kept   chan<- error // nil where nobody waits; it has room
}

// queue is what waits for one output (L3).
type queue struct {
	Output
	options Options

	mu      sync.Mutex
	entries []entry
	bytes   int
	closed  bool

	some   chan struct{} // holds a token while there are entries
	hurry  chan struct{} // holds a token while one of them is waited for, or they are many
	ending chan struct{} // closed by close
	ended  chan struct{} // closed by run, once err is set
	err    error
}

var (
	errClosed = errors.New("it is closed")
	errFull   = errors.New("its queue is full")
)

func (q *queue) add(e entry) error {
	q.mu.Lock()
	size := len(e.record.Body)
	switch {
	case q.closed:
		q.mu.Unlock()
		q.options.Observer.Dropped(q.Name, 1)
		return fmt.Errorf("audit %s: %w", q.Name, errClosed)
	case len(q.entries) >= q.options.MaxRecords || q.bytes+size > q.options.MaxBytes:
		q.mu.Unlock()
		q.options.Observer.Dropped(q.Name, 1)
		return fmt.Errorf("audit %s: %w", q.Name, errFull)
	}
	q.entries = append(q.entries, e)
	q.bytes += size
	many := len(q.entries) >= largestBatch/2
	q.mu.Unlock()
	nudge(q.some)
	if e.kept != nil || many {
		nudge(q.hurry)
	}
	return nil
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
	for {
		select {
		case <-q.some:
		case <-q.ending:
			q.drain()
			q.err = q.Sink.Close()
			return
		}
		select {
		case <-q.hurry:
		case <-q.ending:
		case <-time.After(gather):
		}
		q.write()
	}
}

// drain writes what is left, as long as the sink takes it.
func (q *queue) drain() {
	for until := time.Now().Add(q.options.Patience); time.Now().Before(until); {
		if !q.write() {
			break
		}
	}
	if left := q.take(q.options.MaxRecords); len(left) > 0 {
		q.options.Observer.Dropped(q.Name, len(left))
		tell(left, errClosed)
	}
}

// take takes up to so many entries off the queue.
func (q *queue) take(most int) []entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.entries
	if len(batch) > most {
		batch, q.entries = batch[:most:most], batch[most:]
	} else {
		q.entries = nil
	}
	for _, e := range batch {
		q.bytes -= len(e.record.Body)
	}
	return batch
}

// write gives the sink one batch, and reports whether there was one. What is
// left keeps its token.
func (q *queue) write() bool {
	batch := q.take(largestBatch)
	if len(batch) == 0 {
		return false
	}
	records, durable := make([]Record, len(batch)), false
	for i, e := range batch {
		records[i] = e.record
		durable = durable || e.kept != nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), q.options.Patience)
	err := q.Sink.Write(ctx, records, durable)
	cancel()
	if err != nil {
		err = fmt.Errorf("audit %s: %w", q.Name, err)
		q.options.Observer.Failed(q.Name, len(batch))
		q.options.Logger.LogAttrs(ctx, slog.LevelError, "records of the audit trail could not be kept",
			slog.String("output", q.Name), slog.Int("records", len(batch)), slog.Any("error", err))
	} else {
		q.options.Observer.Written(q.Name, len(batch))
	}
	tell(batch, err)
	q.mu.Lock()
	left := len(q.entries) > 0
	q.mu.Unlock()
	if left {
		nudge(q.some)
		nudge(q.hurry)
	}
	return true
}

func tell(batch []entry, err error) {
	for _, e := range batch {
		if e.kept != nil {
			e.kept <- err
		}
	}
}
