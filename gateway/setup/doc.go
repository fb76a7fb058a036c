// Package setup puts the gateway into the settings of the agents that can ask
// it, and says where those settings would let a call through unasked.
//
//   - S1 Whatever the client offers to block where its hook fails is on, and
//     every client waits longer than its hook does: whoever gives up first has
//     to be the one that denies.
//   - S2 What is not ours stays byte for byte: other keys, other hooks,
//     comments, the order of things. Settings that cannot be read are an error,
//     never overwritten.
//   - S3 Writing is atomic and keeps the old file beside the new. Writing twice
//     changes nothing the second time.
//   - S4 What a client cannot be made to promise is said, in the same words
//     before and after.
//   - S5 A diagnosis asks for nothing to be run: what a finding is about was
//     read, or asked of the gateway over the path that the client uses.
//
// Where things are:
//
//   - client.go: what is known of a client, and the list of all
//   - claude_code.go, codex.go, …: a client each
//   - command.go: the line that a client runs
//   - document.go: settings files that keep their comments
//   - plan.go: what is to be written, and writing it
//   - diagnose.go: what would fail open
package setup
