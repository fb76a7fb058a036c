package agentproc

import "github.com/hookgate/hookgate/transport/internal/childproc"

// awaitExit waits until the leader has ended, and does not reap it, so that its
// pid stays reserved.
func (p *process) awaitExit() { childproc.AwaitExit(p.leader.Pid) }
