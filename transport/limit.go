package transport

import (
	"fmt"
	"sync/atomic"

	"github.com/hookgate/hookgate/chain"
)

// limit bounds the calls in flight to one entry (T6). Its zero value admits
// nobody.
type limit struct {
	max    int64
	flying atomic.Int64
}

// enter takes a place, or says that there is none. Who entered must leave.
func (l *limit) enter() bool {
	if l.flying.Add(1) > l.max {
		l.flying.Add(-1)
		return false
	}
	return true
}

func (l *limit) leave() { l.flying.Add(-1) }

// inFlight is how many calls are under way.
func (l *limit) inFlight() int { return int(l.flying.Load()) }

// full is the failure of a call that found no place.
func (l *limit) full() chain.Answer {
	return chain.Fail(chain.Saturated, fmt.Sprintf("was not asked: %d calls to it are in flight", l.max), "max_in_flight is reached")
}
