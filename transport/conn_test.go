package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestDialer_GivesADialUpThatNobodyWaitsForAnyLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialer(nil)
		d.connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		failed := make(chan error)
		for range parallelDials + 1 { // the last one gets no slot
			go func() {
				_, err := d.dial(context.WithoutCancel(t.Context()), "tcp", "192.0.2.1:80")
				failed <- err
			}()
		}
		began := time.Now()
		for range parallelDials + 1 {
			err := <-failed
			if _, ok := errors.AsType[*dialError](err); !ok || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a dial without end failed with %v, want a dial error by the deadline", err)
			}
		}
		if took := time.Since(began); took != dialPatience {
			t.Errorf("it took %v, want %v", took, dialPatience)
		}
	})
}

func TestWatchedConn_SettlesOnlyWhenNothingIsLeftBehind(t *testing.T) {
	for name, end := range map[string]func(w *watchedConn){
		"when its reader wants more": func(w *watchedConn) {
			go func() { _, _ = w.Read(make([]byte, 1)) }()
		},
		"when it was closed": func(w *watchedConn) { _ = w.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer func() { _ = theirs.Close() }()
				w := watch(ours)
				defer func() { _ = w.Close() }()
				go func() { _, _ = theirs.Write([]byte("x")) }()
				if _, err := w.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				var settled atomic.Bool
				go func() { w.settle(); settled.Store(true) }()
				synctest.Wait()
				if settled.Load() {
					t.Error("it settled while its reader may still hold something")
				}
				end(w)
				synctest.Wait()
				if !settled.Load() {
					t.Error("it did not settle")
				}
			})
		})
	}
}

func TestWatchedConn_TakesNothingForAnAnswerThatComesBeforeTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := memoryPipe()
		w := watch(ours)
		defer func() { _ = w.Close() }()
		type result struct {
			N   int
			Err error
		}
		read := make(chan result)
		reading := func() {
			n, err := w.Read(make([]byte, 10))
			read <- result{n, err}
		}
		go reading()
		synctest.Wait()
		w.settle()
		_, _ = io.WriteString(theirs, "early")
		if got := <-read; got != (result{0, errUnasked}) {
			t.Errorf("before the question it read %+v, want a failure", got)
		}
		go reading()
		synctest.Wait()
		w.settle()
		_, _ = io.WriteString(w, "question")
		_, _ = io.WriteString(theirs, "answer")
		if got := <-read; got != (result{6, nil}) {
			t.Errorf("after the question it read %+v, want the answer", got)
		}
	})
}

func TestWatchedConn_IsFoundUnderTLSAndNowhereElse(t *testing.T) {
	ours, theirs := memoryPipe()
	w := watch(ours)
	if got := watched(tls.Client(tls.Client(w, &tls.Config{}), &tls.Config{})); got != w {
		t.Errorf("under TLS it is %v", got)
	}
	if got := watched(theirs); got != nil {
		t.Errorf("another connection is %v", got)
	}
}
