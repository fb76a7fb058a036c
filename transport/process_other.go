//go:build unix && !linux

package transport

// descriptors is where the system lists those of this process.
const descriptors = "/dev/fd"

// awaitExit returns once the process has exited. These systems have no call in
// the standard library that waits without reaping, so the signal that clears
// up the group afterwards goes to a number that might have been given to
// another group in the meantime. Numbers are handed out in turn, which makes
// that a matter of starting some ten thousand processes within microseconds.
func (p *process) awaitExit() { p.wait() }

// reapStrays does nothing: on these systems no gateway is process 1.
func reapStrays() {}
