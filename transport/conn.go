package transport

import (
	"context"
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
)

// dialer opens the connections to one endpoint.
type dialer struct {
	connect func(ctx context.Context, network, address string) (net.Conn, error)
	slots   chan struct{}
}

func newDialer() *dialer {
	return &dialer{connect: (&net.Dialer{}).DialContext, slots: make(chan struct{}, parallelDials)}
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
	return watch(c), nil
}

// dialError is why there is no connection.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }

func (e *dialError) Unwrap() error { return e.err }

// watchedConn is a connection that knows whether everything received on it has
// been consumed.
//
// net/http hands a connection to the next request before it has looked for
// bytes behind the answer to the last one. An endpoint that answered twice
// would so have its second answer taken for that of another question. settle
// closes this gap.
type watchedConn struct {
	net.Conn

	mu       sync.Mutex
	changed  sync.Cond
	reading  bool // and so nothing received is left in a buffer above
	closed   bool
	ended    bool  // by the peer, as far as a Read has seen
	received int64 // since the exchange began
}

func watch(c net.Conn) *watchedConn {
	w := &watchedConn{Conn: c}
	w.changed.L = &w.mu
	return w
}

// Read reads from the connection.
func (w *watchedConn) Read(p []byte) (int, error) {
	w.mu.Lock()
	w.reading = true
	w.changed.Broadcast()
	w.mu.Unlock()

	n, err := w.Conn.Read(p)

	w.mu.Lock()
	w.reading = false
	w.received += int64(n)
	w.ended = w.ended || err != nil
	w.mu.Unlock()
	return n, err
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
	w.received = 0
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
	for c != nil {
		if w, ok := c.(*watchedConn); ok {
			return w
		}
		layer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = layer.NetConn()
	}
	return nil
}
