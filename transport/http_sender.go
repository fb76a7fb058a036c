package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// httpSender is the sender over net/http. It uses the RoundTripper directly,
// because it wants none of what http.Client adds (redirects, cookies, timers).
type httpSender struct {
	base  *http.Request // what all requests share: the URL and fixed headers, no context, no body
	proxy func(*http.Request) (*url.URL, error)
	tls   *tls.Config // nil unless the URL is https
	dial  *dialer
	idle  int           // connections to keep
	limit int64         // of a response body, in bytes
	age   time.Duration // maximum age of a connection
	seal  seal
	seen  WebhookObserver

	// pool is replaced when its connections are no longer trusted or have become
	// too old.
	pool atomic.Pointer[connPool]
}

// connPool is an http.Transport that may be used until a given time. net/http
// does not limit the age of a connection, so the pool is replaced as a whole.
type connPool struct {
	*http.Transport
	until time.Time // no later request uses it
}

// newHTTPSender expects validated options.
func newHTTPSender(o WebhookOptions, u *url.URL, headers http.Header, security *tls.Config) *httpSender {
	s := &httpSender{
		base: everyQuestion(u, headers), seal: seal{o.Signer, o.Authorizer},
		proxy: o.Proxy, tls: security, dial: newDialer(o.Permit), idle: o.MaxInFlight, limit: o.MaxResponseBytes,
		age: o.MaxConnAge, seen: observerOf(o),
	}
	s.pool.Store(s.newPool())
	return s
}

// newPool returns an empty pool, whose age starts now.
func (s *httpSender) newPool() *connPool {
	return &connPool{until: time.Now().Add(lifespan(s.age)), Transport: &http.Transport{
		Proxy:                  s.proxy,
		OnProxyConnectResponse: proxyAnswered,
		DialContext:            s.dialWatched,
		TLSClientConfig:        s.tls.Clone(),
		TLSHandshakeTimeout:    dialPatience,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    s.idle,
		IdleConnTimeout:        idlePatience,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ReadBufferSize:         2 << 10, // answers are short
		WriteBufferSize:        4 << 10,
		HTTP2: &http.HTTP2Config{
			// By default, an endpoint may send 4 MiB for each call, read or not.
			MaxReceiveBufferPerConnection: 1 << 20,
			MaxReceiveBufferPerStream:     64 << 10,
			// Pings detect a peer that vanished even if no call waits long enough to
			// time out.
			SendPingTimeout: 5 * time.Second,
			PingTimeout:     5 * time.Second,
		},
	}}
}

// current is the pool for the next request.
func (s *httpSender) current() *connPool {
	p := s.pool.Load()
	if !p.until.After(time.Now()) {
		s.retire(p)
		p = s.pool.Load()
	}
	return p
}

// dialWatched opens a watchedConn.
func (s *httpSender) dialWatched(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := s.dial.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return watch(c), nil
}

// proxyAnswered fails the dial if the proxy refused to open a tunnel.
func proxyAnswered(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
	if r.StatusCode != http.StatusOK {
		return &dialError{err: fmt.Errorf("the proxy answered %s", r.Status)}
	}
	return nil
}

func (s *httpSender) dropIdle() { s.pool.Load().CloseIdleConnections() }

func (s *httpSender) renew() { s.retire(s.pool.Load()) }

// send sends the request. It sends it a second time, at most, if a kept-alive
// connection turned out to be dead before the first byte of a response.
func (s *httpSender) send(ctx context.Context, q question) (reply, *sendFailure) {
	ctx, cancel := context.WithDeadline(ctx, q.deadline)
	defer cancel()
	sealed, failed := s.seal.request(ctx, s.base, q)
	if failed != nil {
		return reply{}, failed
	}
	r, x, err := s.exchange(ctx, cancel, sealed, q)
	if err != nil && ctx.Err() == nil && x.diedUnheard(err) {
		// If one idle connection was stale, the others may be too.
		s.dropIdle()
		s.seen.Repeated()
		if sealed, failed = s.seal.request(ctx, s.base, q); failed != nil {
			return reply{}, failed
		}
		r, x, err = s.exchange(ctx, cancel, sealed, q)
	}
	switch {
	case err == nil:
		return r, nil
	case ctx.Err() == nil:
		return reply{}, s.explain(x, err)
	}
	if x.http2 && q.late == chain.Timeout && !time.Now().Before(q.deadline) {
		// HTTP/2 would send the next request over the same silent connection, so the
		// pool is replaced. If the deadline was shorter than the endpoint's own
		// timeout, the connection is not known to be silent, and a new handshake for
		// everybody would not be justified.
		s.retire(x.via)
	}
	return reply{}, outOfTime(x.without(), err)
}

// explain turns the error of an exchange into a failure.
func (s *httpSender) explain(x *exchange, err error) *sendFailure {
	failed := x.explain(err)
	if failed.cause == chain.TLS && x.had {
		s.seen.HandshakeFailed(HandshakeRefused) // a refusal can arrive after the handshake has ended on this side
	}
	return failed
}

