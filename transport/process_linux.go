package transport

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/hookgate/hookgate/transport/internal/childproc"
)

// descriptors is where the system lists those of this process.
const descriptors = "/proc/self/fd"

// awaitExit returns once the process has exited, and leaves it unreaped.
func (p *process) awaitExit() { childproc.AwaitExit(p.leader.Pid) }

// reapStrays reaps the dead among the orphans that the kernel has given to this
// process and that have a session of their own.
//
// A session tells them from the programs started here, for whose exits others
// wait: those get a group of their own, here and elsewhere in the gateway, but
// stay in this process's session. So it needs no list of them, which would
// have to know a program before it can exit. The price is that an orphan with
// a group but no session of its own stays a zombie, and that nothing in this
// process may start a program with Setsid.
//
// The kernel hands orphans to the first thread. Without a list of its children,
// which is a matter of how the kernel was built, nothing is reaped.
func reapStrays() {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		return
	}
	for child := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(child); err == nil && isStray(pid) {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it may live, or be reaped by now
		}
	}
}

// isStray says whether a child of this process, which may be dead, has another
// session.
func isStray(pid int) bool {
	own, _, unknown := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	its, _, gone := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	return unknown == 0 && gone == 0 && its != own
}
