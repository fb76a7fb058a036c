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

// quiet reports whether an idle connection stands and has brought nothing. It
// does not wait, and a connection that is not quiet is of no more use.
func quiet(c net.Conn) bool {
	socket, ok := c.(syscall.Conn)
	if !ok {
		_ = c.SetReadDeadline(time.Unix(1, 0)) // what fails here fails Read
		n, err := io.ReadFull(c, make([]byte, 1))
		return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	nothing := false
	// Not Read, which fails where the deadline of the last exchange has passed.
	_ = raw.Control(func(fd uintptr) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
	})
	return nothing
}
