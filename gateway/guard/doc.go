// Package guard contains the guards that run in the gateway's own process. A
// hooks file names them under "use", and the default chain consists of them.
//
// A guard protects against mistakes and against a model that was talked into
// something. It is a fence, not a wall: docs/guards.md lists what each one
// misses. Invariants of all guards, with the tests named after them (TestG1_…):
//
//   - G1 What a guard is responsible for and cannot parse, it denies, saying
//     what could not be parsed.
//   - G2 A denial says what would happen and, if there is one, which
//     alternative is not denied.
//   - G3 An invalid option is an error that names the option and what is
//     allowed.
//   - G4 A guard has no mutable state: it is safe for concurrent use, and its
//     answer depends only on the call.
//   - G5 Work is bounded by the length of the call, and recursion by constants.
//     A call that needs more is denied.
//   - G6 The documentation of a guard, its options and its kinds matches the
//     code.
//   - G7 A guard stops soon after its context ends, with an error and no
//     decision.
package guard
