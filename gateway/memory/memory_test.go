package memory

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = 1 << 20

// process is a fake process: its memory usage, and how often memory was
// returned.
type process struct {
	mu    sync.Mutex
	usage Usage
	live  uint64 // what remains after a collection
	given []time.Duration
	began time.Time
}

// run runs a Returner for the process until the test ends.
func (p *process) run(t *testing.T) {
	t.Helper()
	p.began = time.Now()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		New(Options{
			Read: func() Usage {
				p.mu.Lock()
				defer p.mu.Unlock()
				return p.usage
			},
			Return: func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.given = append(p.given, time.Since(p.began))
				p.usage.Objects, p.usage.Free = p.live, 0
			},
		}).Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	passes(time.Second) // so that no check coincides with an event
}

// works allocates bytes, all of which are garbage afterwards.
func (p *process) works(bytes uint64) {
	p.now(func(u *Usage) {
		u.Allocated += bytes
		u.Objects += bytes
	})
}

// now changes the memory usage.
func (p *process) now(change func(*Usage)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.usage)
}

// passes lets time pass.
func passes(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// idle returns a process that has been running for some time.
func idle() *process {
	return &process{usage: Usage{Allocated: 100 * mib, Objects: 6 * mib, Free: 2 * mib}, live: 5 * mib}
}

func (p *process) wantGiven(t *testing.T, when string, want int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.given) != want {
		t.Errorf("%s: it gave back %d times, want %d (after %v)", when, len(p.given), want, p.given)
	}
}

func TestWhatABurstLeavesIsGivenBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := idle()
		p.run(t)
		passes(time.Hour)
		p.wantGiven(t, "without work", 0)
		p.works(40 * mib)
		passes(2*look + time.Second)
		p.wantGiven(t, "after the burst", 1)
		passes(time.Hour)
		p.wantGiven(t, "long after it", 1)
		p.works(40 * mib)
		passes(2*look + time.Second)
		p.wantGiven(t, "after another", 2)
	})
}

func TestWhatTheRuntimeFreedByItselfIsGivenBackToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := idle()
		p.usage.Objects = 90 * mib // all of it in use
		p.run(t)
		passes(time.Minute)
		p.wantGiven(t, "while they are", 0)
		p.now(func(u *Usage) { u.Objects, u.Free = 6*mib, 84*mib })
		passes(look)
		p.wantGiven(t, "since they are not", 1)
	})
}

func TestB1_AGatewayAtWorkIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := idle()
		p.run(t)
		for range 1000 {
			p.works(quiet + 1)
			passes(look)
		}
		p.wantGiven(t, "at work", 0)
		passes(look)
		p.wantGiven(t, "at rest", 1)
	})
}

func TestB2_WhatIsNotWorthACollectionIsLeftAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		live, garbage uint64
		want          int
	}{
		"little":              {5, 3, 0},
		"enough":              {5, 4, 1},
		"little for its size": {200, 90, 0},
		"enough for its size": {200, 100, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &process{usage: Usage{Objects: tc.live * mib}, live: tc.live * mib}
			p.run(t)
			p.works(tc.garbage * mib)
			passes(time.Hour)
			p.wantGiven(t, name, tc.want)
		})
	}
}

func TestB2_WhatIsInUseIsNotCollectedForTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := idle()
		p.live = 85 * mib // all of it is retained
		p.run(t)
		p.works(80 * mib)
		passes(time.Hour)
		p.wantGiven(t, "in use", 1)
	})
}

func TestB3_BurstAfterBurstIsGivenBackOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := idle()
		p.run(t)
		const long = 10 * time.Minute
		for time.Since(p.began) < long {
			p.works(100 * mib)
			passes(2 * look)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if most := int(long/rest) + 1; len(p.given) > most || len(p.given) < most/2 {
			t.Errorf("it gave back %d times within %v", len(p.given), long)
		}
		for n := 1; n < len(p.given); n++ {
			if pause := p.given[n] - p.given[n-1]; pause < rest {
				t.Errorf("it gave back again after %v", pause)
			}
		}
	})
}

func TestTheRuntimeSaysWhatIsUsedAndGivesBack(t *testing.T) {
	read := reader()
	before := read()
	kept := make([]byte, 64*mib)
	full := read()
	if full.Allocated < before.Allocated+64*mib || full.Objects < 64*mib {
		t.Errorf("with 64 MiB more: %+v, before %+v", full, before)
	}
	runtime.KeepAlive(kept)
	New(Options{}).o.Return()
	if after := read(); after.Objects+after.Free > full.Objects-60*mib {
		t.Errorf("given back: %+v, before %+v", after, full)
	}
}
