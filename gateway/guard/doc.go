// Package guard has the guards that run in the gateway's own process: a hooks
// file names them under "use", and the default chain is made of them.
//
// Each is a fence for mistakes and for what a model was talked into, not a
// wall: docs/guards.md says what it does not see. What holds for all of them
// is named in the tests that hold it (TestG1_…):
//
//   - G1 What a guard looks for and cannot read, it denies, and says what could
//     not be read.
//   - G2 A denial says what would happen and, where there is one, the way to
//     the same end that is not denied.
//   - G3 What is not understood in options is an error that names the option
//     and what would be understood.
//   - G4 A guard holds nothing that changes: it is safe for concurrent use, and
//     what it answers depends on the call alone.
//   - G5 Work is bounded by the length of the call, and recursion by constants.
//     What would take more is denied.
//   - G6 What the documentation says of a guard, its options and its kinds is
//     what there is.
//   - G7 A guard stops soon after its context ends, with an error and no
//     decision.
package guard
