package transport

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// idleProcess is a process that is never actually used.
func idleProcess() *workerProcess { return newWorkerProcess(&process{}, false) }

// took is what a call got from the pool, and after how long.
type took struct {
	process *workerProcess
	failure *chain.Failure
	after   time.Duration
}

// taking calls take in the background.
func taking(ctx context.Context, q *pool, c chain.Call) <-chan took {
	began := time.Now()
	got := make(chan took, 1)
	go func() {
		p, f := q.take(ctx, c)
		got <- took{p, f, time.Since(began)}
	}()
	return got
}

func TestACallTakesTheProcessThatWasUsedLast(t *testing.T) {
	q := newPool(2)
	cold, warm := idleProcess(), idleProcess()
	q.offer(cold)
	q.offer(warm)
	for n, want := range []*workerProcess{warm, cold} {
		if p, f := q.take(t.Context(), plain(t)); p != want || f != nil {
			t.Errorf("call %d got another process, or %+v", n+1, f)
		}
	}
	if got := q.running(); got != 2 {
		t.Errorf("%d run, want 2", got)
	}
}

func TestCallsWaitInTheOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newPool(1)
		first := taking(t.Context(), q, plain(t))
		synctest.Wait()
		second := taking(t.Context(), q, plain(t))
		synctest.Wait()
		p := idleProcess()
		q.offer(p)
		if got := <-first; got.process != p {
			t.Errorf("the first call got %+v", got)
		}
		q.giveBack(p)
		if got := <-second; got.process != p {
			t.Errorf("the second call got %+v", got)
		}
	})
}

func TestT2_ACallWaitsForAProcessUntilItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newPool(1)
		c := call(request(t, chain.PreToolUse, `{}`), time.Second)
		got := <-taking(t.Context(), q, c)
		want := c.Expired("none of its processes was free").Failure
		if diff := cmp.Diff(want, got.failure); diff != "" || got.after != time.Second {
			t.Errorf("after %v (-want +got):\n%s", got.after, diff)
		}
		p := idleProcess()
		q.offer(p)
		if got := <-taking(t.Context(), q, c); got.process != p {
			t.Error("the process was kept for the call that has gone")
		}
	})
}

func TestT5_ACallerThatHangsUpLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newPool(1)
		ctx, hangUp := context.WithCancel(t.Context())
		gone := taking(ctx, q, plain(t))
		synctest.Wait()
		next := taking(t.Context(), q, plain(t))
		synctest.Wait()
		hangUp()
		if got := <-gone; got.process != nil {
			t.Errorf("got %+v", got)
		}
		p := idleProcess()
		q.offer(p)
		if got := <-next; got.process != p {
			t.Errorf("the next call got %+v", got)
		}
	})
}

func TestAProcessHandedToACallThatLeavesGoesToTheNext(t *testing.T) {
	q := newPool(1)
	me := &waiter{turn: make(chan turn, 1)}
	q.waiting = []*waiter{me}
	p := idleProcess()
	q.offer(p) // at the same moment as the next line
	q.leave(me)
	if got, f := q.take(t.Context(), plain(t)); got != p || f != nil {
		t.Errorf("the process was lost: %+v", f)
	}
	me.turn <- turn{failure: &chain.Failure{}}
	q.leave(me) // a failure is not passed on
	if len(q.idle) > 0 {
		t.Error("a failure became a process")
	}
}

func TestWithoutHopeACallFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newPool(2)
		q.fell(0, fall{cause: chain.Worker, why: "the last one exited with status 1", detail: "stderr: a", again: time.Now().Add(9 * time.Second)})
		waits := taking(t.Context(), q, call(request(t, chain.PreToolUse, `{}`), 4*time.Second))
		synctest.Wait() // while the other seat is still being started
		q.fell(1, fall{cause: chain.Spawn, why: "it could not be started: x", detail: "stderr: b", again: time.Now().Add(5 * time.Second)})
		want := chain.Fail(chain.Spawn, "has no running process: it could not be started: x; the next start is in 5s", "stderr: b").Failure
		for _, got := range []took{<-waits, <-taking(t.Context(), q, call(request(t, chain.PreToolUse, `{}`), 4*time.Second))} {
			if diff := cmp.Diff(want, got.failure); diff != "" || got.after != 0 {
				t.Errorf("after %v (-want +got):\n%s", got.after, diff)
			}
		}
	})
}

func TestACallWaitsForARestartWithinItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newPool(1)
		q.fell(0, fall{again: time.Now().Add(time.Second)})
		waits := taking(t.Context(), q, call(request(t, chain.PreToolUse, `{}`), 2*time.Second))
		time.Sleep(time.Second)
		q.rises(0)
		p := idleProcess()
		q.offer(p)
		if got := <-waits; got.process != p || got.after != time.Second {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAProcessThatHasExitedIsHandedToNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newPool(2)
		idle, taken := idleProcess(), idleProcess()
		q.offer(idle)
		q.offer(taken)
		if p, _ := q.take(t.Context(), plain(t)); p != taken {
			t.Fatal("got another process")
		}
		q.retire(idle)
		retired := make(chan struct{})
		go func() {
			q.retire(taken)
			close(retired)
		}()
		synctest.Wait()
		if isClosed(retired) {
			t.Error("a process was retired while a call had it")
		}
		q.giveBack(taken)
		<-retired
		if len(q.idle) != 0 || q.running() != 0 {
			t.Errorf("%d idle and %d running processes are left", len(q.idle), q.running())
		}
	})
}

func TestTheBackoffDoublesUpToItsMost(t *testing.T) {
	b := Backoff{Min: 100 * time.Millisecond, Max: 450 * time.Millisecond}
	for failures, ms := range map[int]int{1: 100, 2: 200, 3: 400, 4: 450, 1000: 450} {
		most := time.Duration(ms) * time.Millisecond
		for range 100 {
			if got := b.after(failures); got < most/2 || got > most {
				t.Errorf("after %d failures %v, want between %v and %v", failures, got, most/2, most)
			}
		}
	}
}

func TestTheBackoffHasDefaults(t *testing.T) {
	for _, c := range []struct{ given, want Backoff }{
		{Backoff{}, Backoff{Min: 100 * time.Millisecond, Max: 30 * time.Second}},
		{Backoff{Min: time.Minute}, Backoff{Min: time.Minute, Max: time.Minute}},
		{Backoff{Max: time.Minute}, Backoff{Min: 100 * time.Millisecond, Max: time.Minute}},
	} {
		if got, err := c.given.withDefaults(); got != c.want || err != nil {
			t.Errorf("%+v became %+v, %v", c.given, got, err)
		}
	}
}
