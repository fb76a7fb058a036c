package transport

import (
	"fmt"
	"sync/atomic"

	"github.com/hookgate/hookgate/chain"
)

// limit bounds the calls in flight to one entry (T6). The zero value admits
// none.
type limit struct {
	max    int64
	flying atomic.Int64
}

// enter reports whether a slot was free and takes it. If so, the caller must
// call leave.
func (l *limit) enter() bool {
	if l.flying.Add(1) > l.max {
		l.flying.Add(-1)
		return false
	}
	return true
}

func (l *limit) leave() { l.flying.Add(-1) }

// inFlight is the number of calls in flight.
func (l *limit) inFlight() int { return int(l.flying.Load()) }

// full is the failure of a call that got no slot.
func (l *limit) full() chain.Answer {
	return chain.Fail(chain.Saturated, fmt.Sprintf("was not asked: its limit of %d calls in flight is reached", l.max), "max_in_flight is reached")
}
