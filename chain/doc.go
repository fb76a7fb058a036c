// Package chain defines the contract between an agent runtime and the
// participants that guard its tool calls, and implements the fold that turns
// their answers into one decision.
//
// It knows nothing of HTTP, processes or files. A [Binding] reaches one
// participant; package transport implements a Binding for each kind. The rules
// below are implemented here once, so they hold for every binding. The tests of
// a rule carry its number (TestC1_…).
//
//   - C1 The first deny ends the chain; no later participant is asked.
//   - C2 Rewrites compose: each participant is asked about the call as its
//     predecessors left it, and a later one can still deny it.
//   - C3 A modify whose input is not a JSON object is a failure. The original
//     input never runs in its place.
//   - C4 The event and the tool decide which participants apply. No answer can
//     change either. A tool with an alias is matched under both names. A
//     participant's condition is evaluated against the call in its current form.
//   - C5 The reason of an outcome names the participant that denied, or else
//     every participant that rewrote the call, in order.
//   - C6 A failure is always reported, even if the participant may fail open. An
//     interceptor never fails open.
//   - C7 A deny after the call cannot stop anything. It means that the model is
//     shown the reason instead of the output, as an error.
//   - C8 A final replace states whether the result is an error, even if no
//     participant said so.
//   - C9 A caller that hung up is neither an answer nor a failure: it ends the
//     chain, counts against nobody, and never causes an allow.
//   - C10 Participants are asked in the order given: interceptors, then the
//     operator's hooks, then the chain's own hooks.
//   - C11 A fault of the fold itself denies.
//   - C12 A chain answers within its budget. If it would exceed it, it denies,
//     whatever the failure policy of the participant it was waiting for. The time
//     taken to read the request counts towards the budget. The time of a
//     participant with OwnTime does not, but a caller that said how long it waits
//     is answered within that time.
//   - C13 Adjacent guards are asked concurrently, and the outcome is the same as
//     if they were asked one by one. A guard that answers with a rewrite has
//     failed.
//   - C14 A shadow is asked after the decision, with bounded concurrency, and
//     never changes or delays an outcome.
//   - C15 Bytes are kept: inputs, outputs and unknown fields are passed on as the
//     JSON text in which they arrived. A request that nobody rewrote is forwarded
//     byte for byte.
//   - C16 The zero value of every type fails closed.
package chain
