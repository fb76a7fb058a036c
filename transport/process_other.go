//go:build unix && !linux

package transport

// descriptors is the directory in which the system lists this process's
// descriptors.
const descriptors = "/dev/fd"

// awaitExit waits until the process has exited, and reaps it: on these systems
// the standard library cannot wait without reaping. The signal that then kills
// the rest of the group goes to a pid that might have been reused. Pids are
// assigned in sequence, so that would take some ten thousand new processes
// within microseconds.
func (p *process) awaitExit() { p.wait() }

// reapStrays does nothing: on these systems no gateway is process 1.
func reapStrays() {}
