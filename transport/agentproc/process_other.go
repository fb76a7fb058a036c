//go:build unix && !linux

package agentproc

// awaitExit waits until the leader has ended, and reaps it: on these systems
// the standard library cannot wait without reaping. For an instant the group's
// pid is not reserved. Pids are assigned in sequence, so another group cannot
// get it that soon.
func (p *process) awaitExit() { p.state, _ = p.leader.Wait() }
