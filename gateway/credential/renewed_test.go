package credential

import (
	"context"
	"errors"
	"net/http/httptrace"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// issuer makes numbered values with a given life.
type issuer struct {
	life  time.Duration
	takes time.Duration
	fails error
	count int
}

func (i *issuer) fetch(ctx context.Context, _ *wire) (string, time.Time, error) {
	i.count++
	select {
	case <-time.After(i.takes):
	case <-ctx.Done():
		return "", time.Time{}, ctx.Err()
	}
	return strconv.Itoa(i.count), time.Now().Add(i.life), i.fails
}

func fetchedBy(fetch fetcher[string]) *renewed[string] {
	return &renewed[string]{fetch: fetch, wire: func() *wire { return proxy(nil).wire(nil) }}
}

// want gets a value and compares it.
func want(t *testing.T, c *renewed[string], value string) {
	t.Helper()
	if got, err := c.get(t.Context()); err != nil || got != value {
		t.Errorf("after %v got %q, want %q: %v", time.Since(birth()), got, value, err)
	}
}

// wantFailure checks that get returns no value, and the reason.
func wantFailure(t *testing.T, c *renewed[string], why string) {
	t.Helper()
	if got, err := c.get(t.Context()); err == nil || err.Error() != why {
		t.Errorf("after %v got %q and the error %v, want %s", time.Since(birth()), got, err, why)
	}
}

// birth is the start time of a synctest bubble.
func birth() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// at sleeps until a moment, and waits until what starts then has settled.
func at(moment time.Duration) {
	time.Sleep(time.Until(birth().Add(moment)))
	synctest.Wait()
}

func TestA2_AnyNumberOfCallsCostsOneFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour, takes: time.Second}
		c := fetchedBy(i.fetch)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { want(t, c, "1") })
		}
		all.Wait()
		if i.count != 1 {
			t.Errorf("%d fetches", i.count)
		}
	})
}

func TestA2_AValueIsRenewedBeforeItExpiresAndNobodyWaits(t *testing.T) {
	for _, p := range []struct {
		name                       string
		life, kept, due, last, end time.Duration
	}{
		{"an hour", time.Hour, 54*time.Minute + 59*time.Second, 55 * time.Minute, time.Hour - 11*time.Second, time.Hour - 10*time.Second},
		{"a minute", time.Minute, 47 * time.Second, 48 * time.Second, 53 * time.Second, 54 * time.Second},
		{"a day", 24 * time.Hour, 23*time.Hour + 54*time.Minute, 23*time.Hour + 55*time.Minute, 24*time.Hour - 11*time.Second, 24*time.Hour - 10*time.Second},
	} {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := &issuer{life: p.life}
				c := fetchedBy(i.fetch)
				want(t, c, "1")
				at(p.kept)
				want(t, c, "1")
				synctest.Wait()
				if i.count != 1 {
					t.Errorf("renewed too early: %d fetches", i.count)
				}
				at(p.due)
				i.takes = time.Second
				want(t, c, "1") // at once, while the next one is fetched
				if now := time.Since(birth()); now != p.due {
					t.Errorf("the call waited until %v", now)
				}
				at(p.due + time.Second)
				want(t, c, "2")
				if i.count != 2 {
					t.Errorf("%d fetches", i.count)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				i := &issuer{life: p.life}
				c := fetchedBy(i.fetch)
				want(t, c, "1")
				i.fails = plain("broken")
				at(p.last)
				want(t, c, "1") // A3: the failure of a renewal is nobody's, as long as this is valid
				at(p.end)
				wantFailure(t, c, "broken")
			})
		})
	}
}

