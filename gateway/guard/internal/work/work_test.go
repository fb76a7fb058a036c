package work

import (
	"context"
	"errors"
	"testing"
)

// countingContext ends after Err was called a number of times.
type countingContext struct {
	context.Context //nolint:containedctx // this type is a context

	left int
}

func (c *countingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestW1_WorkStopsSoonAfterTheContextEnds(t *testing.T) {
	m := Unbounded(&countingContext{Context: context.Background(), left: 2})
	done := 0
	for m.Spend(1) {
		done++
	}
	if want := 2 * between; done != want {
		t.Errorf("%d units done, want %d", done, want)
	}
}

func TestW1_WorkDoesNotBeginAfterTheContextEnded(t *testing.T) {
	why := errors.New("hung up")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if m := For(ctx, 1000); m.Spend(1) || !errors.Is(m.Err(), why) {
		t.Errorf("error %v, want %v", m.Err(), why)
	}
}

func TestW2_StoppedWorkStaysStopped(t *testing.T) {
	m := For(context.Background(), 10)
	if most := base + 10*perByte; !m.Spend(most) || m.Err() != nil {
		t.Fatalf("what the length allows is refused: %v", m.Err())
	}
	for _, n := range []int{1, 0, -1} {
		if m.Spend(n) || !errors.Is(m.Err(), ErrTooMuch) {
			t.Errorf("after too much work %d units may be done, error %v", n, m.Err())
		}
	}
}
