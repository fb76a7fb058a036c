package load

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// conn is one connection, idle or with one request in progress.
type conn struct {
	fd     int
	asked  time.Duration // on the loop's clock
	busy   bool
	unsent []byte
	answer []byte // the bytes received so far
	total  int    // length of the whole response; 0 while unknown
	body   int    // offset of its body
}

func dial(where netip.AddrPort) (*conn, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	c := &conn{fd: fd, answer: make([]byte, 0, 4<<10)}
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(where.Port()), Addr: where.Addr().As4()})
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("connect to %s: %w", where, err)
	}
	return c, nil
}

func (c *conn) close() { _ = unix.Close(c.fd) } // an error loses nothing

// ask starts writing a request.
func (c *conn) ask(question []byte, now time.Duration) error {
	c.asked, c.busy, c.unsent = now, true, question
	c.answer, c.total, c.body = c.answer[:0], 0, 0
	return c.write()
}

// write writes as much as the socket accepts.
func (c *conn) write() error {
	for len(c.unsent) > 0 {
		n, err := unix.Write(c.fd, c.unsent)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return fmt.Errorf("write: %w", err)
		}
		c.unsent = c.unsent[n:]
	}
	return nil
}

// read reads what is available and reports whether the response is complete.
func (c *conn) read() (whole bool, err error) {
	for {
		if len(c.answer) == cap(c.answer) {
			c.answer = append(c.answer, 0)[:len(c.answer)]
		}
		n, err := unix.Read(c.fd, c.answer[len(c.answer):cap(c.answer)])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("read: %w", err)
		case n == 0:
			return false, errors.New("the connection was closed before a whole answer")
		}
		c.answer = c.answer[:len(c.answer)+n]
		if whole, err = c.whole(); whole || err != nil {
			return whole, err
		}
	}
}

// whole reports whether the response is complete, after determining its length.
func (c *conn) whole() (bool, error) {
	if c.total == 0 {
		end := bytes.Index(c.answer, []byte("\r\n\r\n"))
		if end < 0 {
			return false, nil
		}
		length, err := contentLength(c.answer[:end])
		if err != nil {
			return false, err
		}
		c.body, c.total = end+4, end+4+length
	}
	return len(c.answer) >= c.total, nil
}

// contentLength parses the Content-Length header.
func contentLength(head []byte) (int, error) {
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if ok && bytes.EqualFold(name, []byte("Content-Length")) {
			return strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	return 0, fmt.Errorf("an answer without a Content-Length: %q", head)
}

// judge checks a complete response.
func (c *conn) judge(want []byte) error {
	if !bytes.HasPrefix(c.answer, []byte("HTTP/1.1 200 ")) || !bytes.Contains(c.answer[c.body:c.total], want) {
		return fmt.Errorf("answered %.400q, which is not 200 with %q", c.answer[:c.total], want)
	}
	return nil
}
