// Package childproc waits for child processes without reaping them.
package childproc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// AwaitExit waits until a child of this process has exited, and does not reap
// it. Until it is reaped, the kernel does not reuse its pid, so a signal to its
// process group reaches that group or none.
//
// It waits with a pidfd in the runtime's network poller. A blocking wait would
// hold an OS thread for as long as the child runs, and the runtime never gives
// a thread back.
func AwaitExit(pid int) {
	if !polled(pid) {
		blocked(pid)
	}
}

// polled waits for the child with a pidfd. It returns false if that is
// impossible: the kernel is older than 5.10, or no file descriptor is left.
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

// hasExited reports whether the process of a pidfd has exited.
func hasExited(fd int) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // G115: descriptors are small
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

// blocked waits in a blocking system call.
func blocked(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
