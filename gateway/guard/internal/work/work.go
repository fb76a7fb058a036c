// Package work holds what is done for one call to its limits: the end of its
// context, and an amount that grows with its length and not with its square.
//
// What holds here is named in the tests that hold it (TestW1_…):
//
//   - W1 Work stops soon after the context ends. How soon is counted in units
//     of work, so that it does not depend on the machine.
//   - W2 Work that was stopped stays so, and its reason too.
package work

import (
	"context"
	"errors"
	"math"
)

// ErrTooMuch says that the work is out of proportion to the length of the call.
// It reads on after what could not be read and a colon.
var ErrTooMuch = errors.New("to read it takes more work than its length allows")

// The units of work that a call may take: perByte for each of its bytes, and
// base for any. Ordinary calls take fewer than six for each byte.
const (
	base    = 64 << 10
	perByte = 16
)

// between is how many units are done between two looks at the context. One
// takes some ten nanoseconds.
const between = 4 << 10

// Meter counts the work for one call. It is not safe for concurrent use.
type Meter struct {
	ended func() error // the reason once the context has ended
	left  int
	look  int // units until the context is looked at
	err   error
}

// For returns the meter of a call that is size bytes long.
func For(ctx context.Context, size int) *Meter {
	m := Unbounded(ctx)
	m.left = base + perByte*size
	return m
}

// Unbounded returns a meter that only the end of ctx stops.
func Unbounded(ctx context.Context) *Meter {
	return &Meter{left: math.MaxInt, ended: func() error {
		if ctx.Err() == nil {
			return nil
		}
		return context.Cause(ctx)
	}}
}

// Spend pays for n units of work that is about to be done, and reports whether
// it may be. The first payment looks at the context.
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

// Err is why the work was stopped, nil where it was not: what was found after
// that is not all there is.
func (m *Meter) Err() error { return m.err }
