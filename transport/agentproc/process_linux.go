package agentproc

import "syscall"

// awaitExit returns once the leader has ended, and leaves it unreaped: its
// number stays its own.
func (p *process) awaitExit() {
	const byPID = 1 // P_PID
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(p.leader.Pid), 0, syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}
