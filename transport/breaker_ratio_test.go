package transport

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// asked makes one call per letter: "f" fails, "a" is allowed.
func asked(t *testing.T, w *Webhook, s *scripted, letters string) {
	t.Helper()
	for _, letter := range letters {
		s.say = allows
		if letter == 'f' {
			s.say = fails
		}
		tryOnce(t, w)
	}
}

func TestBreaker_OfARatioOpensOnlyWithEnoughCallsAndTooManyOfThemFailed(t *testing.T) {
	for letters, want := range map[string]BreakerState{
		"f":                     BreakerClosed, // one failure
		"fffffffff":             BreakerClosed, // one call fewer than MinCalls
		"ffffffffff":            BreakerOpen,
		"fffffaaaaaa":           BreakerClosed,
		"ffffffaaaaaaf":         BreakerOpen,
		"aaaaafffff":            BreakerOpen,
		"aaaaaaffffff":          BreakerOpen,
		"aaaaaaafffffa":         BreakerClosed,
		"fafafafafa":            BreakerClosed, // the tenth call succeeds, which opens nothing
		"afafafafaf":            BreakerOpen,
		"aaaaaaaaaaaaaaaafffff": BreakerClosed, // five in a row, but a small share of the calls
	} {
		t.Run(letters, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{}
				w := behind(s, BreakerOptions{FailureRatio: 0.5}, nil)
				asked(t, w, s, letters)
				if got := w.Status().Breaker.State; got != want {
					t.Errorf("the breaker is %s, want %s", got, want)
				}
			})
		})
	}
}

func TestBreaker_OfARatioForgetsWhatIsOutsideOfItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{}
		w := behind(s, BreakerOptions{FailureRatio: 0.5, MinCalls: 4, Window: 10 * time.Second}, nil)
		asked(t, w, s, "fff")
		time.Sleep(5 * time.Second)
		asked(t, w, s, "aaa")
		want := &BreakerStatus{State: BreakerClosed, Window: &BreakerWindow{Calls: 6, Failures: 3}}
		if diff := cmp.Diff(want, w.Status().Breaker); diff != "" {
			t.Errorf("within the window (-want +got):\n%s", diff)
		}
		time.Sleep(6 * time.Second)
		want.Window = &BreakerWindow{Calls: 3}
		if diff := cmp.Diff(want, w.Status().Breaker); diff != "" {
			t.Errorf("six seconds on (-want +got):\n%s", diff)
		}
		asked(t, w, s, "f")
		if got := w.Status().Breaker.State; got != BreakerClosed {
			t.Errorf("one failure of four leaves it %s", got)
		}
		asked(t, w, s, "ff")
		if got := w.Status().Breaker.State; got != BreakerOpen {
			t.Errorf("three failures of six leave it %s", got)
		}
	})
}

func TestBreaker_OfARatioBeginsAnewOnceItHasClosedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{}
		w := behind(s, BreakerOptions{FailureRatio: 0.1, MinCalls: 2, Window: time.Hour}, nil)
		asked(t, w, s, "ff")
		time.Sleep(30*time.Second + time.Millisecond)
		asked(t, w, s, "af")
		want := &BreakerStatus{State: BreakerClosed, ConsecutiveFailures: 1, Window: &BreakerWindow{Calls: 1, Failures: 1}}
		if diff := cmp.Diff(want, w.Status().Breaker); diff != "" {
			t.Errorf("after a probe that closed it and one failure (-want +got):\n%s", diff)
		}
	})
}

func TestBreaker_OptionsThatContradictEachOtherAreRefused(t *testing.T) {
	for want, o := range map[string]BreakerOptions{
		"breaker: a failure ratio and consecutive failures are mutually exclusive": {FailureRatio: 0.5, ConsecutiveFailures: 5},
		"breaker: a failure ratio of 1.5 is not between 0 and 1":                   {FailureRatio: 1.5},
		"breaker: a failure ratio of -1 is not between 0 and 1":                    {FailureRatio: -1},
		"breaker: minimum calls: -1 is out of range":                               {MinCalls: -1},
		"breaker: a window of -1s is negative":                                     {Window: -time.Second},
	} {
		if err := o.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}
