package transport

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// BreakerOptions configures the circuit breaker of one entry. It opens either
// after a number of consecutive failures, or when too large a share of the
// calls within a window failed.
type BreakerOptions struct {
	// ConsecutiveFailures is the number of failures in a row that opens the
	// breaker. Zero means 5. It must be zero if FailureRatio is set.
	ConsecutiveFailures int
	// FailureRatio, from 0 to 1, opens the breaker when at least that share of the
	// calls that began within Window failed and at least MinCalls have ended. Zero
	// means that ConsecutiveFailures applies instead.
	FailureRatio float64
	// MinCalls and Window apply to FailureRatio. Zero means 10 calls and one
	// minute.
	MinCalls int
	Window   time.Duration
	// Open is how long the breaker stays open. Zero means 30 s.
	Open time.Duration
	// HalfOpenProbes is how many calls a half-open breaker lets through. All of
	// them must succeed to close it. Zero means 1.
	HalfOpenProbes int
	// MaxRetryAfter caps the pause that an endpoint can request with Retry-After.
	// Zero means one minute. A negative value ignores Retry-After.
	MaxRetryAfter time.Duration
}

func (o BreakerOptions) withDefaults() BreakerOptions {
	if o.FailureRatio == 0 && o.ConsecutiveFailures == 0 {
		o.ConsecutiveFailures = 5
	}
	if o.MinCalls == 0 {
		o.MinCalls = 10
	}
	if o.Window == 0 {
		o.Window = time.Minute
	}
	if o.Open == 0 {
		o.Open = 30 * time.Second
	}
	if o.HalfOpenProbes == 0 {
		o.HalfOpenProbes = 1
	}
	if o.MaxRetryAfter == 0 {
		o.MaxRetryAfter = time.Minute
	}
	return o
}

func (o BreakerOptions) check() error {
	var errs []error
	if o.ConsecutiveFailures < 0 || o.ConsecutiveFailures > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("breaker: consecutive failures: %d is out of range", o.ConsecutiveFailures))
	}
	switch {
	case !(o.FailureRatio >= 0 && o.FailureRatio <= 1): // NaN included
		errs = append(errs, fmt.Errorf("breaker: a failure ratio of %v is not between 0 and 1", o.FailureRatio))
	case o.FailureRatio > 0 && o.ConsecutiveFailures != 0:
		errs = append(errs, errors.New("breaker: a failure ratio and consecutive failures are mutually exclusive"))
	}
	if o.MinCalls < 0 || o.MinCalls > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("breaker: minimum calls: %d is out of range", o.MinCalls))
	}
	if o.Window < 0 {
		errs = append(errs, fmt.Errorf("breaker: a window of %v is negative", o.Window))
	}
	if o.Open < 0 {
		errs = append(errs, fmt.Errorf("breaker: open for %v is negative", o.Open))
	}
	if o.HalfOpenProbes < 0 || o.HalfOpenProbes > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("breaker: half-open probes: %d is out of range", o.HalfOpenProbes))
	}
	return errors.Join(errs...)
}

// reached reports whether the counts open a closed breaker.
func (o BreakerOptions) reached(c gobreaker.Counts) bool {
	if o.FailureRatio == 0 {
		return int64(c.ConsecutiveFailures) >= int64(o.ConsecutiveFailures)
	}
	ended := int64(c.TotalSuccesses) + int64(c.TotalFailures)
	return ended >= int64(o.MinCalls) && float64(c.TotalFailures) >= o.FailureRatio*float64(ended)
}

// windowParts is the number of buckets of the rolling window.
const windowParts = 10

// What a call that was let through reports to the circuit, besides nil for an
// answer.
var (
	errFailed = errors.New("counts as a failure")
	// errUncounted releases the call's slot as if the call had not been made.
	errUncounted = errors.New("counts for nothing")
)

// report is the result of a call that the breaker let through.
type report struct {
	err error // nil, errFailed or errUncounted
	// pause is how long the endpoint asked not to be called, capped at
	// MaxRetryAfter. It is only set with errFailed.
	pause time.Duration
}

// breaker is the circuit breaker of one entry. The result of a call counts only
// in the state in which the call began; after a change of state it is dropped.
//
// circuit counts and decides when to open and when to close. How long the
// breaker stays open is kept here, in until, because it differs from one
// opening to the next. circuit is not consulted before until; its own timeout
// is so short that it becomes half-open as soon as it is.
type breaker struct {
	options BreakerOptions

	opened atomic.Bool // since justOpened last reported it

	mu        sync.Mutex
	circuit   *gobreaker.TwoStepCircuitBreaker[struct{}]
	turn      int           // generation: incremented by each change of state
	until     time.Time     // end of the open state, or zero if the breaker is not open
	throttled bool          // open because the endpoint requested it with Retry-After
	pause     time.Duration // of the report that done is passing to circuit
	beside    int           // hurried calls in flight that hold no probe slot
}

