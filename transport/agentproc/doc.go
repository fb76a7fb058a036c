// Package agentproc speaks the AgentProc 0.4 wire: one JSON object per line in
// both directions between a bridge, which starts an agent as a process for one
// turn, and that agent. [Run] is the bridge's side and [ReadTurn] the agent's.
//
// The agent reads one turn line. It writes events: partial, result, error and,
// where the turn offers it, permission_request, each of which the bridge
// answers with one permission_response. What to answer is for a [Decider] to
// say; this package only sees to it that no answer reaches a call it was not
// given for.
//
// What holds here, each named in the test that holds it (TestA1_…):
//
//   - A1 A line is an event only if it is exactly one JSON object, read as
//     strictly as a hook request, of one of the four types. Every other line
//     is logged and ignored; none becomes text of the reply.
//   - A2 A permission request is answered once if its id can be read for
//     certain, and never if not. One that is malformed, repeated, or too much
//     is denied without being put to anybody.
//   - A3 An id that comes twice in a turn names no call any more: what is open
//     under it is denied, whatever the decider says.
//   - A4 An error event fails the turn and silences it: nothing after it is
//     forwarded or answered, and what was open is not answered any more.
//   - A5 A turn without permission has its input ended after the turn line, and
//     no response is ever written.
//   - A6 Run ends within the profile's timeout and grace, whatever the agent or
//     its descendants do, and leaves no process of its group, no descriptor and
//     no goroutine.
//   - A7 What is read from an agent is bounded. A line over the bound is
//     dropped, and denied if it asked for permission; later lines are read.
//   - A8 The exit code is 124 for a timeout, else 1 for an error event, else
//     the process's own.
//   - A9 What a caller sends, its message above all, cannot choose the program,
//     the directory or an option of an agent.
//   - A10 An agent's environment is a few operational names and what its
//     profile declares, never the rest of the gateway's.
//   - A11 A reader who is slow to take the turn's events does not keep the
//     agent from its permission responses.
//   - A12 The first valid session_id and the first result count; later ones
//     change nothing.
//   - A13 The zero value of every type refuses.
package agentproc
