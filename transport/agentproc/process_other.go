//go:build unix && !linux

package agentproc

// awaitExit returns once the leader has ended. The standard library cannot wait
// here without reaping, so that for an instant the group's number is nobody's.
// Numbers are handed out in turn: another group cannot get it that soon.
func (p *process) awaitExit() { p.state, _ = p.leader.Wait() }