// newBreaker returns a closed breaker. changed is called with the breaker's
// lock held: it must not block or call the breaker.
func newBreaker(o BreakerOptions, changed func(from, to BreakerState)) *breaker {
	o = o.withDefaults()
	b := &breaker{options: o}
	settings := gobreaker.Settings{
		MaxRequests: uint32(o.HalfOpenProbes), //nolint:gosec // check bounds it
		Timeout:     1,                        // 1 ns: until decides how long the breaker stays open
		ReadyToTrip: func(c gobreaker.Counts) bool { return b.pause > 0 || o.reached(c) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errUncounted) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			b.turned(to)
			changed(breakerState(from), breakerState(to))
		},
	}
	if o.FailureRatio > 0 {
		settings.Interval, settings.BucketPeriod = o.Window, max(o.Window/windowParts, 1)
	}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](settings)
	return b
}

// turned records a change of state.
func (b *breaker) turned(to gobreaker.State) {
	b.turn++
	b.until, b.throttled = time.Time{}, false
	if to != gobreaker.StateOpen {
		return
	}
	hold := b.options.Open
	if b.pause > 0 {
		hold, b.throttled = b.pause, true
	}
	b.until = time.Now().Add(hold)
	b.opened.Store(true)
}

// refuses returns why no call is let through now, or "" if calls are let
// through.
func (b *breaker) refuses() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open() {
		return b.refusal()
	}
	return ""
}

// pass is a call that was let through.
type pass struct {
	breaker *breaker
	turn    int
	settle  func(error) // nil if the call holds no slot of the circuit
}

// admit lets a call through, or returns why not. A caller that was let through
// must call done exactly once.
//
// hurried says that the caller has less time than the endpoint's own timeout.
// In the half-open state, a hurried call does not take a probe slot: it might
// have to return it without a result, again and again, while nobody else is let
// through. It runs beside the probes and counts only if it has a result. As
// many of these calls as probes may be in flight.
func (b *breaker) admit(hurried bool) (_ pass, refusal string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open() {
		return pass{}, b.refusal()
	}
	if hurried && b.circuit.State() == gobreaker.StateHalfOpen {
		if b.beside >= b.options.HalfOpenProbes {
			return pass{}, probesUnderWay
		}
		b.beside++
		return pass{breaker: b, turn: b.turn}, ""
	}
	settle, err := b.circuit.Allow()
	if err != nil { // circuit is half-open and all probe slots are taken
		return pass{}, probesUnderWay
	}
	return pass{breaker: b, turn: b.turn, settle: settle}, ""
}

const probesUnderWay = "was not asked: its circuit breaker is half-open, and all its probes are in flight"

// done reports the result of the call.
func (p pass) done(r report) {
	b := p.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	settle := p.settle
	if settle == nil {
		b.beside--
	}
	if p.turn != b.turn {
		return // circuit may be open by now and must not be touched
	}
	if settle == nil {
		if errors.Is(r.err, errUncounted) {
			return
		}
		var err error
		if settle, err = b.circuit.Allow(); err != nil {
			return // all probe slots are taken, and the probes decide
		}
	}
	b.pause = r.pause
	settle(r.err)
	b.pause = 0
}

// open reports whether the breaker lets no call through now.
func (b *breaker) open() bool { return !b.until.IsZero() && !time.Now().After(b.until) }

// refusal is the reason for a refused call, with the time of the next try.
func (b *breaker) refusal() string {
	why := ""
	if b.throttled {
		why = "it asked callers to wait (Retry-After), and "
	}
	seconds := max(1, int64(math.Ceil(time.Until(b.until).Seconds())))
	// Whole seconds, rounded up, so that the reason never promises a retry too
	// early.
	retry := b.until.Add(time.Second - 1).Truncate(time.Second)
	return fmt.Sprintf("was not asked: %sits circuit breaker is open until %s (for another %d s)",
		why, retry.UTC().Format(time.RFC3339), seconds)
}

// justOpened reports, once per opening, that the breaker has opened.
func (b *breaker) justOpened() bool { return b.opened.Load() && b.opened.CompareAndSwap(true, false) }

// status is the current state. circuit turns half-open only when it is
// consulted after the open time, so status consults it: a dashboard never shows
// a breaker as open that would let the next call through.
func (b *breaker) status() *BreakerStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open() {
		return &BreakerStatus{State: BreakerOpen, RetryAt: b.until, Throttled: b.throttled}
	}
	s := &BreakerStatus{State: breakerState(b.circuit.State())}
	if s.State != BreakerClosed { // a half-open breaker opens at the first failure, so its counts say nothing
		return s
	}
	counts := b.circuit.Counts()
	s.ConsecutiveFailures = int(counts.ConsecutiveFailures)
	if b.options.FailureRatio > 0 {
		s.Window = &BreakerWindow{Calls: int(counts.TotalSuccesses + counts.TotalFailures), Failures: int(counts.TotalFailures)}
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
