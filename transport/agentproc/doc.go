// Package agentproc implements the AgentProc 0.4 wire: one JSON object per line
// in both directions between a bridge, which starts an agent as a process for
// one turn, and that agent. [Run] is the bridge's side and [ReadTurn] the
// agent's.
//
// The agent reads one turn line. It writes events: partial, result, error and,
// if the turn permits it, permission_request. The bridge answers each of those
// with one permission_response. A [Decider] decides the answer; this package
// only ensures that no answer reaches a request that it was not given for.
//
// These rules hold here. The tests of a rule carry its number (TestA1_…).
//
//   - A1 A line is an event only if it is exactly one JSON object of one of the
//     four types, read as strictly as a hook request. Every other line is logged
//     and ignored, and never becomes text of the reply.
//   - A2 A permission request is answered once if its id can be read with
//     certainty, and otherwise never. A malformed, repeated or excess request is
//     denied without asking anybody.
//   - A3 An id that is used twice in a turn is ambiguous: the open request with
//     that id is denied, whatever the decider says.
//   - A4 An error event fails the turn and silences it: later events are neither
//     forwarded nor answered, and open requests are not answered any more.
//   - A5 If a turn has no permission, the agent's input ends after the turn line,
//     and no response is ever written.
//   - A6 Run returns within the profile's timeout and grace, whatever the agent
//     or its descendants do, and leaves no process of its group, no file
//     descriptor and no goroutine.
//   - A7 Everything read from an agent is bounded. A line over the limit is
//     dropped, and denied if it is a permission request; later lines are read.
//   - A8 The exit code is 124 for a timeout, else 1 for an error event, else the
//     process's own.
//   - A9 What a caller sends, above all the message, cannot choose an agent's
//     program, directory or options.
//   - A10 An agent's environment consists of a few operational variables and
//     those declared by its profile, never of the rest of the gateway's.
//   - A11 A slow reader of the turn's events does not delay the agent's
//     permission responses.
//   - A12 The first valid session_id and the first result count; later ones
//     change nothing.
//   - A13 The zero value of every type refuses.
//   - A14 The values of variables to which a profile's env refers appear neither
//     in a failure nor in the log, even if the agent writes them to stderr, in
//     an error event or in a line that is not an event. What the agent tells its
//     caller is not filtered.
package agentproc
