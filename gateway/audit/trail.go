package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// for want of room, and not kept because the sink could not. A correction
	// that is tried again is counted once it came to something.
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
	// records, 32 MiB. Corrections are taken beyond that: there is at most one
	// for each record that was.
	MaxRecords int
	MaxBytes   int
	Observer   Observer
	Logger     *slog.Logger
}

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
		q := newQueue(out, o)
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
		_, _ = q.add(r, nobody) // what was dropped is counted
	}
}

// KeepSafely takes a record and returns once it is safe in every output that
// can make it so, or says why it is not, or not known to be (L5). Then the record
// that instead returns holds in its place. As the first may be there all the
// same, that one comes behind it and is tried until it is kept (L7).
func (t *Trail) KeepSafely(ctx context.Context, r Record, instead func(error) Record) error {
	groups := make([]*group, len(t.queues)) // nil where nothing is waited for
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
	for i, q := range t.queues {
		who := nobody
		if groups[i] != nil { // it may be there
			who = correction
		}
		_, _ = q.add(correct, who)
	}
	return err
}

// await waits for groups. Without any there has to be an error already.
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
			return fmt.Errorf("nobody waited for the audit trail to keep the record: %w", context.Cause(ctx))
		}
	}
	if !waited && len(errs) == 0 {
		return errors.New("nothing of the audit trail can make a record safe")
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