// retire replaces the pool old, unless that has already happened. Exchanges in
// flight keep their connections.
func (s *httpSender) retire(old *connPool) {
	if s.pool.CompareAndSwap(old, s.newPool()) {
		old.CloseIdleConnections()
	}
}

// exchange is the state of one request attempt.
type exchange struct {
	via    *connPool
	seen   WebhookObserver
	secure bool
	limit  int64 // of a response body, in bytes
	trace  httptrace.ClientTrace
	body   bytes.Reader

	// About the connection that carries the request, once there is one.
	had    bool
	conn   *watchedConn // nil if it was not found
	reused bool
	http2  bool

	heard    atomic.Bool // a response byte was received, tracked over TLS only; set by the reading goroutine
	answered bool        // the response headers were read
}

// errStale is returned when the RoundTripper asks for the body in order to
// retry the request: only send decides about a retry.
var errStale = errors.New("the connection was closed, or refused the request, before the first byte of an answer")

func (s *httpSender) exchange(ctx context.Context, cancel context.CancelFunc, sealed *http.Request, q question) (reply, *exchange, error) {
	x := &exchange{via: s.current(), seen: s.seen, secure: s.tls != nil, limit: s.limit}
	x.trace.GotConn = x.gotConn
	if x.secure {
		x.trace.GetConn = func(string) { x.had = false }
		x.trace.TLSHandshakeDone = x.shookHands
		x.trace.GotFirstResponseByte = func() { x.heard.Store(true) }
	}
	x.body.Reset(q.body)

	req := sealed.WithContext(httptrace.WithClientTrace(ctx, &x.trace))
	// net/http knows that a body of exactly this type is in memory, and sends it
	// together with the headers.
	req.Body = io.NopCloser(&x.body)
	req.GetBody = func() (io.ReadCloser, error) { return nil, errStale }

	response, err := x.via.RoundTrip(req)
	if err != nil {
		return reply{}, x, err
	}
	defer response.Body.Close() //nolint:errcheck // the body was read as far as needed, and the connection belongs to net/http
	x.answered = true
	r, _, err := readReply(response, s.limit, func() { time.AfterFunc(excerptPatience, cancel) })
	return r, x, err
}

// gotConn is called with the connection, before the request is sent on it.
func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	x.had, x.reused, x.conn = true, info.Reused, watched(info.Conn)
	x.seen.Connected(info.Reused)
	if layer, ok := info.Conn.(*tls.Conn); ok {
		x.http2 = layer.ConnectionState().NegotiatedProtocol == "h2"
	}
	switch {
	case x.conn == nil || x.http2:
	case x.reused:
		x.conn.settle()
	default:
		x.conn.begin()
	}
}

// shookHands is called by the dialing goroutine when a handshake has ended.
func (x *exchange) shookHands(_ tls.ConnectionState, err error) {
	if err != nil && !errors.Is(err, context.Canceled) { // cancelled: nobody needed the connection any more
		x.seen.HandshakeFailed(handshakeFailure(err))
	}
}

// diedUnheard reports whether a reused connection was already dead: it was lost
// before the first byte of a response.
func (x *exchange) diedUnheard(err error) bool {
	return x.reused && !x.heard.Load() && (errors.Is(err, errStale) || x.http2 && connectionLost(err))
}

// without is the part of the exchange that was still missing.
func (x *exchange) without() string {
	switch {
	case !x.had:
		return aConnection
	case !x.answered:
		return aHead
	}
	return anEnd
}

// explain turns the error of the exchange into a failure.
func (x *exchange) explain(err error) *sendFailure {
	_, dialing := errors.AsType[*dialError](err)
	var received int64
	var ended bool
	if x.conn != nil {
		received, ended = x.conn.progress()
	}
	switch {
	case errors.Is(err, errTooLong):
		return bodyTooLong(x.limit, err)
	case dialing, !x.had && !x.secure:
		return unreachable(err)
	case !x.had, tlsFailed(err):
		return &sendFailure{cause: chain.TLS, text: "could not be reached: the TLS handshake failed", err: err}
	case ended, connectionLost(err), errors.Is(err, errStale):
		return brokenOff(err)
	case x.http2: // its errors have no types
		return &sendFailure{cause: chain.Reset, text: "broke off before its answer was complete", err: err}
	case !x.answered && received >= maxHeaderBytes:
		return headTooLong(err)
	}
	return notHTTP(err)
}

// connectionLost reports whether err means that the connection ended, and not
// that its content could not be read.
func connectionLost(err error) bool {
	_, broken := errors.AsType[*net.OpError](err)
	return broken || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// tlsFailed reports whether err is a TLS alert. An alert that refuses the
// client certificate can arrive after the handshake has ended on this side.
func tlsFailed(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "remote error" || op.Op == "local error")
}
