//go:build unix

package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// quiet reports whether an idle connection is open and has received nothing. It
// does not block. A connection that is not quiet must not be used again.
func quiet(c net.Conn) bool {
	socket, ok := c.(syscall.Conn)
	if !ok {
		_ = c.SetReadDeadline(time.Unix(1, 0)) // if this fails, so does Read
		n, err := io.ReadFull(c, make([]byte, 1))
		return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	nothing := false
	// Not Read, which would fail because the deadline of the last exchange has
	// passed.
	_ = raw.Control(func(fd uintptr) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
	})
	return nothing
}
