package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// plainSender is the sender for plain HTTP without a proxy: HTTP/1.1 on the
// goroutine of the caller. Requests are written and responses read by net/http's
// own rules; what is left out is what makes its transport dear here, two
// goroutines for each connection and the hand-overs between them. It also
// knows exactly when a connection is idle, so that whatever arrives then is
// seen before the next question, and a question is put a second time only where
// the first certainly met a dead connection.
type plainSender struct {
	// head is the request up to the headers that differ from call to call.
	head    []byte
	request *http.Request // what a response answers; never sent itself
	address string
	dial    *dialer
	limit   int64 // bytes of an answer

	mu      sync.Mutex
	idle    []*plainConn // the longest idle first
	maxIdle int
	reap    *time.Timer // runs while connections idle
	reaping bool
}

// plainConn is a connection to an endpoint.
type plainConn struct {
	net.Conn
	meter  meter
	buffer *bufio.Reader // reads through the meter
	since  time.Time     // when it began to idle
	// answered says that the head of the present response was read.
	answered bool
}

// meter counts what is received, bounds it, and remembers the end.
type meter struct {
	conn  net.Conn
	left  int64
	read  int64
	ended bool
}

var errHeadTooLong = errors.New("the head of the response is longer than it may be")

// Read implements [io.Reader].
func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errHeadTooLong
	}
	n, err := m.conn.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	m.read += int64(n)
	m.ended = m.ended || err != nil
	return n, err
}

// newPlainSender takes checked options.
func newPlainSender(o WebhookOptions, u *url.URL, headers http.Header) *plainSender {
	var head strings.Builder
	fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n", u.RequestURI(), u.Host, o.UserAgent)
	head.WriteString("Content-Type: application/json\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n")
	for _, name := range sortedNames(headers) {
		for _, value := range headers[name] {
			fmt.Fprintf(&head, "%s: %s\r\n", name, strings.TrimSpace(value))
		}
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	s := &plainSender{
		head: []byte(head.String()), request: &http.Request{Method: http.MethodPost, URL: u},
		address: net.JoinHostPort(u.Hostname(), port), dial: newDialer(), limit: o.MaxResponseBytes, maxIdle: o.MaxInFlight,
	}
	s.reap = time.AfterFunc(time.Hour, s.reapIdle)
	s.reap.Stop()
	return s
}

func sortedNames(h http.Header) []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// send implements sender.
func (s *plainSender) send(ctx context.Context, q question) (reply, *sendFailure) {
	c := s.takeIdle()
	reused := c != nil
	for {
		if c == nil {
			var failed *sendFailure
			if c, failed = s.connect(ctx, q.deadline); failed != nil {
				return reply{}, failed
			}
		}
		r, err := s.exchange(ctx, c, q)
		if err == nil {
			return r, nil
		}
		unheard := c.meter.read == 0
		_ = c.Close() // it failed already
		late := ctx.Err() != nil || !time.Now().Before(q.deadline)
		if reused && unheard && !late && connectionLost(err) {
			// It idled and was dead. So may the others be: the one repeat there
			// is goes to a connection of its own.
			s.dropIdle()
			c, reused = nil, false
			continue
		}
		return reply{}, s.explain(c, err, late)
	}
}

// connect opens a connection.
func (s *plainSender) connect(ctx context.Context, deadline time.Time) (*plainConn, *sendFailure) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	conn, err := s.dial.dial(ctx, "tcp", s.address)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, &sendFailure{cause: chain.Timeout, text: "did not answer in time", err: fmt.Errorf("still without a connection: %w", context.DeadlineExceeded)}
	default:
		return nil, &sendFailure{cause: chain.Connect, text: "could not be reached", err: err}
	}
	c := &plainConn{Conn: conn, meter: meter{conn: conn}}
	c.buffer = bufio.NewReaderSize(&c.meter, 2<<10) // answers are short
	return c, nil
}

// writtenAside is the size from which a question is written by a goroutine of
// its own, since the endpoint may answer before it has read all of it.
const writtenAside = 32 << 10

