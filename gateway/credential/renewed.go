package credential

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// patience bounds one attempt to have something renewed.
	patience = 30 * time.Second
	// pause is how long a failure stands before the next attempt.
	pause = time.Second
	// margin is how long before it expires a token is renewed, and leeway how
	// long before it is not used any more: a request takes its time, and clocks
	// differ. Both are less for a token that lives shortly.
	margin = 5 * time.Minute
	leeway = 10 * time.Second
	// forgettable is how old a token must be to be given up where an endpoint
	// refuses it: a newer one would not be better.
	forgettable = time.Minute
)

// fetcher gets a new value over the wire it is given, and says when that
// expires.
type fetcher[T any] func(ctx context.Context, w *wire) (T, time.Time, error)

// renewed keeps a value that expires, and has it fetched when it is wanted and
// missing or about to expire (A2-A4).
type renewed[T any] struct {
	fetch fetcher[T]
	wire  func() *wire // for one attempt

	mu      sync.Mutex
	value   T
	fetched time.Time // when value was
	renewAt time.Time // when to fetch the next one
	until   time.Time // when value is not used any more; zero where there is none
	failure error     // of the last attempt
	retryAt time.Time // when to try again after a failure
	attempt chan struct{}
}

// Health is the state of a credential that expires.
type Health struct {
	// ValidUntil is when what it has now is not used any more; zero where it
	// has nothing.
	ValidUntil time.Time
	// Failure is why the last attempt to renew it failed; nil where it did not.
	Failure error
}

// get returns the value, and waits for it as long as ctx lasts where there is
// none that is valid.
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

// look returns the present state, and begins an attempt where one is due and
// none is under way. Without a value and without an attempt there is a failure
// that still stands.
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

// renew makes one attempt. It does not belong to the call that began it: it
// has none of its context, which carries what watches that call's connection.
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
		err = plain(fmt.Sprintf("what was issued expired %v ago: is the clock of this machine right?", -life.Round(time.Second)))
	}
	if err != nil {
		c.failure, c.retryAt = w.explain(err), now.Add(pause)
		return
	}
	c.value, c.fetched, c.failure = value, now, nil
	c.renewAt = expires.Add(-min(margin, life/5))
	c.until = expires.Add(-min(leeway, life/10))
}

// fetchSafely turns a panic of a vendor's library into a failure: nobody else
// recovers in this goroutine.
func (c *renewed[T]) fetchSafely(ctx context.Context, w *wire) (value T, expires time.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = plain(fmt.Sprintf("the library that fetches it panicked (%T)", p)) // the value may hold anything
		}
	}()
	return c.fetch(ctx, w)
}

// forget gives the value up, unless it is so new that the next one would not
// be better.
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
