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
// goroutine of the caller. Headers are written and responses read by net/http's
// own rules; what is left out is what makes its transport dear here, two
// goroutines for each connection and the hand-overs between them. It also
// knows exactly when a connection is idle, so that whatever arrives then is
// seen before the next question, and a question is put a second time only where
// the first certainly met a dead connection.
type plainSender struct {
	// head is the request up to the headers that differ from call to call.
	head    []byte
	every   *http.Request // the same as a request, to be sealed
	seal    seal
	address string
	dial    *dialer
	limit   int64 // bytes of an answer
	idle    idleConns
	age     time.Duration // of a connection, at most
	seen    WebhookObserver
}

// newPlainSender takes checked options.
func newPlainSender(o WebhookOptions, u *url.URL, headers http.Header) *plainSender {
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", http.MethodPost, u.RequestURI(), hostHeader(u))
	_ = headers.Write(&head) // a Builder takes everything
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return &plainSender{
		head: []byte(head.String()), every: everyQuestion(u, headers), seal: seal{o.Signer, o.Authorizer}, address: net.JoinHostPort(u.Hostname(), port),
		dial: newDialer(o.Permit), limit: o.MaxResponseBytes, age: o.MaxConnAge, seen: observerOf(o),
	}
}

// hostHeader is the host as a request names it: without the zone of an
// address, which means something on this machine alone.
func hostHeader(u *url.URL) string {
	address, rest, zoned := strings.Cut(u.Host, "%")
	if !zoned {
		return u.Host
	}
	return address + "]" + rest[strings.LastIndexByte(rest, ']')+1:]
}

// send puts the question to a connection that idles, else to a fresh one. It
// puts it a second time at most, where it met one that idled and was dead.
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
		// Where one connection was stale the others that idle may be too.
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
	epoch := s.idle.epoch() // before, since a renewal may come in between
	c, err := s.dial.dial(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	return newPlainConn(c, epoch, time.Now().Add(lifespan(s.age))), nil
}

// exchange puts the question to c, and lets c idle where another can follow.
// Else, and where a panic gets in between, it is closed. head is nil where the
// question is not sealed.
func (s *plainSender) exchange(ctx context.Context, c *plainConn, head []byte, q question) (r reply, err error) {
	more := false
	defer func() {
		if more {
			s.idle.keep(c)
		} else {
			_ = c.Close() // what it brought is read, or lost already
		}
	}()
	if head == nil {
		head = s.headOf(q)
	}
	r, more, err = c.exchange(ctx, head, q, s.limit)
	return r, err
}

// sealed is the head of the request for a question that is signed or carries a
// credential, nil where it does neither. It is made before a connection is
// taken, which would grow old while a credential is waited for.
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
	_ = r.Header.Write(&head) // a buffer takes everything
	fmt.Fprintf(&head, "Content-Length: %d\r\n\r\n", r.ContentLength)
	return head.Bytes(), nil
}

// headOf is the head of the request that puts q, with room behind it for a body
// that is written with it.
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

// explain says what an error of an exchange means. Why nothing more came is
// asked first: of half a line the parser has its own opinion.
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
