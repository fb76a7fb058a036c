package transport

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func TestBreaker_IsHeldForAsLongAsAThrottlingEndpointAsks(t *testing.T) {
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		status int
		after  func() string
		// want is how long the endpoint is not called. Zero means that the response
		// is an ordinary failure.
		want time.Duration
	}{
		"429 with seconds":            {429, func() string { return "7" }, 7 * time.Second},
		"503 with seconds":            {503, func() string { return "7" }, 7 * time.Second},
		"429 with a date":             {429, func() string { return at(20 * time.Second) }, 20 * time.Second},
		"503 with a date":             {503, func() string { return at(time.Second) }, time.Second},
		"longer than it may":          {429, func() string { return "86400" }, 45 * time.Second},
		"a date too far":              {503, func() string { return at(time.Hour) }, 45 * time.Second},
		"more seconds than there are": {429, func() string { return "99999999999999999999999999" }, 45 * time.Second},
		"no time at all":              {429, func() string { return "0" }, 0},
		"a date that is over":         {429, func() string { return at(-time.Hour) }, 0},
		"no Retry-After":              {429, func() string { return "" }, 0},
		"a negative time":             {503, func() string { return "-5" }, 0},
		"words":                       {503, func() string { return "soon CANARY" }, 0},
		"half a second":               {503, func() string { return "0.5" }, 0},
		"another status":              {500, func() string { return "7" }, 0},
		"a redirect":                  {301, func() string { return "7" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{say: func(context.Context, question) (reply, *sendFailure) {
					return reply{status: c.status, retryAfter: c.after()}, nil
				}}
				w := behind(s, BreakerOptions{MaxRetryAfter: 45 * time.Second}, nil)
				tryOnce(t, w)
				if c.want == 0 {
					want := &BreakerStatus{State: BreakerClosed, ConsecutiveFailures: 1}
					if diff := cmp.Diff(want, w.Status().Breaker); diff != "" {
						t.Errorf("breaker (-want +got):\n%s", diff)
					}
					return
				}
				want := &BreakerStatus{State: BreakerOpen, Throttled: true, RetryAt: time.Now().Add(c.want)}
				if diff := cmp.Diff(want, w.Status().Breaker); diff != "" {
					t.Errorf("breaker (-want +got):\n%s", diff)
				}
				s.say = allows
				time.Sleep(c.want)
				if got := tryOnce(t, w); got != "breaker_open" {
					t.Errorf("when the time was up but not over: %s", got)
				}
				time.Sleep(time.Millisecond)
				if got := tryOnce(t, w); got != "allow" {
					t.Errorf("afterwards: %s", got)
				}
				if got := w.Status().Breaker.State; got != BreakerClosed {
					t.Errorf("a good probe left the breaker %s", got)
				}
			})
		})
	}
}

func TestBreaker_SaysThatAnEndpointAskedToBeLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &transitions{}
		w := behind(&scripted{say: func(context.Context, question) (reply, *sendFailure) {
			return reply{status: 429, retryAfter: "12"}, nil
		}}, BreakerOptions{}, seen)
		same(t, failure(chain.Status, "answered with status 429: it is not asked again for 12 s"), public(t, ask(t, w)))
		want := "was not asked: it asked callers to wait (Retry-After), and its circuit breaker is open until " +
			time.Now().Add(12*time.Second).UTC().Format(time.RFC3339) + " (for another 12 s)"
		same(t, failure(chain.BreakerOpen, want), public(t, ask(t, w)))
		time.Sleep(12*time.Second + time.Millisecond)
		ask(t, w) // the probe is throttled too
		if got := w.Status().Breaker; got.State != BreakerOpen || !got.Throttled || time.Until(got.RetryAt) != 12*time.Second {
			t.Errorf("after a probe that was throttled: %+v", got)
		}
		if diff := cmp.Diff([]string{"closed to open", "open to half_open", "half_open to open"}, seen.told); diff != "" {
			t.Errorf("transitions (-want +got):\n%s", diff)
		}
	})
}

func TestBreaker_HeedsNoRetryAfterWhereNoneIsAllowed(t *testing.T) {
	w := behind(&scripted{say: func(context.Context, question) (reply, *sendFailure) {
		return reply{status: 429, retryAfter: "12"}, nil
	}}, BreakerOptions{MaxRetryAfter: -1}, nil)
	same(t, failure(chain.Status, "answered with status 429"), public(t, ask(t, w)))
}

func TestBreaker_AThrottledAnswerThatComesLateStretchesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{say: func(context.Context, question) (reply, *sendFailure) {
			time.Sleep(10 * time.Second)
			return reply{status: 503, retryAfter: "60"}, nil
		}}
		w := behind(s, BreakerOptions{ConsecutiveFailures: 1}, nil)
		go within(t.Context(), t, w, chain.PreToolUse, time.Minute)
		synctest.Wait()
		s.say = fails
		tryOnce(t, w)
		until := w.Status().Breaker.RetryAt
		time.Sleep(11 * time.Second)
		if got := w.Status().Breaker; !got.RetryAt.Equal(until) || got.Throttled {
			t.Errorf("it is open until %v, before until %v", got.RetryAt, until)
		}
	})
}

func TestWebhook_ReadsRetryAfterFromTheWire(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := inBubble(t, by(WebhookOptions{URL: "http://hook.test"}), nil, func(c *hookConn) {
					for c.next() {
						c.say(response("503 Busy", "retry-after:  9 \r\n", `{"decision":"allow"}`))
					}
				})
				same(t, failure(chain.Status, "answered with status 503: it is not asked again for 9 s"), public(t, ask(t, w)))
				if got := ask(t, w); got.Failure == nil || got.Failure.Cause != chain.BreakerOpen || len(h.heard()) != 1 {
					t.Errorf("the next call got %s, the endpoint heard %d", summary(got), len(h.heard()))
				}
			})
		})
	}
}
