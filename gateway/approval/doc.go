// Package approval puts calls to a person and waits for the answer.
//
// What holds here:
//
//   - P1 Nothing is allowed but by a person: the zero value of every type, a
//     store that cannot be reached, a time that ran out and a gateway that stops
//     all refuse.
//   - P2 An approval is settled once. Whoever comes second is told who was first,
//     and changes nothing.
//   - P3 An approval holds for exactly the call that was shown: its digest is
//     compared before the call is let go.
//   - P4 An approval lets one call go, once.
//   - P5 An approval that nobody answers in its time expires, and can no longer be
//     answered.
//   - P6 An answer that was acknowledged is on disk, or committed.
//   - P7 A caller that stopped waiting withdraws its question.
//   - P8 Nobody waits longer than the time that was given for it, whatever the
//     store does.
//   - P9 What nobody waits for any more, since its gateway was killed, is shown as
//     such and takes no answer. It lets nothing go in any case.
package approval
