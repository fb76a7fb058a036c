package transport

import "time"

// Status is a snapshot of one binding's state, for people and dashboards.
type Status struct {
	// InFlight is the number of calls in flight.
	InFlight int
	// Breaker is nil if there is no breaker.
	Breaker *BreakerStatus
	// Workers is nil if there are no workers.
	Workers *WorkerStatus
}

// BreakerStatus is the state of a circuit breaker.
type BreakerStatus struct {
	State BreakerState
	// ConsecutiveFailures is their number in the current state.
	ConsecutiveFailures int
	// Window is set if the breaker is closed and opens at a failure ratio.
	// Otherwise it is nil.
	Window *BreakerWindow
	// RetryAt is when an open breaker lets the next probe through. It is zero if
	// the breaker is not open.
	RetryAt time.Time
	// Throttled says that the breaker is open because the endpoint requested it
	// with Retry-After.
	Throttled bool
}

// BreakerWindow counts the calls, and those that failed, in a breaker's window.
type BreakerWindow struct{ Calls, Failures int }

// BreakerState is a state of a circuit breaker. The zero BreakerState is
// invalid.
type BreakerState uint8

// The states of a circuit breaker.
const (
	// BreakerClosed lets every call through.
	BreakerClosed BreakerState = iota + 1
	// BreakerHalfOpen lets the configured number of probes through.
	BreakerHalfOpen
	// BreakerOpen lets nothing through.
	BreakerOpen
)

// String returns the state's name in metrics.
func (s BreakerState) String() string {
	switch s {
	case BreakerClosed:
		return "closed"
	case BreakerHalfOpen:
		return "half_open"
	case BreakerOpen:
		return "open"
	}
	return "unset"
}

// WorkerStatus is the state of a pool of worker processes.
type WorkerStatus struct {
	// Processes is the configured number, and Alive how many are running.
	Processes, Alive int
	// Restarts counts the restarted processes.
	Restarts int64
}
