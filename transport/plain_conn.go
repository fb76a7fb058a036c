package transport

import (
	"bufio"
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"os"
	"time"
)

// writtenAside is the body size from which a separate goroutine writes the
// request, since the endpoint may respond before it has read all of it. A
// shorter request fits into the socket buffers of an otherwise idle connection.
const writtenAside = 32 << 10

// writtenAtOnce is the body size up to which the body is copied behind the
// headers: one write is cheaper than a vectored write of two buffers.
const writtenAtOnce = 4 << 10

// plainConn is a connection that carries one exchange at a time. Whoever took
// it has exclusive use of it.
type plainConn struct {
	net.Conn
	input  meter
	buffer *bufio.Reader // reads through input
	// answered says that the headers of the current response were read.
	answered  bool
	idleSince time.Time
	// epoch is the epoch of idleConns at the time of the dial. After until, the
	// connection is too old for another request.
	epoch int64
	until time.Time
}

func newPlainConn(c net.Conn, epoch int64, until time.Time) *plainConn {
	p := &plainConn{Conn: c, epoch: epoch, until: until}
	p.buffer = bufio.NewReaderSize(&p.input, 2<<10) // answers are short
	return p
}

// meter reads from the endpoint within one exchange and limits how much.
type meter struct {
	conn  net.Conn
	left  int64
	heard bool  // at least one byte was received
	ended error // why reading ended
}

var errHeadTooLong = errors.New("the headers of the response are too long")

// Read implements [io.Reader].
func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		m.ended = errHeadTooLong
		return 0, m.ended
	}
	n, err := m.conn.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	m.heard = m.heard || n > 0
	m.ended = err
	return n, err
}

// exchange sends a request and reads the reply. more reports whether the
// connection can carry another exchange.
func (c *plainConn) exchange(ctx context.Context, head []byte, q question, limit int64) (r reply, more bool, err error) {
	c.answered = false
	c.input = meter{conn: c.Conn, left: maxHeaderBytes}
	if c.input.ended = c.SetDeadline(q.deadline); c.input.ended != nil {
		return reply{}, false, c.input.ended
	}
	stop := context.AfterFunc(ctx, c.interrupt)
	defer stop()

	// A write error only rules out reuse of the connection. Whether there is a
	// reply is for read to find out.
	var unwritten error
	var written chan error // receives the result if another goroutine writes
	if len(q.body) < writtenAside {
		unwritten = c.write(head, q.body)
	} else {
		written = make(chan error, 1)
		go func() { written <- c.write(head, q.body) }()
	}
	r, more, err = c.read(ctx, q.deadline, limit)
	if written != nil {
		select {
		case unwritten = <-written:
		default: // a reply is there; the endpoint need not read the rest
			c.interrupt()
			unwritten = <-written
		}
	}
	// If interrupt has already been started, the connection cannot be reused: its
	// deadline could hit the next exchange.
	return r, more && err == nil && unwritten == nil && stop(), err
}

// interrupt wakes all pending reads and writes.
func (c *plainConn) interrupt() { _ = c.SetDeadline(time.Unix(1, 0)) }

// write writes the request.
func (c *plainConn) write(head, body []byte) error {
	if len(body) <= writtenAtOnce {
		_, err := c.Write(append(head, body...))
		return err
	}
	message := net.Buffers{head, body}
	_, err := message.WriteTo(c.Conn)
	return err
}

// read reads the response. more reports whether another response can follow it.
func (c *plainConn) read(ctx context.Context, deadline time.Time, limit int64) (r reply, more bool, err error) {
	// Closing the response body would read all of it, however long it is.
	response, err := c.head() //nolint:bodyclose // the connection is closed instead
	if err != nil {
		return reply{}, false, err
	}
	c.answered = true
	c.input.left = math.MaxInt64 // readReply limits the body
	r, whole, err := readReply(response, limit, func() {
		if patience := time.Now().Add(excerptPatience); patience.Before(deadline) {
			_ = c.SetReadDeadline(patience) // otherwise the deadline of the request applies
			if ctx.Err() != nil {
				c.interrupt() // SetReadDeadline has undone an earlier interrupt
			}
		}
	})
	// Reuse needs both sides to keep the connection open, and nothing after the
	// response.
	more = whole && !response.Close && response.ProtoAtLeast(1, 1) && c.buffer.Buffered() == 0
	return r, more, err
}

// head reads the response headers. It skips interim (1xx) responses.
func (c *plainConn) head() (*http.Response, error) {
	for {
		response, err := http.ReadResponse(c.buffer, nil)
		if err != nil || response.StatusCode < 100 || response.StatusCode > 199 || response.StatusCode == http.StatusSwitchingProtocols {
			return response, err
		}
	}
}

// diedUnheard reports whether the connection was already dead when the request
// was sent: it was lost before the first byte of a response.
func (c *plainConn) diedUnheard() bool {
	return !c.input.heard && c.input.ended != nil && !errors.Is(c.input.ended, os.ErrDeadlineExceeded)
}
