package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// failsBy fails with the given cause.
func failsBy(cause chain.Cause) func(context.Context, question) (reply, *sendFailure) {
	return func(context.Context, question) (reply, *sendFailure) {
		return reply{}, &sendFailure{cause: cause, text: "failed", err: errors.New("so")}
	}
}

func TestWebhook_IsColdUntilItHasAnsweredAndAgainAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{say: fails}
		w := behind(s, BreakerOptions{}, nil)
		if !w.Cold() {
			t.Error("an endpoint that was never asked is warm")
		}
		tryOnce(t, w)
		if !w.Cold() {
			t.Error("an endpoint that answered nothing is warm")
		}
		s.say = allows
		tryOnce(t, w)
		if w.Cold() || w.ColdIn() != time.Minute {
			t.Errorf("an endpoint that has just answered: cold %v, in %v", w.Cold(), w.ColdIn())
		}
		time.Sleep(59 * time.Second)
		if w.Cold() || w.ColdIn() != time.Second {
			t.Errorf("a little later: cold %v, in %v", w.Cold(), w.ColdIn())
		}
		time.Sleep(time.Second)
		if !w.Cold() || w.ColdIn() != 0 {
			t.Errorf("a minute later: cold %v, in %v", w.Cold(), w.ColdIn())
		}
	})
}

func TestWebhook_IsColdWhereItsConnectionsWereLost(t *testing.T) {
	for _, cause := range chain.Causes() {
		t.Run(cause.String(), func(t *testing.T) {
			s := &scripted{say: allows}
			w := behind(s, BreakerOptions{}, nil)
			tryOnce(t, w)
			s.say = failsBy(cause)
			tryOnce(t, w)
			if got, want := w.Cold(), cause == chain.Connect || cause == chain.TLS || cause == chain.Reset; got != want {
				t.Errorf("after a failure by %s it is cold: %v, want %v", cause, got, want)
			}
		})
	}
}

func TestWebhook_IsColdOnceItsBreakerHasOpened(t *testing.T) {
	s := &scripted{say: allows}
	w := behind(s, BreakerOptions{ConsecutiveFailures: 1}, nil)
	tryOnce(t, w)
	s.say = fails
	tryOnce(t, w)
	if !w.Cold() {
		t.Error("it is warm behind an open breaker")
	}
}

// firsts records the calls that found an endpoint cold.
type firsts struct {
	unobserved
	mu   sync.Mutex
	told []string
}

func (f *firsts) FirstCall(took time.Duration, answered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, fmt.Sprintf("%v %v", took, answered))
}

func TestWebhook_SaysHowLongTheCallsTookThatFoundItCold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := &scripted{say: hangs}, &firsts{}
		w := behind(s, BreakerOptions{}, seen)
		within(t.Context(), t, w, chain.PreToolUse, time.Second) // fails
		w.Ask(t.Context(), hurriedFor(t, time.Second))           // not counted
		s.say = func(ctx context.Context, q question) (reply, *sendFailure) {
			time.Sleep(3 * time.Second)
			return allows(ctx, q)
		}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { within(t.Context(), t, w, chain.PreToolUse, 5*time.Second) })
		}
		both.Wait()
		s.say = allows
		tryOnce(t, w) // the endpoint is warm now
		if diff := cmp.Diff([]string{"1s false", "3s true", "3s true"}, seen.told); diff != "" {
			t.Errorf("first calls (-want +got):\n%s", diff)
		}
	})
}

func TestWebhook_ATryCountsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen, first := &scripted{say: fails}, &transitions{}, &firsts{}
		w := behind(s, BreakerOptions{ConsecutiveFailures: 2}, seen)
		w.observe = first
		try := func() string {
			return summary(w.Try(t.Context(), call(request(t, chain.PreToolUse, `{}`), time.Second)))
		}
		for range 5 {
			if got := try(); got != "status" {
				t.Errorf("a try got %s", got)
			}
		}
		tryOnce(t, w)
		s.say = allows
		if got := try(); got != "allow" || w.Cold() {
			t.Errorf("a try got %s and left it cold: %v", got, w.Cold())
		}
		if got := w.Status().Breaker.ConsecutiveFailures; got != 1 {
			t.Errorf("%d failures in a row, want that of the one call", got)
		}
		s.say = fails
		tryOnce(t, w) // opens the breaker
		asked := s.asked.Load()
		if got := try(); got != "breaker_open" || s.asked.Load() != asked {
			t.Errorf("a try behind an open breaker got %s, %d questions", got, s.asked.Load()-asked)
		}
		time.Sleep(31 * time.Second)
		s.say = allows
		if got := try(); got != "allow" || w.Status().Breaker.State != BreakerHalfOpen {
			t.Errorf("a try behind a half-open breaker got %s and left it %s", got, w.Status().Breaker.State)
		}
		if diff := cmp.Diff([]string{"0s false"}, first.told); diff != "" {
			t.Errorf("first calls (-want +got):\n%s", diff)
		}
	})
}

func TestWebhook_ATryIsHeldToTheContractAndTheLimit(t *testing.T) {
	s := &scripted{say: func(context.Context, question) (reply, *sendFailure) {
		return says(`{"decision":"replace","output":1}`)
	}}
	w := behind(s, BreakerOptions{}, nil)
	try := func() string {
		return summary(w.Try(t.Context(), call(request(t, chain.PreToolUse, `{}`), time.Minute)))
	}
	if got := try(); got != "wrong_decision" {
		t.Errorf("a replace before the call: %s", got)
	}
	for w.calls.enter() {
		defer w.calls.leave()
	}
	if got := try(); got != "saturated" {
		t.Errorf("with every place taken: %s", got)
	}
}

// coldStart is an endpoint that takes three seconds to start, beginning with
// the first request, even if that is given up. Then it answers at once.
func coldStart() func(c *hookConn) {
	var first sync.Once
	started := make(chan struct{})
	return func(c *hookConn) {
		for c.next() {
			first.Do(func() { time.AfterFunc(3*time.Second, func() { close(started) }) })
			<-started
			c.say(allowed)
		}
	}
}

func TestWebhook_AColdStartIsAnAllowWhereItsFirstCallMayTakeThatLong(t *testing.T) {
	for way, by := range ways() {
		for first, want := range map[time.Duration][]string{
			5 * time.Second: {"allow 3s", "allow 0s", "allow 0s"},
			0:               {"deny 1s", "allow 0s", "allow 0s"},
		} {
			t.Run(fmt.Sprintf("first call %v %s", first, way), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, _ := inBubble(t, by(WebhookOptions{URL: "http://hook.test"}), nil, coldStart())
					c, err := chain.New(chain.Options{Name: "test", Budget: 20 * time.Second, Participants: []*chain.Participant{{
						Name: "h", Binding: w, Events: chain.Events(), Timeout: time.Second, FirstTimeout: first, Cold: w.Cold,
					}}})
					if err != nil {
						t.Fatal(err)
					}
					var got []string
					for n := range want {
						if n > 0 {
							time.Sleep(2500 * time.Millisecond)
						}
						v := c.Decide(t.Context(), request(t, chain.PreToolUse, `{}`), 0)
						got = append(got, fmt.Sprintf("%s %v", v.Outcome.Decision, v.Took))
						if v.Cause != chain.NoCause && v.Cause != chain.Timeout {
							t.Errorf("call %d: %s", n, v.Outcome.Reason)
						}
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("calls (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}
