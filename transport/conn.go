package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

const (
	// parallelDials bounds the connections being opened to one endpoint, so
	// that a burst does not overrun the queue of those it has yet to accept.
	parallelDials = 64
	// dialPatience ends a dial that nobody may be waiting for any longer.
	dialPatience = 10 * time.Second
	// idlePatience is shorter than the 5 s after which the servers that close
	// idle connections soonest do so, since a request that meets the closing
	// of its connection may have to fail.
	idlePatience = 4 * time.Second
)

// lifespan is how long a connection may be used, somewhat less than it may be
// at most: those that were opened together do not all end together.
func lifespan(most time.Duration) time.Duration {
	return most - rand.N(most/10+1) //nolint:gosec // G404: nobody gains by guessing it
}

// dialer opens the connections to one endpoint.
type dialer struct {
	connect func(ctx context.Context, network, address string) (net.Conn, error)
	slots   chan struct{}
}

func newDialer(permit Permit) *dialer {
	return &dialer{connect: DialPermitted(permit), slots: make(chan struct{}, parallelDials)}
}

// dial opens one connection; its error is a *dialError.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return nil, &dialError{err: ctx.Err()}
	}
	c, err := d.connect(ctx, network, address)
	if err != nil {
		return nil, &dialError{err: err}
	}
	return c, nil
}

// dialError is why there is no connection.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }

func (e *dialError) Unwrap() error { return e.err }

// watchedConn is a connection on which nothing counts as an answer that came
// before its question.
//
// net/http hands a connection to the next request before it has looked for
// bytes behind the answer to the last one. An endpoint that answered twice
// would so have its second answer taken for that of another question. settle
// and Read close this gap. What still arrives after the question has begun to
// be written cannot be told from an answer to it.
type watchedConn struct {
	net.Conn

	mu       sync.Mutex
	changed  sync.Cond
	reading  bool  // and so nothing received is left in a buffer above
	silent   bool  // until the question is written
	closed   bool  // by us
	ended    bool  // by the peer, as far as a Read has seen
	received int64 // since the exchange began
}

func watch(c net.Conn) *watchedConn {
	w := &watchedConn{Conn: c}
	w.changed.L = &w.mu
	return w
}

var errUnasked = errors.New("the endpoint said something that was not asked for")

// Read reads from the connection.
func (w *watchedConn) Read(p []byte) (int, error) {
	w.mu.Lock()
	w.reading = true
	w.changed.Broadcast()
	w.mu.Unlock()

	n, err := w.Conn.Read(p)

	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading = false
	if n > 0 && w.silent {
		n, err = 0, errUnasked
	}
	w.received += int64(n)
	w.ended = w.ended || err != nil
	return n, err
}

// Write writes to the connection.
func (w *watchedConn) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.silent = false
	w.mu.Unlock()
	return w.Conn.Write(p)
}

// Close closes the connection.
func (w *watchedConn) Close() error {
	w.mu.Lock()
	w.closed = true
	w.changed.Broadcast()
	w.mu.Unlock()
	return w.Conn.Close()
}

// begin begins an exchange on a connection that has carried none so far.
func (w *watchedConn) begin() {
	w.mu.Lock()
	w.received = 0
	w.mu.Unlock()
}

// settle begins another exchange on the connection. It returns once the last
// one has left nothing behind, or has been found to have, which closes it.
func (w *watchedConn) settle() {
	w.mu.Lock()
	for !w.reading && !w.closed {
		w.changed.Wait()
	}
	w.received, w.silent = 0, true
	w.mu.Unlock()
}

// progress is how many bytes the exchange has received, and whether the peer
// has ended the connection while more of them were waited for.
func (w *watchedConn) progress() (received int64, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.received, w.ended
}

// watched finds the connection under layers of TLS, nil where there is none.
func watched(c net.Conn) *watchedConn {
	for {
		switch layer := c.(type) {
		case *watchedConn:
			return layer
		case interface{ NetConn() net.Conn }:
			c = layer.NetConn()
		default:
			return nil
		}
	}
}
