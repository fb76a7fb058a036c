package transport

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// BreakerOptions configure the circuit breaker of one entry.
type BreakerOptions struct {
	// ConsecutiveFailures open the breaker. Zero means 5.
	ConsecutiveFailures int
	// Open is how long nothing is let through. Zero means 30 s.
	Open time.Duration
	// HalfOpenProbes is how many calls are then let through; all of them must
	// be answered to close the breaker. Zero means 1.
	HalfOpenProbes int
}

func (o BreakerOptions) withDefaults() BreakerOptions {
	if o.ConsecutiveFailures == 0 {
		o.ConsecutiveFailures = 5
	}
	if o.Open == 0 {
		o.Open = 30 * time.Second
	}
	if o.HalfOpenProbes == 0 {
		o.HalfOpenProbes = 1
	}
	return o
}

func (o BreakerOptions) check() error {
	var errs []error
	if o.ConsecutiveFailures < 0 || o.ConsecutiveFailures > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("breaker: %d consecutive failures cannot be counted", o.ConsecutiveFailures))
	}
	if o.Open < 0 {
		errs = append(errs, fmt.Errorf("breaker: open for %v is negative", o.Open))
	}
	if o.HalfOpenProbes < 0 || o.HalfOpenProbes > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("breaker: %d half-open probes cannot be counted", o.HalfOpenProbes))
	}
	return errors.Join(errs...)
}

// What a call that the breaker let through reports, besides nil for an answer.
var (
	errFailed = errors.New("counts as a failure")
	// errUncounted gives the call's place back as if it had not been made.
	errUncounted = errors.New("counts for nothing")
)

// breaker is the circuit breaker of one entry. What happens late, after the
// state it began in has ended, changes nothing.
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	retryAt atomic.Int64 // of the latest opening, in nanoseconds since 1970
	opened  atomic.Bool  // since justOpened last looked
}

// newBreaker returns a closed breaker. changed is called under a lock: it must
// neither block nor ask the breaker anything.
func newBreaker(o BreakerOptions, changed func(from, to BreakerState)) *breaker {
	o = o.withDefaults()
	b := &breaker{}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: uint32(o.HalfOpenProbes), //nolint:gosec // G115: check holds it in bounds
		Timeout:     o.Open,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return int64(c.ConsecutiveFailures) >= int64(o.ConsecutiveFailures)
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errUncounted) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				b.retryAt.Store(time.Now().Add(o.Open).UnixNano())
				b.opened.Store(true)
			}
			changed(breakerState(from), breakerState(to))
		},
	})
	return b
}

// admit lets a call through, or says why not. Whoever was let through must
// call done once: with nil, errFailed or errUncounted.
func (b *breaker) admit() (done func(error), refusal string) {
	done, err := b.circuit.Allow()
	switch {
	case err == nil:
		return done, ""
	case errors.Is(err, gobreaker.ErrTooManyRequests):
		return nil, "was not asked: its circuit breaker is half open, and the calls that probe it are under way"
	}
	retry := time.Unix(0, b.retryAt.Load())
	seconds := max(1, int64(math.Ceil(time.Until(retry).Seconds())))
	// Whole seconds, rounded up: they must not promise a retry too early.
	retry = retry.Add(time.Second - 1).Truncate(time.Second)
	return nil, fmt.Sprintf("was not asked: its circuit breaker is open until %s (for another %d s)",
		retry.UTC().Format(time.RFC3339), seconds)
}

// justOpened says, once for each opening, that the breaker has opened.
func (b *breaker) justOpened() bool { return b.opened.Load() && b.opened.CompareAndSwap(true, false) }

// status is the present state. An open breaker becomes half open when it is
// next asked after its time, and this asks it: no dashboard shows a breaker as
// open that would let the next call through.
func (b *breaker) status() *BreakerStatus {
	s := &BreakerStatus{State: breakerState(b.circuit.State())}
	switch s.State {
	case BreakerClosed:
		s.ConsecutiveFailures = int(b.circuit.Counts().ConsecutiveFailures)
	case BreakerOpen:
		s.RetryAt = time.Unix(0, b.retryAt.Load())
	case BreakerHalfOpen: // one failure would open it
	}
	return s
}

func breakerState(s gobreaker.State) BreakerState {
	switch s {
	case gobreaker.StateClosed:
		return BreakerClosed
	case gobreaker.StateHalfOpen:
		return BreakerHalfOpen
	case gobreaker.StateOpen:
		return BreakerOpen
	}
	return 0
}
