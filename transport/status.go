package transport

import "time"

// Status is the state of one binding at one moment, for people and dashboards.
type Status struct {
	// InFlight is how many calls are under way.
	InFlight int
	// Breaker is nil where there is none.
	Breaker *BreakerStatus
	// Workers is nil where there are none.
	Workers *WorkerStatus
}

// BreakerStatus is the state of a circuit breaker.
type BreakerStatus struct {
	State BreakerState
	// ConsecutiveFailures counted in the present state.
	ConsecutiveFailures int
	// Window is what a closed breaker looks at that opens at a ratio of
	// failures; nil where it does not.
	Window *BreakerWindow
	// RetryAt is when an open breaker lets the next probe through; zero where
	// it is not open.
	RetryAt time.Time
	// Throttled says that it is open because the endpoint asked to be left
	// alone.
	Throttled bool
}

// BreakerWindow is what became of the calls within the window of a breaker.
type BreakerWindow struct{ Calls, Failures int }

// BreakerState is one of the states of a circuit breaker. The zero
// BreakerState is none of them.
type BreakerState uint8

// The states.
const (
	// BreakerClosed lets every call through.
	BreakerClosed BreakerState = iota + 1
	// BreakerHalfOpen lets a configured number of probes through.
	BreakerHalfOpen
	// BreakerOpen lets nothing through.
	BreakerOpen
)

// String returns the state as it stands in metrics.
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
	// Processes is how many the pool wants, Alive how many run.
	Processes, Alive int
	// Restarts counts the processes that were started again.
	Restarts int64
}
