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

// BreakerOptions configure the circuit breaker of one entry. It opens either
// after so many failures in a row, or where too many of the calls within a
// window failed.
type BreakerOptions struct {
	// ConsecutiveFailures open the breaker. Zero means 5, unless FailureRatio
	// is set, which excludes it.
	ConsecutiveFailures int
	// FailureRatio opens the breaker where that part of the calls that began
	// within Window has failed, and at least MinCalls have ended.
	FailureRatio float64
	// MinCalls and Window belong to FailureRatio. Zero means 10 calls and a
	// minute.
	MinCalls int
	Window   time.Duration
	// Open is how long nothing is let through. Zero means 30 s.
	Open time.Duration
	// HalfOpenProbes is how many calls are then let through; all of them must
	// be answered to close the breaker. Zero means 1.
	HalfOpenProbes int
	// MaxRetryAfter is the longest that an endpoint may have itself left alone
	// by Retry-After. Zero means a minute, less than zero that it may not.
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
		errs = append(errs, fmt.Errorf("breaker: %d consecutive failures cannot be counted", o.ConsecutiveFailures))
	}
	switch {
	case !(o.FailureRatio >= 0 && o.FailureRatio <= 1): // NaN included
		errs = append(errs, fmt.Errorf("breaker: a failure ratio of %v is not between 0 and 1", o.FailureRatio))
	case o.FailureRatio > 0 && o.ConsecutiveFailures != 0:
		errs = append(errs, errors.New("breaker: a failure ratio and consecutive failures exclude each other"))
	}
	if o.MinCalls < 0 || o.MinCalls > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("breaker: %d calls at least cannot be counted", o.MinCalls))
	}
	if o.Window < 0 {
		errs = append(errs, fmt.Errorf("breaker: a window of %v is negative", o.Window))
	}
	if o.Open < 0 {
		errs = append(errs, fmt.Errorf("breaker: open for %v is negative", o.Open))
	}
	if o.HalfOpenProbes < 0 || o.HalfOpenProbes > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("breaker: %d half-open probes cannot be counted", o.HalfOpenProbes))
	}
	return errors.Join(errs...)
}

// reached says that the counts open a closed breaker.
func (o BreakerOptions) reached(c gobreaker.Counts) bool {
	if o.FailureRatio == 0 {
		return int64(c.ConsecutiveFailures) >= int64(o.ConsecutiveFailures)
	}
	ended := int64(c.TotalSuccesses) + int64(c.TotalFailures)
	return ended >= int64(o.MinCalls) && float64(c.TotalFailures) >= o.FailureRatio*float64(ended)
}

// windowParts is how many parts a window moves on in.
const windowParts = 10

// What a call that the breaker let through reports, besides nil for an answer.
var (
	errFailed = errors.New("counts as a failure")
	// errUncounted gives the call's place back as if it had not been made.
	errUncounted = errors.New("counts for nothing")
)

// report is what came of a call that the breaker let through.
type report struct {
	err error // nil, errFailed or errUncounted
	// pause is how long the endpoint asked to be left alone, within what it
	// may ask for. Only with errFailed.
	pause time.Duration
}

// breaker is the circuit breaker of one entry. What happens late, after the
// state it began in has ended, changes nothing.
//
// The circuit counts, and says when to open and when to close again. For how
// long it is open is known here alone, since that differs from one opening to
// the next: the circuit is not touched before until, and half opens at once
// when it is.
type breaker struct {
	options BreakerOptions

	opened atomic.Bool // since justOpened last looked

	mu        sync.Mutex
	circuit   *gobreaker.TwoStepCircuitBreaker[struct{}]
	turn      int           // of the state, which is another one after each change
	until     time.Time     // nothing is let through before; zero unless it is open
	throttled bool          // it is open because the endpoint asked for that
	pause     time.Duration // of the report being taken down
	beside    int           // calls in flight that hold no place of a probe
}

// newBreaker returns a closed breaker. changed is called under a lock: it must
// neither block nor ask the breaker anything.
func newBreaker(o BreakerOptions, changed func(from, to BreakerState)) *breaker {
	o = o.withDefaults()
	b := &breaker{options: o}
	settings := gobreaker.Settings{
		MaxRequests: uint32(o.HalfOpenProbes), //nolint:gosec // G115: check holds it in bounds
		Timeout:     1,                        // until says how long
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

// turned takes down a change of state.
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

// refuses says why nothing is let through for now; empty where something is.
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
	settle  func(error) // nil where it holds no place
}

// admit lets a call through, or says why not. Whoever was let through must
// call done once.
//
// hurried says that the caller has less time than the endpoint was promised.
// While the breaker is half open such a call does not take the place of a
// probe, which it might have to give back without having found anything out,
// over and over, with nobody else let through: it goes beside them, and counts
// where it did find something out. Of those there are as many at a time as
// there are probes.
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
	if err != nil { // it is not open
		return pass{}, probesUnderWay
	}
	return pass{breaker: b, turn: b.turn, settle: settle}, ""
}

const probesUnderWay = "was not asked: its circuit breaker is half open, and the calls that probe it are under way"

// done takes down what came of the call.
func (p pass) done(r report) {
	b := p.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	settle := p.settle
	if settle == nil {
		b.beside--
	}
	if p.turn != b.turn {
		return // and the circuit, which may be open, is left alone
	}
	if settle == nil {
		if errors.Is(r.err, errUncounted) {
			return
		}
		var err error
		if settle, err = b.circuit.Allow(); err != nil {
			return // the probes under way decide
		}
	}
	b.pause = r.pause
	settle(r.err)
	b.pause = 0
}

// open says that nothing is let through for now.
func (b *breaker) open() bool { return !b.until.IsZero() && !time.Now().After(b.until) }

// refusal says until when nothing is let through.
func (b *breaker) refusal() string {
	why := ""
	if b.throttled {
		why = "it asked to be left alone, and "
	}
	seconds := max(1, int64(math.Ceil(time.Until(b.until).Seconds())))
	// Whole seconds, rounded up: they must not promise a retry too early.
	retry := b.until.Add(time.Second - 1).Truncate(time.Second)
	return fmt.Sprintf("was not asked: %sits circuit breaker is open until %s (for another %d s)",
		why, retry.UTC().Format(time.RFC3339), seconds)
}

// justOpened says, once for each opening, that the breaker has opened.
func (b *breaker) justOpened() bool { return b.opened.Load() && b.opened.CompareAndSwap(true, false) }

// status is the present state. An open breaker becomes half open when it is
// next asked after its time, and this asks it: no dashboard shows a breaker as
// open that would let the next call through.
func (b *breaker) status() *BreakerStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open() {
		return &BreakerStatus{State: BreakerOpen, RetryAt: b.until, Throttled: b.throttled}
	}
	s := &BreakerStatus{State: breakerState(b.circuit.State())}
	if s.State != BreakerClosed { // of half open, one failure would open it
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
