package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Sink is a destination of records.
type Sink interface {
	// Write stores records in order. If durable is set, it returns once they
	// survive a crash. After an error none of them counts as kept.
	Write(ctx context.Context, records []Record, durable bool) error
	// Close releases the sink's resources; Write is not called afterwards.
	Close() error
}

// Output is a sink of a trail.
type Output struct {
	// Name identifies the output in metrics and errors.
	Name string
	Sink Sink
	// Durable is whether a record that must be durable must be so in this output.
	Durable bool
}

// Observer counts records. Its methods are called from the goroutines of the
// trail.
type Observer interface {
	// Written, Dropped and Failed count the records that an output kept, that
	// were dropped because the queue was full, and that the sink failed to keep
	// or that cannot be one line.
	// A correction that is retried is counted once, with its final result.
	Written(output string, records int)
	Dropped(output string, records int)
	Failed(output string, records int)
}

// Options configure a [Trail].
type Options struct {
	Outputs []Output
	// Patience is the deadline of a sink's write and of the wait for a record.
	// Default 5 s.
	Patience time.Duration
	// MaxRecords and MaxBytes limit the queue of each output. Default 8192
	// records, 32 MiB. Corrections are accepted beyond the limits: there is at
	// most one for each accepted record.
	MaxRecords int
	MaxBytes   int
	Observer   Observer
	Logger     *slog.Logger
}

// Trail passes records to its outputs, each on its own goroutine, so that a slow
// one does not delay the others. A trail without outputs keeps nothing.
type Trail struct {
	queues  []*queue
	options Options
}

// New returns a trail. The caller must call Close, which also closes the sinks.
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
	t := &Trail{options: o}
	for _, out := range o.Outputs {
		q := newQueue(out, o)
		t.queues = append(t.queues, q)
		go q.run()
	}
	return t
}

// Empty reports whether the trail has no outputs.
func (t *Trail) Empty() bool { return len(t.queues) == 0 }

// Durable reports whether any output makes records durable.
func (t *Trail) Durable() bool {
	for _, q := range t.queues {
		if q.Durable {
			return true
		}
	}
	return false
}

// admit puts a record on one line before any output gets it, and refuses a record
// for which that is impossible.
func (t *Trail) admit(r *Record) (err error) {
	if r.Body, err = r.line(); err == nil {
		return nil
	}
	for _, q := range t.queues {
		t.options.Observer.Failed(q.Name, 1)
	}
	t.options.Logger.Error("a record is refused by the audit trail", slog.Any("error", err))
	return fmt.Errorf("audit: %w", err)
}

// Keep queues a record without waiting for it.
func (t *Trail) Keep(r Record) {
	if t.admit(&r) != nil {
		return // already logged and counted
	}
	for _, q := range t.queues {
		_, _ = q.add(r, nobody) // what was dropped is counted
	}
}

// KeepSafely queues a record and returns once it is durable in every durable
// output. If it is not, or that is unknown in time (L5), KeepSafely calls instead
// with the error and returns it, and the record from instead replaces the first
// one. The first record may have been kept nevertheless, so the replacement
// follows it and is retried until it is kept (L7).
func (t *Trail) KeepSafely(ctx context.Context, r Record, instead func(error) Record) error {
	if err := t.admit(&r); err != nil {
		t.Keep(instead(err))
		return err
	}
	groups := make([]*group, len(t.queues)) // nil for outputs without a wait
	var errs []error
	for i, q := range t.queues {
		who := nobody
		if q.Durable {
			who = somebody
		}
		g, err := q.add(r, who)
		if groups[i] = g; q.Durable && err != nil {
			errs = append(errs, err)
		}
	}
	err := await(ctx, groups, errs)
	if err == nil {
		return nil
	}
	correct := instead(err)
	if t.admit(&correct) != nil {
		return err // already logged and counted; no output could ever keep it, nor anything behind it
	}
	for i, q := range t.queues {
		who := nobody
		if groups[i] != nil { // the first record may have been kept
			who = correction
		}
		_, _ = q.add(correct, who)
	}
	return err
}

// await waits for groups. Without any group errs must not be empty.
func await(ctx context.Context, groups []*group, errs []error) error {
	waited := false
	for _, g := range groups {
		if g == nil {
			continue
		}
		waited = true
		select {
		case <-g.done:
			if g.err != nil {
				errs = append(errs, g.err)
			}
		case <-ctx.Done():
			return fmt.Errorf("the caller stopped waiting for the audit record: %w", context.Cause(ctx))
		}
	}
	if !waited && len(errs) == 0 {
		return errors.New("no output of the audit trail is durable")
	}
	return errors.Join(errs...)
}

// Close writes the queued records, within the patience of each output, and closes
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
		case <-time.After(2 * t.options.Patience): // a sink that ignores its context
			errs = append(errs, fmt.Errorf("audit %s: it did not stop in time", q.Name))
		}
	}
	return errors.Join(errs...)
}
