package transport

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/hookgate/hookgate/transport/internal/childproc"
)

// descriptors is the directory in which the kernel lists this process's
// descriptors.
const descriptors = "/proc/self/fd"

// awaitExit waits until the process has exited, and does not reap it.
func (p *process) awaitExit() { childproc.AwaitExit(p.leader.Pid) }

// reapStrays reaps dead orphans that were reparented to this process and are in
// another session.
//
// The session tells them from the programs started here, for whose exit other
// goroutines wait. Those get their own group, here and elsewhere in the
// gateway, but stay in this process's session. A list of the started programs
// would not do: a program can exit before it is on the list. The price is that
// an orphan with its own group but no session of its own remains a zombie, and
// that nothing in this process may start a program with Setsid.
//
// The kernel reparents orphans to the first thread. If it was built without the
// children file, nothing is reaped.
func reapStrays() {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		return
	}
	for child := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(child); err == nil && isStray(pid) {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it may be alive, or reaped already
		}
	}
}

// isStray reports whether a child of this process, dead or alive, is in another
// session.
func isStray(pid int) bool {
	own, _, unknown := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	its, _, gone := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	return unknown == 0 && gone == 0 && its != own
}
