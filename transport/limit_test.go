package transport

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func TestT6_ALimitAdmitsAsManyAsItSays(t *testing.T) {
	l := limit{max: 2}
	for n, want := range []bool{true, true, false, false} {
		if got := l.enter(); got != want {
			t.Errorf("call %d: entered %v", n+1, got)
		}
	}
	if got := l.inFlight(); got != 2 {
		t.Errorf("%d in flight, want 2", got)
	}
	l.leave()
	if !l.enter() {
		t.Error("the place that was left is not given again")
	}
}

func TestT6_TheZeroLimitAdmitsNobody(t *testing.T) {
	var l limit
	if l.enter() {
		t.Error("entered")
	}
	if got := l.inFlight(); got != 0 {
		t.Errorf("%d in flight", got)
	}
}

func TestT6_ALimitIsNeverPassed(t *testing.T) {
	l := limit{max: 3}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				if l.enter() {
					if got := l.inFlight(); got < 1 {
						t.Errorf("%d in flight, one of them here", got)
					}
					l.leave()
				}
			}
		})
	}
	all.Wait()
	if got := l.inFlight(); got != 0 {
		t.Errorf("%d in flight after all have left", got)
	}
}

func TestT6_ACallThatFindsNoPlaceSaysSo(t *testing.T) {
	l := limit{max: 64}
	want := chain.Fail(chain.Saturated, "was not asked: its limit of 64 calls in flight is reached", "max_in_flight is reached")
	if diff := cmp.Diff(want, l.full()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestT7_AGateThatClosesWaitsForThoseInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		if !g.enter() {
			t.Fatal("an open gate let nobody in")
		}
		closed := make(chan struct{})
		go func() {
			g.close()
			close(closed)
		}()
		synctest.Wait()
		if g.enter() {
			t.Error("a closing gate let somebody in")
		}
		if isClosed(closed) {
			t.Error("close did not wait for who is inside")
		}
		g.leave()
		<-closed
		g.close() // a second close has no effect
	})
}
