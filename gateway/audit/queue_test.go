package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// doubtful is a sink that keeps its records, but can report an error
// nevertheless, like a database whose acknowledgment is lost.
type doubtful struct {
	fails atomic.Bool
	mu    sync.Mutex
	has   []string
}

func (d *doubtful) Write(_ context.Context, records []Record, _ bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range records {
		d.has = append(d.has, string(r.Body))
	}
	if d.fails.Load() {
		return errors.New("the acknowledgement is lost")
	}
	return nil
}

func (d *doubtful) Close() error { return nil }

// last returns, by name, which record came last.
func (d *doubtful) last() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]string{}
	for _, body := range d.has {
		name, says, _ := strings.Cut(body, " ")
		all[name] = says
	}
	return all
}

func named(name, says string) Record { return Record{Body: []byte(name + " " + says)} }

func instead(name string) func(error) Record {
	return func(error) Record { return named(name, "deny") }
}

func TestL7_ARecordWhoseAcknowledgementIsLostIsCorrectedOnceTheSinkWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, sink := &counter{}, &doubtful{}
		tr := trail(c, Output{Name: "disk", Durable: true, Sink: sink})
		sink.fails.Store(true)
		for i := range 3 {
			name := fmt.Sprint(i)
			if err := tr.KeepSafely(t.Context(), named(name, "allow"), instead(name)); err == nil {
				t.Fatal("it is safe")
			}
		}
		time.Sleep(10 * retryPause)
		c.want(t, 0, 0, 3)
		sink.fails.Store(false)
		time.Sleep(2 * retryPause)
		c.want(t, 3, 0, 3)
		if diff := cmp.Diff(map[string]string{"0": "deny", "1": "deny", "2": "deny"}, sink.last()); diff != "" {
			t.Errorf("what holds (-want +got):\n%s", diff)
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestL7_ARecordThatCameTooLateIsCorrectedBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, release := &counter{}, make(chan struct{})
		var first atomic.Bool
		kept := &doubtful{}
		tr := trail(c, Output{Name: "disk", Durable: true, Sink: &fake{does: func(ctx context.Context, records []Record, durable bool) error {
			if !first.Swap(true) {
				<-release
			}
			return kept.Write(ctx, records, durable)
		}}})
		var all sync.WaitGroup
		for i := range 20 { // one is being written, the others are queued
			all.Go(func() {
				name := fmt.Sprint(i)
				if err := tr.KeepSafely(t.Context(), named(name, "allow"), instead(name)); err == nil {
					t.Error("it is safe")
				}
			})
		}
		all.Wait()
		close(release)
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		c.want(t, 40, 0, 0)
		for name, says := range kept.last() {
			if says != "deny" {
				t.Errorf("%s: the last record says %s", name, says)
			}
		}
	})
}

func TestL7_CorrectionsAreNotCrowdedOutAndStayBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, sink := &counter{}, &doubtful{}
		tr := trail(c, Output{Name: "disk", Durable: true, Sink: sink}) // of 100 records
		sink.fails.Store(true)
		full := 0
		for i := range 500 {
			name := fmt.Sprint(i)
			err := tr.KeepSafely(t.Context(), named(name, "allow"), instead(name))
			if err == nil {
				t.Fatal("it is safe")
			}
			if errors.Is(err, errFull) {
				full++
			}
			tr.Keep(named("x", "deny"))
		}
		if n := tr.queues[0].length(); n > 2*100 || full == 0 {
			t.Errorf("%d records wait, %d were refused at once", n, full)
		}
		sink.fails.Store(false)
		time.Sleep(2 * retryPause)
		for name, says := range sink.last() {
			if says != "deny" {
				t.Errorf("%s: the last record says %s", name, says)
			}
		}
		if err := tr.KeepSafely(t.Context(), named("last", "allow"), instead("last")); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestL7_WhatCannotBeCorrectedBeforeTheEndIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, sink := &counter{}, &doubtful{}
		tr := trail(c, Output{Name: "disk", Durable: true, Sink: sink})
		sink.fails.Store(true)
		if err := tr.KeepSafely(t.Context(), named("a", "allow"), instead("a")); err == nil {
			t.Fatal("it is safe")
		}
		began := time.Now()
		if err := tr.Close(); err != nil || time.Since(began) > time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		c.want(t, 0, 1, 1)
	})
}

func TestL4_AWriteWaitsForThoseThatTheLastOneWasOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, takes = 16, 8 * time.Millisecond
		var writes atomic.Int64
		tr := trail(&counter{}, Output{Name: "disk", Durable: true, Sink: &fake{does: func(context.Context, []Record, bool) error {
			writes.Add(1)
			time.Sleep(takes)
			return nil
		}}})
		keep := func() {
			if err := tr.KeepSafely(t.Context(), record(1), corrected); err != nil {
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				for range 10 {
					time.Sleep(time.Duration(i) * takes / callers / 8) // the time until its next record
					keep()
				}
			})
		}
		all.Wait()
		if n := writes.Load(); n > 13 {
			t.Errorf("10 records each of %d callers took %d writes", callers, n)
		}
		// A caller for whom others are expected waits once, for a fraction of a
		// write.
		for _, most := range []time.Duration{takes + takes/assembly, takes, takes} {
			began := time.Now()
			keep()
			if took := time.Since(began); took > most {
				t.Errorf("a record alone took %v, want at most %v", took, most)
			}
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestL4_AGroupOverTwoBatchesIsToldOnceBothAreSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = largestBatch + 100
		var written sync.Map
		begun, release := make(chan struct{}), make(chan struct{})
		sink := &fake{does: func(_ context.Context, records []Record, _ bool) error {
			if len(records) == 1 {
				close(begun)
				<-release
			}
			for _, r := range records {
				written.Store(string(r.Body), true)
			}
			return nil
		}}
		c := &counter{}
		tr := New(Options{Outputs: []Output{{Name: "disk", Durable: true, Sink: sink}}, Observer: c})
		var all sync.WaitGroup
		keep := func(i int) {
			r := record(i)
			err := tr.KeepSafely(t.Context(), r, corrected)
			if _, safe := written.Load(string(r.Body)); err != nil || !safe {
				t.Errorf("record %d is told to be safe, and is: %v, error %v", i, safe, err)
			}
		}
		all.Go(func() { keep(0) })
		<-begun
		for i := range callers {
			all.Go(func() { keep(i + 1) })
		}
		synctest.Wait()
		close(release)
		all.Wait()
		c.want(t, callers+1, 0, 0)
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}
