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

// writtenAside is the size from which a question is written by a goroutine of
// its own, since the endpoint may answer before it has read all of it. What is
// shorter fits into the buffers of a connection that carries nothing else.
const writtenAside = 32 << 10

// writtenAtOnce is the size up to which a question is copied behind its head: to
// write one piece costs less than to gather two.
const writtenAtOnce = 4 << 10

// plainConn is a connection that carries one exchange after another. Whoever
// has taken it uses it alone.
type plainConn struct {
	net.Conn
	input  meter
	buffer *bufio.Reader // reads through input
	// answered says that the head of the present response was read.
	answered  bool
	idleSince time.Time
	// epoch is that of the idle connections in which it was opened, and until
	// is when it is too old for another question.
	epoch int64
	until time.Time
}

func newPlainConn(c net.Conn, epoch int64, until time.Time) *plainConn {
	p := &plainConn{Conn: c, epoch: epoch, until: until}
	p.buffer = bufio.NewReaderSize(&p.input, 2<<10) // answers are short
	return p
}

// meter is what the endpoint sends within one exchange, and bounds it.
type meter struct {
	conn  net.Conn
	left  int64
	heard bool  // a byte came
	ended error // why no more comes
}

var errHeadTooLong = errors.New("the head of the response is longer than it may be")

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

// exchange puts a question and reads the reply, and says whether more can
// follow on the connection.
func (c *plainConn) exchange(ctx context.Context, head []byte, q question, limit int64) (r reply, more bool, err error) {
	c.answered = false
	c.input = meter{conn: c.Conn, left: maxHeaderBytes}
	if c.input.ended = c.SetDeadline(q.deadline); c.input.ended != nil {
		return reply{}, false, c.input.ended
	}
	stop := context.AfterFunc(ctx, c.interrupt)
	defer stop()

	// An error of writing matters to those who come next alone: whether there is a
	// reply is for read to find out.
	var unwritten error
	var written chan error // where it is written aside
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
		default: // nobody has to read on
			c.interrupt()
			unwritten = <-written
		}
	}
	// After an interrupt that is under way nothing can follow either: it might
	// come in the midst of the next exchange.
	return r, more && err == nil && unwritten == nil && stop(), err
}

// interrupt wakes whoever waits for the connection.
func (c *plainConn) interrupt() { _ = c.SetDeadline(time.Unix(1, 0)) }

// write writes the question.
func (c *plainConn) write(head, body []byte) error {
	if len(body) <= writtenAtOnce {
		_, err := c.Write(append(head, body...))
		return err
	}
	message := net.Buffers{head, body}
	_, err := message.WriteTo(c.Conn)
	return err
}

// read reads the response, and says whether another can follow it.
func (c *plainConn) read(ctx context.Context, deadline time.Time, limit int64) (r reply, more bool, err error) {
	// Closing its body would read all of it, however long it is.
	response, err := c.head() //nolint:bodyclose // the connection is closed instead
	if err != nil {
		return reply{}, false, err
	}
	c.answered = true
	c.input.left = math.MaxInt64 // the body has a bound of its own
	r, whole, err := readReply(response, limit, func() {
		if patience := time.Now().Add(excerptPatience); patience.Before(deadline) {
			_ = c.SetReadDeadline(patience) // else that of the question holds
			if ctx.Err() != nil {
				c.interrupt() // what came before was undone
			}
		}
	})
	// Both sides keep the connection, and nothing came behind the response.
	more = whole && !response.Close && response.ProtoAtLeast(1, 1) && c.buffer.Buffered() == 0
	return r, more, err
}

// head reads the head of the response. Interim ones only say that it comes.
func (c *plainConn) head() (*http.Response, error) {
	for {
		response, err := http.ReadResponse(c.buffer, nil)
		if err != nil || response.StatusCode < 100 || response.StatusCode > 199 || response.StatusCode == http.StatusSwitchingProtocols {
			return response, err
		}
	}
}

// diedUnheard says that the connection was dead already when the question met
// it: it was lost before the first byte of an answer.
func (c *plainConn) diedUnheard() bool {
	return !c.input.heard && c.input.ended != nil && !errors.Is(c.input.ended, os.ErrDeadlineExceeded)
}
