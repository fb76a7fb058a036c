// Package functions has no code of its own: its tests run the examples in
// examples/functions on the runtimes that platforms use, behind the real gateway
// program, and make them fail.
//
//   - F1 The gateway answers what a function answers: allow, deny, modify and
//     replace, with the hooks entry that is part of the example.
//   - F2 An example answers only the gateway, and denies what it does not
//     understand.
//   - F3 A function that throws, exits, hangs or answers something else denies,
//     with the failure cause for operators, and without any part of its error
//     reaching the agent.
//   - F4 No call is allowed that the function did not allow, however often its
//     runtime is killed.
//   - F5 A runtime that is back is probed within one open period of its breaker.
//   - F6 If the entry allows time for a cold start, the call waits for it;
//     otherwise the call is denied and the next one is answered.
//
// The tests need programs from npm and one from Go, which .ci/run functions
// downloads. It sets the variables with their locations:
//
//	HOOKGATE_TEST_NODE_MODULES  the installation of this folder's lock file
//	HOOKGATE_TEST_RIE           AWS's runtime interface emulator
//
// The programs in the lock file are for Linux on amd64.
package functions
