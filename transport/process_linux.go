package transport

import "syscall"

// descriptors is where the system lists those of this process.
const descriptors = "/proc/self/fd"

// awaitExit returns once the process has exited, and leaves it unreaped: until
// it is reaped the kernel gives its number to nobody else, so that a signal to
// the group of that number reaches this group or none.
func (p *process) awaitExit() {
	const byPID = 1 // P_PID
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(p.leader.Pid), 0, syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}
