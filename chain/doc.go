// Package chain is the contract between an agent runtime and the participants
// that guard its tool calls, and the fold that turns their answers into one
// decision.
//
// It knows neither HTTP nor processes nor files: a [Binding] reaches one
// participant, and package transport has one for each way of being reached.
// The rules below hold for every binding because they are written once, here.
// Each is named in the test that holds it (TestC1_…).
//
//   - C1 The first deny ends the chain; nobody after it is asked.
//   - C2 Rewrites compose: each participant is asked about the call as its
//     predecessors left it, and a later one can still deny it.
//   - C3 A modify whose input is not a JSON object is a failure; the original
//     input never runs in its place.
//   - C4 Which participants apply is decided from event and tool, which no
//     answer can change. A tool with an alias is asked about under both names.
//     A participant's condition sees the call as it now stands.
//   - C5 The outcome names every hand that made it.
//   - C6 A participant that failed is reported always, also where it may fail
//     open. An interceptor never fails open.
//   - C7 After the call a deny stops nothing: it means that the model is shown
//     the reason in place of the output, as an error.
//   - C8 A final replace says whether the result is an error, also where no
//     participant did.
//   - C9 A caller that hung up is neither an answer nor a failure: the chain
//     ends, nobody is counted, and nothing is allowed.
//   - C10 Participants are asked in the order they were given: interceptors,
//     then the operator's hooks, then the chain's own.
//   - C11 A fault of the fold itself denies.
//   - C12 A chain answers within its budget. One that would outlast it denies,
//     whatever the participant it was waiting for may do on failure. What reading
//     the call took counts. What a participant with time of its own takes does
//     not, but a caller that said how long it waits is answered within that.
//   - C13 Neighbouring guards are asked at the same time, and the outcome is
//     that of asking them one by one. A guard that rewrites has failed.
//   - C14 A shadow is asked off the path, bounded, and never changes or delays
//     an outcome.
//   - C15 Bytes are kept: inputs, outputs and unknown fields travel as the
//     JSON text they arrived in. A request nobody rewrote is forwarded as it
//     was received.
//   - C16 The zero value of every type refuses.
package chain
