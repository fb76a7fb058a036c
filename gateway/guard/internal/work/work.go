// Package work limits the work for one call: by its context, and by an amount
// that grows linearly with its length.
//
// Invariants, with the tests named after them (TestW1_…):
//
//   - W1 Work stops soon after the context ends. The delay is measured in units
//     of work, so that it does not depend on the machine.
//   - W2 Once stopped, work stays stopped, and its reason does not change.
package work

import (
	"context"
	"errors"
	"math"
)

// ErrTooMuch reports that the work is out of proportion to the length of the
// call. It reads on after what could not be read and a colon.
var ErrTooMuch = errors.New("parsing it takes more work than its length allows")

// The allowance of a call in units of work: perByte for each of its bytes, plus
// base. Ordinary calls take fewer than six units per byte.
const (
	base    = 64 << 10
	perByte = 16
)

// between is the number of units between two checks of the context. A unit
// takes some ten nanoseconds.
const between = 4 << 10

// Meter counts the work for one call. It is not safe for concurrent use.
type Meter struct {
	ended func() error // the error once the context has ended
	left  int
	look  int // units until the next check of the context
	err   error
}

// For returns the meter of a call of size bytes.
func For(ctx context.Context, size int) *Meter {
	m := Unbounded(ctx)
	m.left = base + perByte*size
	return m
}

// Unbounded returns a meter that stops only when ctx ends.
func Unbounded(ctx context.Context) *Meter {
	return &Meter{left: math.MaxInt, ended: func() error {
		if ctx.Err() == nil {
			return nil
		}
		return context.Cause(ctx)
	}}
}

// Spend accounts for n units of work that is about to be done, and reports
// whether it may be done. The first call checks the context.
func (m *Meter) Spend(n int) bool {
	if m.err != nil {
		return false
	}
	m.left -= n
	m.look -= n
	if m.look <= 0 {
		m.look = between
		m.err = m.ended()
	}
	if m.err == nil && m.left < 0 {
		m.err = ErrTooMuch
	}
	return m.err == nil
}

// Err returns why the work was stopped, nil if it was not. After an error the
// results are incomplete.
func (m *Meter) Err() error { return m.err }
