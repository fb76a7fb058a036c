// Package transport reaches participants: Go code in this process, a program on
// this machine, or a remote endpoint. Each binding turns a participant's
// response into the vocabulary of package chain, and knows nothing of the chain
// it is used in.
//
// These rules hold for every binding here:
//
//   - T1 One strict reader (readAnswer) parses every answer. Anything but exactly
//     one decision is a failure, never an allow.
//   - T2 Ask returns by the deadline, whatever the participant does.
//   - T3 Everything read from a participant is bounded. One byte over the limit
//     is a failure, never a truncation.
//   - T4 A failure's Text carries nothing that an endpoint sent. Addresses,
//     headers and bodies go to Detail. Secrets that a request or a program was
//     given are in neither.
//   - T5 A call whose caller hung up counts neither as a success nor as a
//     failure.
//   - T6 The calls in flight are bounded per entry. A call over the limit fails
//     at once and delays no other entry.
//   - T7 Close releases what the binding holds and lets the calls in flight end.
//   - T8 A request that cannot be signed or authorized as configured is not sent.
//   - T9 Where answers must prove which request they belong to, one that does not
//     is a failure, never an allow.
package transport
