// Package transport reaches participants: Go code in this process, a program
// on this machine, an endpoint elsewhere. Each binding turns what came back
// into the vocabulary of package chain, and none knows the chain it speaks in.
//
// What holds for every binding here:
//
//   - T1 What a participant said is read by one strict reader (readAnswer).
//     Whatever is not exactly one decision is a failure, never an allow.
//   - T2 Ask returns by the deadline, whatever the participant does.
//   - T3 Everything read from a participant is bounded; one byte over is a
//     failure, never a truncation.
//   - T4 A failure's Text carries nothing that an endpoint sent. Addresses,
//     headers and bodies go to Detail. What a question or a program was given
//     as a secret is in neither.
//   - T5 A call whose caller hung up is counted for nothing.
//   - T6 Calls in flight are bounded per entry; what is over the bound fails
//     at once and starves nobody else.
//   - T7 Close releases what the binding holds and lets calls in flight end.
//   - T8 A question that cannot be signed or authorized as its entry has it is
//     not sent.
//   - T9 Where answers have to show which question they are to, one that does
//     not is a failure, never an allow.
package transport
