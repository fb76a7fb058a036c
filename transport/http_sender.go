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

// httpSender is the sender over net/http. It uses the RoundTripper itself:
// what an http.Client would add (redirects, cookies, timers) is not wanted.
type httpSender struct {
	base  *http.Request // of every question: the URL, no context, no body
	proxy func(*http.Request) (*url.URL, error)
	tls   *tls.Config // nil where the URL is not https
	dial  *dialer
	idle  int           // connections to keep
	limit int64         // bytes of an answer
	age   time.Duration // of a connection, at most
	seal  seal
	seen  WebhookObserver

	// pool is replaced where its connections can no longer be trusted, or have
	// grown old.
	pool atomic.Pointer[connPool]
}

// connPool is a RoundTripper with the connections that it keeps. net/http knows no
// age of a connection: a pool has one.
type connPool struct {
	*http.Transport
	until time.Time // no later question uses it
}

// newHTTPSender takes checked options.
func newHTTPSender(o WebhookOptions, u *url.URL, headers http.Header, security *tls.Config) *httpSender {
	s := &httpSender{
		base: everyQuestion(u, headers), seal: seal{o.Signer, o.Authorizer},
		proxy: o.Proxy, tls: security, dial: newDialer(o.Permit), idle: o.MaxInFlight, limit: o.MaxResponseBytes,
		age: o.MaxConnAge, seen: observerOf(o),
	}
	s.pool.Store(s.newPool())
	return s
}

// newPool returns a pool without connections, whose age begins now.
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
			// The defaults let an endpoint send 4 MiB for each call, read or not.
			MaxReceiveBufferPerConnection: 1 << 20,
			MaxReceiveBufferPerStream:     64 << 10,
			// A peer that vanished is noticed even if no call waits out its time.
			SendPingTimeout: 5 * time.Second,
			PingTimeout:     5 * time.Second,
		},
	}}
}

// current is the pool that the next question uses.
func (s *httpSender) current() *connPool {
	p := s.pool.Load()
	if !p.until.After(time.Now()) {
		s.retire(p)
		p = s.pool.Load()
	}
	return p
}

// dialWatched opens a connection that knows what it carried.
func (s *httpSender) dialWatched(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := s.dial.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return watch(c), nil
}

// proxyAnswered refuses a tunnel that the proxy did not open.
func proxyAnswered(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
	if r.StatusCode != http.StatusOK {
		return &dialError{err: fmt.Errorf("the proxy answered %s", r.Status)}
	}
	return nil
}

func (s *httpSender) dropIdle() { s.pool.Load().CloseIdleConnections() }

func (s *httpSender) renew() { s.retire(s.pool.Load()) }

// send puts the question, and puts it a second time at most, where it met a
// connection that was kept open from an earlier one and died before it brought
// the first byte of an answer.
func (s *httpSender) send(ctx context.Context, q question) (reply, *sendFailure) {
	ctx, cancel := context.WithDeadline(ctx, q.deadline)
	defer cancel()
	sealed, failed := s.seal.request(ctx, s.base, q)
	if failed != nil {
		return reply{}, failed
	}
	r, x, err := s.exchange(ctx, cancel, sealed, q)
	if err != nil && ctx.Err() == nil && x.diedUnheard(err) {
		// Where one connection was stale the others that idle may be too.
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
		// HTTP/2 would put the next question to the same silent connection. A
		// caller with less time than the endpoint was promised has not found
		// it silent, and must not cost everybody a handshake.
		s.retire(x.via)
	}
	return reply{}, outOfTime(x.without(), err)
}

// explain says what an error of an exchange means.
func (s *httpSender) explain(x *exchange, err error) *sendFailure {
	failed := x.explain(err)
	if failed.cause == chain.TLS && x.had {
		s.seen.HandshakeFailed(HandshakeRefused) // which shows only once ours is over
	}
	return failed
}

// retire replaces a pool, if that has not happened yet, and leaves its
// connections to the exchanges that still use them.
func (s *httpSender) retire(old *connPool) {
	if s.pool.CompareAndSwap(old, s.newPool()) {
		old.CloseIdleConnections()
	}
}

// exchange is what is known of a question on its way.
type exchange struct {
	via    *connPool
	seen   WebhookObserver
	secure bool
	limit  int64 // bytes of an answer
	trace  httptrace.ClientTrace
	body   bytes.Reader

	// Of the connection that carries it, once there is one.
	had    bool
	conn   *watchedConn // nil where it cannot be found
	reused bool
	http2  bool

	heard    atomic.Bool // a byte of an answer, over TLS; set by the goroutine that reads
	answered bool        // the head was read
}

// errStale is what the RoundTripper gets in place of the body when it wants to
// send a request once more: whether that happens is for send to say.
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
	// Exactly this type of body is known to net/http to be in memory, and is
	// sent together with the head.
	req.Body = io.NopCloser(&x.body)
	req.GetBody = func() (io.ReadCloser, error) { return nil, errStale }

	response, err := x.via.RoundTrip(req)
	if err != nil {
		return reply{}, x, err
	}
	defer response.Body.Close() //nolint:errcheck // what was read is judged; the connection is not ours
	x.answered = true
	r, _, err := readReply(response, s.limit, func() { time.AfterFunc(excerptPatience, cancel) })
	return r, x, err
}

// gotConn is told which connection will carry the question, before it does.
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

// shookHands is told how a handshake ended, by whoever dials.
func (x *exchange) shookHands(_ tls.ConnectionState, err error) {
	if err != nil && !errors.Is(err, context.Canceled) { // nobody wanted it any longer
		x.seen.HandshakeFailed(handshakeFailure(err))
	}
}

// diedUnheard says that an idle connection was dead already: the question met
// it before the first byte of an answer.
func (x *exchange) diedUnheard(err error) bool {
	return x.reused && !x.heard.Load() && (errors.Is(err, errStale) || x.http2 && connectionLost(err))
}

// without is what had not come yet.
func (x *exchange) without() string {
	switch {
	case !x.had:
		return aConnection
	case !x.answered:
		return aHead
	}
	return anEnd
}

// explain says what an error of the exchange means.
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
	case x.http2: // whose errors have no types
		return &sendFailure{cause: chain.Reset, text: "broke off before a whole answer", err: err}
	case !x.answered && received >= maxHeaderBytes:
		return headTooLong(err)
	}
	return notHTTP(err)
}

// connectionLost says that the connection ended, not that what it carried
// could not be read.
func connectionLost(err error) bool {
	_, broken := errors.AsType[*net.OpError](err)
	return broken || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// tlsFailed finds a TLS alert. One that refuses our certificate comes only
// once the handshake is over for us.
func tlsFailed(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "remote error" || op.Op == "local error")
}
