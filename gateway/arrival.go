package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/hookgate/hookgate/metrics"
)

// arrivals is a listener that returns connections of type arrival. The HTTP server
// itself refuses what is not a request. It does not call the handler then, and logs
// only failed TLS handshakes (G13).
type arrivals struct{ net.Listener }

// Accept implements [net.Listener].
func (l arrivals) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &arrival{Conn: conn}, nil
}

// arrival is a connection to the main listener, below TLS.
type arrival struct {
	net.Conn
	// heard says whether the client sent anything, and late whether the latest read
	// ended at its deadline.
	heard, late atomic.Bool
	// idle is true between a response and the next request, and refused says
	// whether the server wrote a response in that time.
	idle, refused atomic.Bool

	// The goroutine that serves the connection owns the following fields. began
	// says whether anything came that may be a request, and unserved whether the
	// latest of it has not reached the handler.
	began, unserved bool
}

// longestAlert is longer than what the server writes to close a TLS connection, and
// shorter than any response with which it refuses a request, in bytes.
const longestAlert = 96

// Read implements [net.Conn].
func (a *arrival) Read(b []byte) (int, error) {
	n, err := a.Conn.Read(b)
	if n > 0 && !a.heard.Load() {
		a.heard.Store(true)
	}
	if late := errors.Is(err, os.ErrDeadlineExceeded); a.late.Load() != late {
		a.late.Store(late)
	}
	return n, err
}

// Write implements [net.Conn]. If a second request on a connection is malformed, the
// server may refuse it without reporting the connection as active.
func (a *arrival) Write(b []byte) (int, error) {
	if len(b) > longestAlert && a.idle.Load() {
		a.refused.Store(true)
	}
	return a.Conn.Write(b)
}

// CloseWrite closes the sending direction. The server uses it so that a client that
// is still sending can read the refusal.
func (a *arrival) CloseWrite() error {
	if c, ok := a.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}

// arrivalKey is the context key of a request's connection.
type arrivalKey struct{}

// isServed records that a request reached the handler.
func isServed(r *http.Request) {
	if a, ok := r.Context().Value(arrivalKey{}).(*arrival); ok {
		a.unserved = false
	}
}

// watchArrivals makes a server count connections that end without a request.
func (g *Gateway) watchArrivals(s *http.Server) {
	remember := s.ConnContext
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if remember != nil {
			ctx = remember(ctx, conn)
		}
		if a := arrivalOf(conn); a != nil {
			ctx = context.WithValue(ctx, arrivalKey{}, a)
		}
		return ctx
	}
	s.ConnState = g.arrivalIs
	s.DisableGeneralOptionsHandler = true // it answers without the handler
}

// arrivalOf returns the arrival below a connection of the server, or nil if the
// connection is of another listener.
func arrivalOf(conn net.Conn) *arrival {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	a, _ := conn.(*arrival)
	return a
}

// arrivalIs is called when a connection changes its state.
func (g *Gateway) arrivalIs(conn net.Conn, state http.ConnState) {
	a := arrivalOf(conn)
	if a == nil {
		return
	}
	switch state {
	case http.StateNew, http.StateHijacked:
	case http.StateActive: // a request's header was read, or something malformed
		a.began, a.unserved = true, true
		a.idle.Store(false)
	case http.StateIdle:
		a.idle.Store(true)
	case http.StateClosed:
		if why := a.why(conn); why != 0 && !g.stopping.Load() { // a stop closes silent connections
			g.metrics.Unserved(why)
		}
	}
}

// why says why a closed connection ended without a request, or 0 if it did not.
func (a *arrival) why(conn net.Conn) metrics.Unserved {
	secure, ok := conn.(*tls.Conn)
	switch {
	case a.began && !a.unserved && !a.refused.Load():
		return 0
	case ok && a.heard.Load() && !secure.ConnectionState().HandshakeComplete:
		return metrics.UnservedHandshake
	case !a.began:
		return metrics.UnservedSilent
	case a.late.Load() && !a.refused.Load():
		return metrics.UnservedTimeout
	}
	return metrics.UnservedMalformed
}
