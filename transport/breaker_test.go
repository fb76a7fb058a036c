package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// scripted is a sender that is controlled by the test.
type scripted struct {
	say     func(ctx context.Context, q question) (reply, *sendFailure)
	asked   atomic.Int64
	dropped atomic.Int64
	renewed atomic.Int64
}

func (s *scripted) send(ctx context.Context, q question) (reply, *sendFailure) {
	s.asked.Add(1)
	return s.say(ctx, q)
}

func (s *scripted) dropIdle() { s.dropped.Add(1) }

func (s *scripted) renew() { s.renewed.Add(1) }

// transitions records the breaker's transitions.
type transitions struct {
	unobserved
	mu   sync.Mutex
	told []string
}

func (o *transitions) Transition(from, to BreakerState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, from.String()+" to "+to.String())
}

// behind returns a webhook with the given breaker in front of s.
func behind(s sender, o BreakerOptions, observer WebhookObserver) *Webhook {
	return newWebhook(WebhookOptions{Breaker: o, MaxInFlight: 1000, Observer: observer, ColdAfter: time.Minute}, &url.URL{Scheme: "http", Host: "hook.test"}, &reach{sender: s, refused: func() {}})
}

func says(body string) (reply, *sendFailure) {
	return reply{status: http.StatusOK, body: []byte(body)}, nil
}

func allows(context.Context, question) (reply, *sendFailure) { return says(`{"decision":"allow"}`) }

func fails(context.Context, question) (reply, *sendFailure) {
	return reply{status: http.StatusInternalServerError}, nil
}

// hangs returns at the request's deadline, or when the caller hangs up.
func hangs(ctx context.Context, q question) (reply, *sendFailure) {
	ctx, cancel := context.WithDeadline(ctx, q.deadline)
	defer cancel()
	<-ctx.Done()
	return reply{}, &sendFailure{cause: chain.Timeout, err: ctx.Err()}
}

// within makes a call for the event that may take up to d.
func within(ctx context.Context, t *testing.T, w *Webhook, event chain.Event, d time.Duration) chain.Answer {
	t.Helper()
	return w.Ask(ctx, call(request(t, event, `{"command":"git push"}`), d))
}

// tryOnce makes a pre_tool_use call and returns a summary of the answer.
func tryOnce(t *testing.T, w *Webhook) string {
	t.Helper()
	return summary(within(t.Context(), t, w, chain.PreToolUse, time.Second))
}

func summary(a chain.Answer) string {
	if a.Failure != nil {
		return a.Failure.Cause.String()
	}
	return a.Outcome.Decision.String()
}

func TestBreaker_OpensAfterSoManyFailuresInARowAndThenAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := &scripted{say: fails}, &transitions{}
		w := behind(s, BreakerOptions{}, seen)
		for range 4 {
			tryOnce(t, w)
		}
		s.say = allows
		tryOnce(t, w) // resets the count
		s.say = fails
		for range 4 {
			tryOnce(t, w)
		}
		if got, want := w.Status().Breaker, (&BreakerStatus{State: BreakerClosed, ConsecutiveFailures: 4}); !cmp.Equal(got, want) {
			t.Errorf("before the fifth failure: %+v, want %+v", got, want)
		}
		tryOnce(t, w)
		asked := s.asked.Load()
		opened := time.Now()

		time.Sleep(18*time.Second + 300*time.Millisecond)
		got := within(t.Context(), t, w, chain.PreToolUse, time.Second)
		want := chain.Fail(chain.BreakerOpen,
			"was not asked: its circuit breaker is open until "+opened.Add(30*time.Second).UTC().Format(time.RFC3339)+" (for another 12 s)",
			"http://hook.test")
		same(t, want, got)
		if n := s.asked.Load() - asked; n != 0 {
			t.Errorf("an open breaker let %d calls through", n)
		}
		if got, want := w.Status().Breaker, (&BreakerStatus{State: BreakerOpen, RetryAt: opened.Add(30 * time.Second)}); !cmp.Equal(got, want) {
			t.Errorf("while open: %+v, want %+v", got, want)
		}
		if s.renewed.Load() != 1 {
			t.Errorf("connections were renewed %d times, want once: when the breaker opened", s.renewed.Load())
		}
		if diff := cmp.Diff([]string{"closed to open"}, seen.told); diff != "" {
			t.Errorf("transitions (-want +got):\n%s", diff)
		}
	})
}

func TestBreaker_NamesARetryNeverTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(700 * time.Millisecond) // not at a full second
		w := behind(&scripted{say: fails}, BreakerOptions{ConsecutiveFailures: 1, Open: 1500 * time.Millisecond}, nil)
		tryOnce(t, w)
		retry := time.Now().Add(1500 * time.Millisecond) // at 2.2 s
		time.Sleep(1400 * time.Millisecond)
		got := within(t.Context(), t, w, chain.PreToolUse, time.Second).Failure.Text
		want := "was not asked: its circuit breaker is open until " +
			retry.Add(800*time.Millisecond).UTC().Format(time.RFC3339) + " (for another 1 s)"
		if got != want {
			t.Errorf("text %q, want %q", got, want)
		}
	})
}