// exchange writes the question and reads the reply. It gives the connection
// back where another question can follow.
func (s *plainSender) exchange(ctx context.Context, c *plainConn, q question) (reply, error) {
	if err := c.SetDeadline(q.deadline); err != nil {
		return reply{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // wakes whoever waits
	defer stop()
	c.answered, c.meter.read, c.meter.left = false, 0, maxHeaderBytes

	written := make(chan error, 1)
	write := func() {
		message := net.Buffers{s.headOf(q), q.body}
		_, err := message.WriteTo(c.Conn)
		written <- err
	}
	if len(q.body) < writtenAside {
		write()
		if err := <-written; err != nil {
			return reply{}, err
		}
		written <- nil
	} else {
		go write()
	}
	r, more, err := s.read(c, q.deadline)
	if err != nil {
		_ = c.SetDeadline(time.Unix(1, 0)) // nobody has to write on
		if failed := <-written; failed != nil && connectionLost(err) {
			err = failed // it says better what happened
		}
		return reply{}, err
	}
	select {
	case err := <-written:
		more = more && err == nil
	default: // it answered without reading the question to its end
		_ = c.SetDeadline(time.Unix(1, 0))
		<-written
		more = false
	}
	if !more || !stop() {
		_ = c.Close() // the reply is whole
		return r, nil
	}
	s.keep(c)
	return r, nil
}

// headOf is the head of the request for one question.
func (s *plainSender) headOf(q question) []byte {
	head := append(make([]byte, 0, len(s.head)+256), s.head...)
	head = append(append(append(head, "Idempotency-Key: "...), q.id...), "\r\nX-Hookgate-Timeout-Ms: "...)
	head = strconv.AppendInt(head, max(1, time.Until(q.deadline).Milliseconds()), 10)
	if q.traceparent != "" {
		head = append(append(head, "\r\nTraceparent: "...), q.traceparent...)
	}
	head = append(head, "\r\nContent-Length: "...)
	head = strconv.AppendInt(head, int64(len(q.body)), 10)
	return append(head, "\r\n\r\n"...)
}

// read reads the response, and says whether another can follow it.
func (s *plainSender) read(c *plainConn, deadline time.Time) (r reply, more bool, err error) {
	response, err := http.ReadResponse(c.buffer, s.request)
	for err == nil && response.StatusCode < 200 && response.StatusCode != http.StatusSwitchingProtocols {
		response, err = http.ReadResponse(c.buffer, s.request) // what came says that more comes
	}
	if err != nil {
		return reply{}, false, err
	}
	r = reply{
		status:   response.StatusCode,
		encoding: strings.Join(response.Header["Content-Encoding"], ", "),
		location: response.Header.Get("Location"),
	}
	c.answered, c.meter.left = true, math.MaxInt64 // the body has a bound of its own
	switch {
	case r.status == http.StatusSwitchingProtocols: // the body would be the connection itself
		return r, false, nil
	case r.status != http.StatusOK:
		if patience := time.Now().Add(excerptPatience); patience.Before(deadline) {
			if err := c.SetReadDeadline(patience); err != nil {
				return reply{}, false, err
			}
		}
		r.body, err = readUpTo(response.Body, response.ContentLength, maxExcerpt)
		return r, err == nil && reusable(response, c), nil // whatever came explains the status
	case response.ContentLength > s.limit:
		return reply{}, false, fmt.Errorf("%w: its length is %d", errTooLong, response.ContentLength)
	}
	if r.body, err = readUpTo(response.Body, response.ContentLength, s.limit); err != nil {
		return reply{}, false, err
	}
	return r, reusable(response, c), nil
}

// reusable reports whether a question can follow a response that was read to
// its end: both sides keep the connection, and nothing came behind it.
func reusable(r *http.Response, c *plainConn) bool {
	return !r.Close && r.ProtoAtLeast(1, 1) && c.buffer.Buffered() == 0
}

// explain says what an error of an exchange means.
func (s *plainSender) explain(c *plainConn, err error, late bool) *sendFailure {
	switch {
	case late, errors.Is(err, os.ErrDeadlineExceeded):
		missing := "the head of an answer"
		if c.answered {
			missing = "the end of the answer"
		}
		return &sendFailure{
			cause: chain.Timeout, text: "did not answer in time",
			err: fmt.Errorf("still without %s: %w", missing, context.DeadlineExceeded),
		}
	case errors.Is(err, errTooLong):
		return &sendFailure{cause: chain.Oversize, text: fmt.Sprintf("answered with more than %d bytes", s.limit), err: err}
	case errors.Is(err, errHeadTooLong), c.meter.left <= 0:
		return &sendFailure{cause: chain.Oversize, text: fmt.Sprintf("answered with more than %d bytes of headers", maxHeaderBytes), err: err}
	case c.meter.ended, connectionLost(err):
		return &sendFailure{cause: chain.Reset, text: "closed the connection before a whole answer", err: err}
	}
	return &sendFailure{cause: chain.Malformed, text: "did not answer in HTTP", err: err}
}

// takeIdle returns the connection that idles for the shortest time and still
// stands, nil where there is none.
func (s *plainSender) takeIdle() *plainConn {
	for {
		s.mu.Lock()
		last := len(s.idle) - 1
		if last < 0 {
			s.mu.Unlock()
			return nil
		}
		c := s.idle[last]
		s.idle[last] = nil
		s.idle = s.idle[:last]
		s.mu.Unlock()
		if time.Since(c.since) < idlePatience && quiet(c.Conn) {
			return c
		}
		_ = c.Close() // the endpoint closed it, or said something that was not asked for
	}
}

// keep lets a connection idle.
func (s *plainSender) keep(c *plainConn) {
	c.since = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) >= s.maxIdle {
		_ = c.Close() // one too many
		return
	}
	s.idle = append(s.idle, c)
	if !s.reaping {
		s.reaping = true
		s.reap.Reset(idlePatience)
	}
}

// reapIdle closes the connections that nobody took in time.
func (s *plainSender) reapIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	young := 0
	for young < len(s.idle) && time.Since(s.idle[young].since) >= idlePatience {
		_ = s.idle[young].Close() // nobody uses it
		young++
	}
	s.idle = slices.Delete(s.idle, 0, young)
	if s.reaping = len(s.idle) > 0; s.reaping {
		s.reap.Reset(idlePatience - time.Since(s.idle[0].since))
	}
}

// dropIdle implements sender.
func (s *plainSender) dropIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.idle {
		_ = c.Close() // nobody uses it
	}
	s.idle = nil
	s.reaping = false
	s.reap.Stop()
}
