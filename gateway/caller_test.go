package gateway

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestG6_LargeBodiesAreReadInTurnAndSmallOnesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &callers{turns: make(chan struct{}, 1)}
		small, big := make([]byte, large-1), make([]byte, large)
		goOn, first, second := make(chan struct{}), make(chan int), make(chan int)
		read := func(ctx context.Context, text []byte, into chan<- int, wait <-chan struct{}) {
			n, err := inTurn(ctx, c, time.Now().Add(time.Hour), text, func(text []byte) (int, error) {
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
		if n, err := inTurn(t.Context(), c, time.Now(), small, func(text []byte) (int, error) { return len(text), nil }); n != len(small) || err != nil {
			t.Errorf("a small body waits: %d, %v", n, err)
		}
		gone, hangUp := context.WithCancelCause(t.Context())
		hangUp(errHungUpInTest)
		if n, err := inTurn(gone, c, time.Now().Add(time.Hour), big, func(text []byte) (int, error) { return len(text), nil }); n != 0 || !errors.Is(err, errHungUpInTest) {
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
			_, _ = inTurn(t.Context(), c, time.Now().Add(time.Hour), make([]byte, large), func([]byte) (int, error) { panic("read") })
		}()
	}
	if len(c.turns) != 0 {
		t.Error("a place is kept")
	}
}

func TestG6_ABodyThatIsNotReadInTimeIsGivenUpAndKeepsItsPlaceUntilItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, goOn := &callers{turns: make(chan struct{}, 1)}, make(chan struct{})
		for range 2 { // one that is read, and one whose turn does not come
			began := time.Now()
			_, err := inTurn(t.Context(), c, began.Add(time.Second), make([]byte, large), func([]byte) (int, error) {
				<-goOn
				panic("nobody is told")
			})
			if took := time.Since(began); !errors.Is(err, errReadLate) || took != time.Second {
				t.Errorf("after %v: %v", took, err)
			}
		}
		if p := unreadable(errReadLate); len(c.turns) != 1 || p.status != http.StatusServiceUnavailable {
			t.Errorf("%d places are taken, and the caller is told %d", len(c.turns), p.status)
		}
		close(goOn)
		synctest.Wait()
		if len(c.turns) != 0 {
			t.Error("a place is kept")
		}
	})
}

var errHungUpInTest = errors.New("hung up")
