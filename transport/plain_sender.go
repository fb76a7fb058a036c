package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// plainSender is the sender for plain HTTP without a proxy: HTTP/1.1 on the
// caller's goroutine. It writes headers and reads responses with net/http's
// functions, and leaves out what makes http.Transport expensive here: two
// goroutines per connection and the hand-overs between them. It also knows
// exactly when a connection is idle. So it sees unsolicited bytes before the
// next request, and repeats a request only if the first attempt certainly met a
// dead connection.
type plainSender struct {
	// head is the request up to the headers that differ from call to call.
	head    []byte
	every   *http.Request // the same as a request, as input of seal
	seal    seal
	address string
	dial    *dialer
	limit   int64 // of a response body, in bytes
	idle    idleConns
	age     time.Duration // maximum age of a connection
	seen    WebhookObserver
}

// newPlainSender expects validated options.
func newPlainSender(o WebhookOptions, u *url.URL, headers http.Header) *plainSender {
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", http.MethodPost, u.RequestURI(), hostHeader(u))
	_ = headers.Write(&head) // a Builder never fails
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return &plainSender{
		head: []byte(head.String()), every: everyQuestion(u, headers), seal: seal{o.Signer, o.Authorizer}, address: net.JoinHostPort(u.Hostname(), port),
		dial: newDialer(o.Permit), limit: o.MaxResponseBytes, age: o.MaxConnAge, seen: observerOf(o),
	}
}

// hostHeader is the Host of a request: without the zone of an address, which
// has a meaning on this machine only.
func hostHeader(u *url.URL) string {
	address, rest, zoned := strings.Cut(u.Host, "%")
	if !zoned {
		return u.Host
	}
	return address + "]" + rest[strings.LastIndexByte(rest, ']')+1:]
}

// send sends the request over an idle connection, or else over a new one. It
// sends it a second time, at most, if the idle connection turned out to be
// dead.
func (s *plainSender) send(ctx context.Context, q question) (reply, *sendFailure) {
	head, failed := s.sealed(ctx, q)
	if failed != nil {
		return reply{}, failed
	}
	if c := s.idle.take(); c != nil {
		s.seen.Connected(true)
		r, err := s.exchange(ctx, c, head, q)
		switch {
		case err == nil:
			return r, nil
		case ctx.Err() != nil || !c.diedUnheard():
			return reply{}, s.explain(c, err)
		}
		// If one idle connection was stale, the others may be too.
		s.idle.drop()
		s.seen.Repeated()
		if head, failed = s.sealed(ctx, q); failed != nil {
			return reply{}, failed
		}
	}
	c, err := s.connect(ctx, q.deadline)
	switch {
	case err == nil:
	case time.Now().Before(q.deadline):
		return reply{}, unreachable(err)
	default:
		return reply{}, outOfTime(aConnection, err)
	}
	s.seen.Connected(false)
	r, err := s.exchange(ctx, c, head, q)
	if err != nil {
		return reply{}, s.explain(c, err)
	}
	return r, nil
}

// connect opens a connection.
func (s *plainSender) connect(ctx context.Context, deadline time.Time) (*plainConn, error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	epoch := s.idle.epoch() // read before the dial, since renew may be called during it
	c, err := s.dial.dial(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	return newPlainConn(c, epoch, time.Now().Add(lifespan(s.age))), nil
}

// exchange sends the request over c, and makes c idle if it can be reused.
// Otherwise, and after a panic, it closes c. head is nil if the request is not
// sealed.
func (s *plainSender) exchange(ctx context.Context, c *plainConn, head []byte, q question) (r reply, err error) {
	more := false
	defer func() {
		if more {
			s.idle.keep(c)
		} else {
			_ = c.Close() // everything that matters is read, or lost already
		}
	}()
	if head == nil {
		head = s.headOf(q)
	}
	r, more, err = c.exchange(ctx, head, q, s.limit)
	return r, err
}

// sealed returns the headers of a request that is signed or carries a
// credential, or nil if it does neither. They are made before a connection is
// taken, since waiting for a credential would let the connection age.
func (s *plainSender) sealed(ctx context.Context, q question) ([]byte, *sendFailure) {
	if s.seal == (seal{}) {
		return nil, nil
	}
	ctx, cancel := context.WithDeadline(ctx, q.deadline)
	defer cancel()
	r, failed := s.seal.request(ctx, s.every, q)
	if failed != nil {
		return nil, failed
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.URL.RequestURI(), r.Host)
	_ = r.Header.Write(&head) // a Buffer never fails
	fmt.Fprintf(&head, "Content-Length: %d\r\n\r\n", r.ContentLength)
	return head.Bytes(), nil
}

// headOf returns the headers of the request for q, with capacity for a body
// that is written with them.
func (s *plainSender) headOf(q question) []byte {
	room := 256
	if len(q.body) <= writtenAtOnce {
		room += len(q.body)
	}
	head := append(make([]byte, 0, len(s.head)+room), s.head...)
	head = appendHeader(head, headerIdempotencyKey, q.id)
	head = appendHeader(head, headerTimeout, q.left())
	if q.traceparent != "" {
		head = appendHeader(head, headerTraceparent, q.traceparent)
	}
	for _, f := range q.more {
		head = appendHeader(head, f.name, f.value)
	}
	head = appendHeader(head, "Content-Length", strconv.Itoa(len(q.body)))
	return append(head, "\r\n"...)
}

func appendHeader(head []byte, name, value string) []byte {
	head = append(append(head, name...), ": "...)
	return append(append(head, value...), "\r\n"...)
}

// explain turns the error of an exchange into a failure. The reason why reading
// ended comes first, because the parser's error on a partial line is
// misleading.
func (s *plainSender) explain(c *plainConn, err error) *sendFailure {
	ended := c.input.ended
	switch {
	case errors.Is(err, errTooLong):
		return bodyTooLong(s.limit, err)
	case ended == nil:
		return notHTTP(err)
	case errors.Is(ended, errHeadTooLong):
		return headTooLong(ended)
	case !errors.Is(ended, os.ErrDeadlineExceeded):
		return brokenOff(ended)
	case c.answered:
		return outOfTime(anEnd, context.DeadlineExceeded)
	}
	return outOfTime(aHead, context.DeadlineExceeded)
}

// dropIdle implements sender.
func (s *plainSender) dropIdle() { s.idle.drop() }

// renew implements sender.
func (s *plainSender) renew() { s.idle.renew() }
