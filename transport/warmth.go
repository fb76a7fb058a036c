package transport

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// warmth tracks whether an endpoint may have to start before it can answer. The
// zero value is cold.
type warmth struct {
	lasts time.Duration
	since atomic.Int64 // time of the last answer, in Unix nanoseconds; zero if cold
}

// left is how long the endpoint stays warm without further requests. It is zero
// if the endpoint is cold.
func (w *warmth) left() time.Duration {
	since := w.since.Load()
	if since == 0 {
		return 0
	}
	return max(0, w.lasts-time.Since(time.Unix(0, since)))
}

// learn records the result of a request. An answer shows that the endpoint has
// started. A connection that failed or was lost shows that it may be gone. A
// late answer shows neither.
func (w *warmth) learn(counts error, a chain.Answer) {
	switch {
	case counts == nil:
		w.since.Store(time.Now().UnixNano())
	case a.Failure != nil && slices.Contains([]chain.Cause{chain.Connect, chain.TLS, chain.Reset}, a.Failure.Cause):
		w.forget()
	}
}

// forget marks the endpoint as cold.
func (w *warmth) forget() { w.since.Store(0) }
