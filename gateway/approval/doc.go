// Package approval asks a person about calls and waits for the answer.
//
// Invariants:
//
//   - P1 Only a person allows a call: the zero value of every type, an
//     unreachable store, a timeout and a gateway that stops all refuse.
//   - P2 An approval is settled once. A second answer changes nothing and is told
//     who settled it.
//   - P3 An approval is valid only for exactly the call that was shown: its
//     digest is compared before the call may run.
//   - P4 An approval lets one call run, once.
//   - P5 An approval that is not answered in time expires and can no longer be
//     answered.
//   - P6 An acknowledged answer is on disk, or committed.
//   - P7 If the caller stops waiting, its question is withdrawn.
//   - P8 Nobody waits longer than the timeout, whatever the store does.
//   - P9 An approval that nobody waits for any more because its gateway was
//     killed is shown as deserted and cannot be answered. It lets nothing run in
//     any case.
package approval
