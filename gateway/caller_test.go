package gateway

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestG6_LargeBodiesAreReadInTurnAndSmallOnesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &callers{turns: make(chan struct{}, 1)}
		small, big := make([]byte, large-1), make([]byte, large)
		goOn, first, second := make(chan struct{}), make(chan int), make(chan int)
		read := func(ctx context.Context, text []byte, into chan<- int, wait <-chan struct{}) {
			n, err := inTurn(ctx, c, text, func(text []byte) (int, error) {
				<-wait
				return len(text), nil
			})
			if err != nil {
				t.Error(err)
			}
			into <- n
		}
		free := make(chan struct{})
		close(free)
		go read(t.Context(), big, first, goOn)
		synctest.Wait()
		go read(t.Context(), big, second, free)
		synctest.Wait()
		select {
		case <-second:
			t.Fatal("two large bodies are read at once, where there is one place")
		default:
		}
		if n, err := inTurn(t.Context(), c, small, func(text []byte) (int, error) { return len(text), nil }); n != len(small) || err != nil {
			t.Errorf("a small body waits: %d, %v", n, err)
		}
		gone, hangUp := context.WithCancelCause(t.Context())
		hangUp(errHungUpInTest)
		if n, err := inTurn(gone, c, big, func(text []byte) (int, error) { return len(text), nil }); n != 0 || !errors.Is(err, errHungUpInTest) {
			t.Errorf("what is nobody's any more is read: %d, %v", n, err)
		}
		close(goOn)
		if n := <-first; n != len(big) {
			t.Errorf("%d bytes are read", n)
		}
		if n := <-second; n != len(big) {
			t.Errorf("%d bytes are read", n)
		}
	})
}

func TestG6_AReaderThatPanicsKeepsNoPlace(t *testing.T) {
	t.Parallel()
	c := &callers{turns: make(chan struct{}, 1)}
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is gone")
				}
			}()
			_, _ = inTurn(t.Context(), c, make([]byte, large), func([]byte) (int, error) { panic("read") })
		}()
	}
	if len(c.turns) != 0 {
		t.Error("a place is kept")
	}
}

var errHungUpInTest = errors.New("hung up")