func TestBreaker_CountsEveryFailureThatIsTheParticipants(t *testing.T) {
	for _, cause := range chain.Causes() {
		t.Run(cause.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := behind(&scripted{say: func(context.Context, question) (reply, *sendFailure) {
					return reply{}, &sendFailure{cause: cause, text: "failed", err: errors.New("so")}
				}}, BreakerOptions{ConsecutiveFailures: 3}, nil)
				for range 3 {
					tryOnce(t, w)
				}
				want := BreakerOpen
				if cause == chain.Saturated || cause == chain.Budget || cause == chain.BreakerOpen {
					want = BreakerClosed
				}
				if got := w.Status().Breaker.State; got != want {
					t.Errorf("three failures by %s leave the breaker %s, want %s", cause, got, want)
				}
			})
		})
	}
}

func TestBreaker_CountsAnAnswerAsTheChainWillTakeIt(t *testing.T) {
	for _, c := range []struct {
		says  string
		event chain.Event
		want  BreakerState
	}{
		{`{"decision":"allow"}`, chain.PreToolUse, BreakerClosed},
		{`{"decision":"deny","reason":"no"}`, chain.PreToolUse, BreakerClosed},
		{`{"decision":"deny"}`, chain.PostToolUse, BreakerClosed},
		{`{"decision":"modify","input":{"command":"ls"}}`, chain.PreToolUse, BreakerClosed},
		{`{"decision":"replace","output":"x"}`, chain.PostToolUse, BreakerClosed},
		{`{"decision":"modify","input":"ls"}`, chain.PreToolUse, BreakerOpen},
		{`{"decision":"modify","input":{}}`, chain.PostToolUse, BreakerOpen},
		{`{"decision":"replace","output":"x"}`, chain.PreToolUse, BreakerOpen},
		{`{"decision":"ask"}`, chain.PreToolUse, BreakerOpen},
		{`{}`, chain.PreToolUse, BreakerOpen},
		{``, chain.PreToolUse, BreakerOpen},
	} {
		t.Run(c.says+" at "+c.event.String(), func(t *testing.T) {
			w := behind(&scripted{say: func(context.Context, question) (reply, *sendFailure) { return says(c.says) }},
				BreakerOptions{ConsecutiveFailures: 3}, nil)
			for range 3 {
				within(t.Context(), t, w, c.event, time.Minute)
			}
			if got := w.Status().Breaker.State; got != c.want {
				t.Errorf("three such answers leave the breaker %s, want %s", got, c.want)
			}
		})
	}
}

func TestT5_ACallerThatHungUpIsCountedForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{say: hangs}
		w := behind(s, BreakerOptions{ConsecutiveFailures: 3}, nil)
		for range 20 {
			ctx, hangUp := context.WithTimeout(t.Context(), 50*time.Millisecond)
			if a := within(ctx, t, w, chain.PreToolUse, time.Minute); a.Failure == nil {
				t.Errorf("a caller that hung up was answered: %+v", a.Outcome)
			}
			hangUp()
		}
		if got, want := w.Status().Breaker, (&BreakerStatus{State: BreakerClosed}); !cmp.Equal(got, want) {
			t.Errorf("after 20 callers hung up: %+v, want %+v", got, want)
		}
		s.say = allows
		if got := tryOnce(t, w); got != "allow" {
			t.Errorf("the plenty caller got %s", got)
		}
	})
}

// halfOpened returns a webhook whose breaker has just become half-open.
func halfOpened(t *testing.T, s *scripted, o BreakerOptions, observer WebhookObserver) *Webhook {
	t.Helper()
	o.ConsecutiveFailures = 1
	w := behind(s, o, observer)
	healthy := s.say
	s.say = fails
	tryOnce(t, w)
	s.say = healthy
	time.Sleep(o.withDefaults().Open + time.Millisecond)
	s.asked.Store(0)
	return w
}

