package agentproc

import "github.com/hookgate/hookgate/transport/internal/childproc"

// awaitExit returns once the leader has ended, and leaves it unreaped: its
// number stays its own.
func (p *process) awaitExit() { childproc.AwaitExit(p.leader.Pid) }
