package credential

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// patience is the deadline of one attempt.
	patience = 30 * time.Second
	// pause is the time between a failure and the next attempt.
	pause = time.Second
	// margin is how long before its expiry a token is renewed. leeway is how
	// long before its expiry it is no longer used, because a request takes time
	// and clocks differ. Both are shorter for a short-lived token.
	margin = 5 * time.Minute
	leeway = 10 * time.Second
	// forgettable is the minimum age of a token that is dropped after an
	// endpoint refused it: replacing a newer one would not help.
	forgettable = time.Minute
)

// fetcher fetches a new value over the given wire, and returns it with its
// expiry.
type fetcher[T any] func(ctx context.Context, w *wire) (T, time.Time, error)

// renewed caches a value that expires. It is fetched on demand, when it is
// missing or about to expire (A2-A4).
type renewed[T any] struct {
	fetch fetcher[T]
	wire  func() *wire // makes the wire of one attempt

	mu      sync.Mutex
	value   T
	fetched time.Time // when value was fetched
	renewAt time.Time // when to fetch the next value
	until   time.Time // when value is no longer used; zero without a value
	failure error     // of the last attempt
	retryAt time.Time // the earliest time of an attempt after a failure
	attempt chan struct{}
}

// Health is the state of an expiring credential.
type Health struct {
	// ValidUntil is when the current value is no longer used; zero if there is
	// none.
	ValidUntil time.Time
	// Failure is why the last attempt failed; nil if it succeeded.
	Failure error
}

// get returns the value. If there is no valid one, it waits for an attempt
// until ctx ends.
func (c *renewed[T]) get(ctx context.Context) (T, error) {
	var none T
	for {
		value, valid, attempt, failure := c.look()
		switch {
		case valid:
			return value, nil
		case attempt == nil:
			return none, failure
		}
		select {
		case <-attempt:
		case <-ctx.Done():
			return none, fmt.Errorf("it was still being fetched: %w", context.Cause(ctx))
		}
	}
}

// look returns the current state, and starts an attempt if one is due and none
// is running. If it returns neither a value nor an attempt, failure is set: the
// pause after a failure is not over.
func (c *renewed[T]) look() (value T, valid bool, attempt <-chan struct{}, failure error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.attempt == nil && !now.Before(c.renewAt) && !now.Before(c.retryAt) {
		c.attempt = make(chan struct{})
		go c.renew(c.attempt)
	}
	return c.value, now.Before(c.until), c.attempt, c.failure
}

// renew makes one attempt. It does not use the context of the call that
// triggered it: that context can end earlier, and carries the trace of that
// call's connection.
func (c *renewed[T]) renew(done chan<- struct{}) {
	defer close(done)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w := c.wire()
	value, expires, err := c.fetchSafely(ctx, w)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempt = nil
	now := time.Now()
	life := expires.Sub(now)
	if err == nil && life <= 0 {
		err = plain(fmt.Sprintf("the issued token expired %v ago: check the clock of this machine", -life.Round(time.Second)))
	}
	if err != nil {
		c.failure, c.retryAt = w.explain(err), now.Add(pause)
		return
	}
	c.value, c.fetched, c.failure = value, now, nil
	c.renewAt = expires.Add(-min(margin, life/5))
	c.until = expires.Add(-min(leeway, life/10))
}

// fetchSafely turns a panic in a vendor's library into an error, because
// nothing else recovers in this goroutine.
func (c *renewed[T]) fetchSafely(ctx context.Context, w *wire) (value T, expires time.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = plain(fmt.Sprintf("the library that fetches it panicked (%T)", p)) // the value may hold anything
		}
	}()
	return c.fetch(ctx, w)
}

// forget drops the value, unless it is so new that replacing it would not help.
func (c *renewed[T]) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.fetched) >= forgettable {
		c.until, c.renewAt = time.Time{}, time.Time{}
	}
}

func (c *renewed[T]) health() Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Health{ValidUntil: c.until, Failure: c.failure}
}
