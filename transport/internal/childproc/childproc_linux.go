// Package childproc waits for programs that this process has started.
package childproc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// AwaitExit returns once a child of this process has exited, and leaves it
// unreaped: until it is reaped the kernel gives its number to nobody else, so
// that a signal to the group of that number reaches this group or none.
//
// It waits as for a socket. A wait inside the kernel would hold a thread for as
// long as the child runs, and the runtime never gives a thread back.
func AwaitExit(pid int) {
	if !polled(pid) {
		blocked(pid)
	}
}

// polled waits for the child, or says that it cannot be waited for like this:
// the kernel is older than 5.10, or there is no descriptor left.
func polled(pid int) bool {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false
	}
	handle := os.NewFile(uintptr(fd), "pidfd")
	defer func() { _ = handle.Close() }() // nothing was written to it
	conn, err := handle.SyscallConn()
	if err != nil {
		return false
	}
	return conn.Read(func(fd uintptr) bool { return hasExited(int(fd)) }) == nil
}

// hasExited asks what a child's descriptor stands for.
func hasExited(fd int) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // G115: descriptors are small
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

// blocked waits inside the kernel.
func blocked(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
