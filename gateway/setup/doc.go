// Package setup adds the gateway to the settings of the agents that can ask it,
// and reports where those settings would let a call run unchecked.
//
// Invariants:
//
//   - S1 Every setting by which a client blocks calls when its hook fails is
//     enabled, and every client's timeout is longer than its hook's: the side
//     that times out first must be the one that denies.
//   - S2 Content of others stays byte for byte: other keys, other hooks,
//     comments and order. Settings that cannot be parsed are an error and never
//     overwritten.
//   - S3 Writing is atomic and keeps a backup next to the file. Writing twice
//     changes nothing the second time.
//   - S4 What a client cannot guarantee is reported, in the same words before
//     and after the setup.
//   - S5 A diagnosis requires nothing to be run: its findings come from
//     reading, or from asking the gateway over the client's own path.
//
// Files:
//
//   - client.go: the description of a client, and the list of all
//   - claude_code.go, codex.go, …: one client each
//   - command.go: the command line that a client runs
//   - document.go: settings files that keep their comments
//   - plan.go: what is to be written, and writing it
//   - diagnose.go: what would fail open
package setup