func TestA3_WhileRenewingFailsTheIssuerIsAskedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		c := fetchedBy(i.fetch)
		want(t, c, "1")
		i.fails = plain("broken")
		at(56 * time.Minute)
		for range 100 { // calls within 10 s
			want(t, c, "1")
			time.Sleep(100 * time.Millisecond)
		}
		if i.count != 11 {
			t.Errorf("%d fetches", i.count)
		}
		if h := c.health(); h.Failure == nil || h.Failure.Error() != "broken" || !h.ValidUntil.Equal(birth().Add(time.Hour-leeway)) {
			t.Errorf("health %+v", h)
		}
		i.fails = nil
		time.Sleep(pause)
		want(t, c, "1")
		synctest.Wait()
		want(t, c, "12")
		if h := c.health(); h.Failure != nil {
			t.Errorf("a failure that is over: %v", h.Failure)
		}
	})
}

func TestA3_WithoutAValueAFailureStandsForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour, fails: plain("broken")}
		c := fetchedBy(i.fetch)
		for range 50 {
			wantFailure(t, c, "broken")
		}
		if i.count != 1 {
			t.Errorf("%d fetches", i.count)
		}
		i.fails = nil
		at(pause)
		want(t, c, "2")
	})
}

func TestA4_ACallWaitsNoLongerThanItsContextLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour, takes: 3 * time.Second}
		c := fetchedBy(i.fetch)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.get(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != "it was still being fetched: context deadline exceeded" {
			t.Errorf("error %v", err)
		}
		if now := time.Since(birth()); now != time.Second {
			t.Errorf("waited until %v", now)
		}
		want(t, c, "1") // of the attempt that the first call began
		if now := time.Since(birth()); now != 3*time.Second || i.count != 1 {
			t.Errorf("at %v after %d fetches", now, i.count)
		}
	})
}

func TestA4_AnAttemptEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour, takes: time.Hour}
		c := fetchedBy(i.fetch)
		wantFailure(t, c, "no answer in time")
		if now := time.Since(birth()); now != patience {
			t.Errorf("it ended after %v", now)
		}
	})
}

func TestA4_AnAttemptKnowsNothingOfTheCallThatBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var traced bool
		c := fetchedBy(func(ctx context.Context, _ *wire) (string, time.Time, error) {
			traced = httptrace.ContextClientTrace(ctx) != nil
			return "x", time.Now().Add(time.Hour), nil
		})
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{})
		if _, err := c.get(ctx); err != nil {
			t.Fatal(err)
		}
		if traced {
			t.Error("who watches the connection of a question is told of that of a token")
		}
	})
}

func TestA2_WhatHasExpiredAlreadyIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fetchedBy((&issuer{life: -10 * time.Minute}).fetch)
		wantFailure(t, c, "the issued token expired 10m0s ago: check the clock of this machine")
	})
}

func TestA5_APanicOfALibraryIsAFailureThatDoesNotSayMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fetchedBy(func(context.Context, *wire) (string, time.Time, error) { panic("canary") })
		wantFailure(t, c, "the library that fetches it panicked (string)")
	})
}

func TestA2_ATokenThatTheEndpointRefusesIsForgottenOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		token := newToken("test", "tests", nil, nil, i.fetch)
		for _, c := range []struct {
			at     time.Duration
			forget bool
			want   string
		}{
			{0, false, "Bearer 1"},
			{forgettable - time.Second, true, "Bearer 1"}, // too new
			{forgettable, true, "Bearer 2"},
			{forgettable + time.Second, true, "Bearer 2"},
			{2*forgettable + time.Second, true, "Bearer 3"},
		} {
			at(c.at)
			if c.forget {
				token.Forget()
			}
			if got, err := authorized(t, token); err != nil || got != c.want {
				t.Errorf("after %v got %q, want %q: %v", c.at, got, c.want, err)
			}
		}
		if h := token.Health(); h.Failure != nil || !h.ValidUntil.Equal(time.Now().Add(time.Hour-leeway)) {
			t.Errorf("health %+v", h)
		}
		if got := token.String(); got != "test for tests" {
			t.Errorf("is called %q", got)
		}
	})
}
