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
	// parallelDials limits the concurrent dials to one endpoint, so that a burst
	// does not overflow its accept backlog.
	parallelDials = 64
	// dialPatience ends a dial for which nobody may be waiting any more.
	dialPatience = 10 * time.Second
	// idlePatience is shorter than 5 s, the shortest idle timeout common among
	// servers: a request that meets the closing of its connection may have to
	// fail.
	idlePatience = 4 * time.Second
)

// lifespan is the maximum age of a new connection: most less a random part of
// up to a tenth, so that connections opened together do not all expire
// together.
func lifespan(most time.Duration) time.Duration {
	return most - rand.N(most/10+1) //nolint:gosec // jitter, not a secret
}

// dialer opens the connections to one endpoint.
type dialer struct {
	connect func(ctx context.Context, network, address string) (net.Conn, error)
	slots   chan struct{}
}

func newDialer(permit Permit) *dialer {
	return &dialer{connect: DialPermitted(permit), slots: make(chan struct{}, parallelDials)}
}

// dial opens one connection. Its error is a *dialError.
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

// dialError marks an error as the failure to get a connection.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }

func (e *dialError) Unwrap() error { return e.err }

// watchedConn is a connection that rejects bytes received before the request
// they would answer.
//
// net/http reuses a connection before it has checked for bytes after the
// previous response. If an endpoint answered twice, its second response would
// be taken for the response to the next request. settle and Read close this
// gap. Bytes that arrive after the request has begun to be written cannot be
// told from its response.
type watchedConn struct {
	net.Conn

	mu       sync.Mutex
	changed  sync.Cond
	reading  bool  // a Read is pending, so no received byte is left in net/http's buffer
	silent   bool  // from settle to the next Write, when every received byte is unsolicited
	closed   bool  // by the gateway
	ended    bool  // by the peer, as reported by a Read
	received int64 // bytes since the exchange began
}

func watch(c net.Conn) *watchedConn {
	w := &watchedConn{Conn: c}
	w.changed.L = &w.mu
	return w
}

var errUnasked = errors.New("the endpoint sent data without a request")

// Read implements [net.Conn]. It fails if the endpoint sent something
// unsolicited.
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

// Write implements [net.Conn].
func (w *watchedConn) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.silent = false
	w.mu.Unlock()
	return w.Conn.Write(p)
}

// Close implements [net.Conn].
func (w *watchedConn) Close() error {
	w.mu.Lock()
	w.closed = true
	w.changed.Broadcast()
	w.mu.Unlock()
	return w.Conn.Close()
}

// begin starts an exchange on a new connection.
func (w *watchedConn) begin() {
	w.mu.Lock()
	w.received = 0
	w.mu.Unlock()
}

// settle starts another exchange on a reused connection. It blocks until
// net/http is reading again, which shows that nothing is left of the previous
// response, or until the connection is closed.
func (w *watchedConn) settle() {
	w.mu.Lock()
	for !w.reading && !w.closed {
		w.changed.Wait()
	}
	w.received, w.silent = 0, true
	w.mu.Unlock()
}

// progress returns how many bytes the exchange has received, and whether a Read
// has reported the end of the connection.
func (w *watchedConn) progress() (received int64, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.received, w.ended
}

// watched finds the watchedConn under layers of TLS, or returns nil.
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
