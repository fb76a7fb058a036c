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

// arrivals is a listener whose connections know what came of them. The server
// refuses by itself what is no request, and tells nobody: not the handler, and of
// most of it not even its log (G13).
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
	// heard is whether anything came, and late that the latest read had waited for
	// too long.
	heard, late atomic.Bool
	// idle is while nothing of a further request is known, and refused that the
	// server has said more meanwhile than that the connection ends.
	idle, refused atomic.Bool

	// What follows is of the goroutine that serves the connection. began is
	// whether something came that may be a request, and unserved that the latest
	// of it is not known to be one.
	began, unserved bool
}

// longestAlert is longer than what the server writes to end a TLS connection, and
// shorter than any of its refusals, in bytes.
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

// Write implements [net.Conn]. What is wrong behind a request is refused before
// the server says that anything came.
func (a *arrival) Write(b []byte) (int, error) {
	if len(b) > longestAlert && a.idle.Load() {
		a.refused.Store(true)
	}
	return a.Conn.Write(b)
}

// CloseWrite lets the server say that it has said everything, so that who still
// writes can read it.
func (a *arrival) CloseWrite() error {
	if c, ok := a.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}

// arrivalKey is where the context of a request carries its connection.
type arrivalKey struct{}

// isServed notes that what came is a request: the handler has it.
func isServed(r *http.Request) {
	if a, ok := r.Context().Value(arrivalKey{}).(*arrival); ok {
		a.unserved = false
	}
}

// watchArrivals has the server count what comes to it and is no request.
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
	s.DisableGeneralOptionsHandler = true // which serves without the handler
}

// arrivalOf is what is below a connection of the server, nil where its listener
// is another.
func arrivalOf(conn net.Conn) *arrival {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	a, _ := conn.(*arrival)
	return a
}

// arrivalIs follows a connection through its states.
func (g *Gateway) arrivalIs(conn net.Conn, state http.ConnState) {
	a := arrivalOf(conn)
	if a == nil {
		return
	}
	switch state {
	case http.StateNew, http.StateHijacked:
	case http.StateActive: // the head of a request was read, or what is none
		a.began, a.unserved = true, true
		a.idle.Store(false)
	case http.StateIdle:
		a.idle.Store(true)
	case http.StateClosed:
		if why := a.why(conn); why != 0 && !g.stopping.Load() { // a stop closes what says nothing
			g.metrics.Unserved(why)
		}
	}
}

// why is why a connection that is over ended without a request; zero where it
// did not.
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
