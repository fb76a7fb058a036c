package transport

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// warmth is what is known of whether an endpoint has to start before it can
// answer. Its zero value knows of no answer, and takes it for cold.
type warmth struct {
	lasts time.Duration
	since atomic.Int64 // the latest answer, in nanoseconds since 1970; zero where it is cold
}

// left is for how long the endpoint is warm if nobody asks it; zero where it
// is cold.
func (w *warmth) left() time.Duration {
	since := w.since.Load()
	if since == 0 {
		return 0
	}
	return max(0, w.lasts-time.Since(time.Unix(0, since)))
}

// learn takes down what came of a question. An answer shows that the endpoint
// has started, and a connection that could not be had or was lost that whoever
// stood behind it may be gone. Of what came too late neither can be said.
func (w *warmth) learn(counts error, a chain.Answer) {
	switch {
	case counts == nil:
		w.since.Store(time.Now().UnixNano())
	case a.Failure != nil && slices.Contains([]chain.Cause{chain.Connect, chain.TLS, chain.Reset}, a.Failure.Cause):
		w.forget()
	}
}

// forget takes the endpoint for cold.
func (w *warmth) forget() { w.since.Store(0) }