func TestBreaker_LetsExactlyItsProbesThroughWhateverTheCrowd(t *testing.T) {
	for _, probes := range []int{1, 3} {
		t.Run(fmt.Sprint(probes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				s, seen := &scripted{say: func(context.Context, question) (reply, *sendFailure) {
					<-release
					return says(`{"decision":"allow"}`)
				}}, &transitions{}
				w := halfOpened(t, s, BreakerOptions{HalfOpenProbes: probes}, seen)
				var mu sync.Mutex
				got := map[string]int{}
				for range 200 {
					go func() {
						said := tryOnce(t, w)
						mu.Lock()
						defer mu.Unlock()
						got[said]++
					}()
				}
				synctest.Wait()
				mu.Lock()
				if diff := cmp.Diff(map[string]int{"breaker_open": 200 - probes}, got); diff != "" {
					t.Errorf("answered at once (-want +got):\n%s", diff)
				}
				mu.Unlock()
				if n := s.asked.Load(); n != int64(probes) {
					t.Errorf("%d probes reached the endpoint, want %d", n, probes)
				}
				refused := within(t.Context(), t, w, chain.PreToolUse, time.Second).Failure
				if want := "was not asked: its circuit breaker is half-open, and all its probes are in flight"; refused.Text != want {
					t.Errorf("text %q, want %q", refused.Text, want)
				}
				close(release)
				synctest.Wait()
				if diff := cmp.Diff(map[string]int{"breaker_open": 200 - probes, "allow": probes}, got); diff != "" {
					t.Errorf("answered in the end (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"closed to open", "open to half_open", "half_open to closed"}, seen.told); diff != "" {
					t.Errorf("transitions (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestBreaker_OneFailedProbeOpensItAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{say: allows}
		w := halfOpened(t, s, BreakerOptions{HalfOpenProbes: 3}, nil)
		tryOnce(t, w)
		s.say = fails
		tryOnce(t, w)
		if got, want := w.Status().Breaker, (&BreakerStatus{State: BreakerOpen, RetryAt: time.Now().Add(30 * time.Second)}); !cmp.Equal(got, want) {
			t.Errorf("after a failed probe: %+v, want %+v", got, want)
		}
	})
}

func TestBreaker_AProbeThatCountsForNothingGivesItsPlaceBack(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, w *Webhook, s *scripted){
		"its caller hung up": func(t *testing.T, w *Webhook, s *scripted) {
			t.Helper()
			s.say = hangs
			ctx, hangUp := context.WithTimeout(t.Context(), time.Second)
			defer hangUp()
			within(ctx, t, w, chain.PreToolUse, time.Minute)
		},
		"the chain's budget ended": func(t *testing.T, w *Webhook, s *scripted) {
			t.Helper()
			s.say = hangs
			late := call(request(t, chain.PreToolUse, `{}`), time.Second)
			late.Late = chain.Budget
			if got := summary(w.Ask(t.Context(), late)); got != "budget" {
				t.Errorf("got %s, want budget", got)
			}
		},
		"too many calls are in flight": func(t *testing.T, w *Webhook, _ *scripted) {
			t.Helper()
			for w.calls.enter() {
				defer w.calls.leave()
			}
			if got := tryOnce(t, w); got != "saturated" {
				t.Errorf("got %s, want saturated", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, seen := &scripted{say: allows}, &transitions{}
				w := halfOpened(t, s, BreakerOptions{}, seen)
				for range 3 {
					spoil(t, w, s)
					if got := w.Status().Breaker.State; got != BreakerHalfOpen {
						t.Fatalf("the breaker is %s, want half_open", got)
					}
				}
				s.say = allows
				if got := tryOnce(t, w); got != "allow" {
					t.Errorf("the next probe got %s, want allow", got)
				}
				if diff := cmp.Diff([]string{"closed to open", "open to half_open", "half_open to closed"}, seen.told); diff != "" {
					t.Errorf("transitions (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// hurriedFor is a call whose caller has less time than the endpoint's own
// timeout.
func hurriedFor(t *testing.T, d time.Duration) chain.Call {
	t.Helper()
	c := call(request(t, chain.PreToolUse, `{}`), d)
	c.Late = chain.Budget
	return c
}

func TestBreaker_CallersWithoutTimeStarveNoProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := &scripted{say: hangs}, &transitions{}
		w := halfOpened(t, s, BreakerOptions{}, seen)
		stop := make(chan struct{})
		var crowd sync.WaitGroup
		for range 3 { // one after the other, and several at a time
			crowd.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						if got := summary(w.Ask(t.Context(), hurriedFor(t, time.Millisecond))); got != "budget" && got != "breaker_open" {
							t.Errorf("a caller without time got %s", got)
						}
						time.Sleep(time.Microsecond)
					}
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		if got := w.Status().Breaker.State; got != BreakerHalfOpen {
			t.Errorf("callers without time left the breaker %s, want half_open", got)
		}
		if n := s.asked.Load(); n == 0 || n > 51 {
			t.Errorf("%d of them reached the endpoint in 50 ms, want some, one at a time", n)
		}
		got := make(chan string)
		go func() {
			got <- summary(w.Ask(t.Context(), call(request(t, chain.PreToolUse, `{}`), 10*time.Millisecond)))
		}()
		if said := <-got; said != "timeout" {
			t.Errorf("a caller with time got %s, want to be the probe, which times out", said)
		}
		if got := w.Status().Breaker.State; got != BreakerOpen {
			t.Errorf("the probe left the breaker %s", got)
		}
		close(stop)
		crowd.Wait()
		if diff := cmp.Diff([]string{"closed to open", "open to half_open", "half_open to open"}, seen.told); diff != "" {
			t.Errorf("transitions (-want +got):\n%s", diff)
		}
	})
}

func TestBreaker_WhatACallerWithLittleTimeFindsOutCounts(t *testing.T) {
	for name, c := range map[string]struct {
		say  func(context.Context, question) (reply, *sendFailure)
		want BreakerState
	}{
		"an answer":          {allows, BreakerClosed},
		"a failure":          {fails, BreakerOpen},
		"that time runs out": {hangs, BreakerHalfOpen},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{say: c.say}
				w := halfOpened(t, s, BreakerOptions{}, nil)
				w.Ask(t.Context(), hurriedFor(t, time.Millisecond))
				if got := w.Status().Breaker.State; got != c.want {
					t.Errorf("the breaker is %s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestBreaker_BesideAProbeNothingElseDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &scripted{say: func(context.Context, question) (reply, *sendFailure) {
			<-release
			return says(`{"decision":"allow"}`)
		}}
		w := halfOpened(t, s, BreakerOptions{}, nil)
		probe := make(chan string)
		go func() { probe <- tryOnce(t, w) }()
		synctest.Wait()
		s.say = fails
		w.Ask(t.Context(), hurriedFor(t, time.Millisecond))
		if got := w.Status().Breaker.State; got != BreakerHalfOpen {
			t.Errorf("a failure beside the probe left the breaker %s", got)
		}
		close(release)
		if got := <-probe; got != "allow" || w.Status().Breaker.State != BreakerClosed {
			t.Errorf("the probe got %s and left the breaker %s", got, w.Status().Breaker.State)
		}
	})
}

func TestBreaker_AProbeThatBlowsUpIsAFailureAndKeepsNoPlace(t *testing.T) {
	for name, blow := range map[string]func(){
		"panic":  func() { panic("boom") },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{say: func(context.Context, question) (reply, *sendFailure) {
					blow()
					return says(`{"decision":"allow"}`)
				}}
				w := halfOpened(t, s, BreakerOptions{}, nil)
				go func() {
					defer func() { _ = recover() }()
					tryOnce(t, w)
				}()
				synctest.Wait()
				if got := w.Status(); got.Breaker.State != BreakerOpen || got.InFlight != 0 {
					t.Errorf("after it: breaker %s, %d in flight; want open, none", got.Breaker.State, got.InFlight)
				}
				time.Sleep(30*time.Second + time.Millisecond)
				s.say = allows
				if got := tryOnce(t, w); got != "allow" {
					t.Errorf("the next probe got %s, want allow", got)
				}
			})
		})
	}
}

func TestBreaker_WhatComesLateFromAnEarlierStateChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := &scripted{say: hangs}, &transitions{}
		w := behind(s, BreakerOptions{ConsecutiveFailures: 1}, seen)
		slow := make(chan string, 2)
		for _, late := range []func(context.Context, question) (reply, *sendFailure){allows, fails} {
			s.say = func(ctx context.Context, q question) (reply, *sendFailure) {
				time.Sleep(40 * time.Second)
				return late(ctx, q)
			}
			go func() { slow <- summary(within(t.Context(), t, w, chain.PreToolUse, time.Minute)) }()
			synctest.Wait()
		}
		s.say = fails
		tryOnce(t, w) // opens the breaker for 30 s
		time.Sleep(31 * time.Second)
		if got := w.Status().Breaker.State; got != BreakerHalfOpen {
			t.Fatalf("the breaker is %s, want half_open", got)
		}
		time.Sleep(10 * time.Second) // both slow calls end
		synctest.Wait()
		if got := w.Status().Breaker.State; got != BreakerHalfOpen {
			t.Errorf("late results made the breaker %s, want half_open", got)
		}
		got := map[string]bool{<-slow: true, <-slow: true}
		if diff := cmp.Diff(map[string]bool{"allow": true, "status": true}, got); diff != "" {
			t.Errorf("what the slow calls got (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"closed to open", "open to half_open"}, seen.told); diff != "" {
			t.Errorf("transitions (-want +got):\n%s", diff)
		}
	})
}

func TestBreaker_IsNotShownOpenOnceItWouldLetACallThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := behind(&scripted{say: fails}, BreakerOptions{ConsecutiveFailures: 1}, nil)
		tryOnce(t, w)
		time.Sleep(time.Hour)
		if got, want := w.Status().Breaker, (&BreakerStatus{State: BreakerHalfOpen}); !cmp.Equal(got, want) {
			t.Errorf("an hour later: %+v, want %+v", got, want)
		}
	})
}
