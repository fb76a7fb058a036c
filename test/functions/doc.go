// Package functions has no code of its own: its tests put the examples of
// examples/functions on the runtimes that platforms really use, behind the real
// gateway program, and break them.
//
//   - F1 What a function says is what the gateway answers: allow, deny, modify,
//     replace, through the hooks entry that the example ships.
//   - F2 An example answers nobody who is not the gateway, and denies what it
//     does not understand.
//   - F3 A function that throws, exits, hangs or says something else denies, with
//     the cause that operators look for, and nothing of its error reaches the
//     agent.
//   - F4 No call is allowed that the function did not allow, however often its
//     runtime is killed.
//   - F5 A runtime that is back is asked again within one period of its breaker.
//   - F6 A cold start is waited for where the entry says so; where it does not, it
//     denies, and the next call is served.
//
// They need programs from npm and one from Go, which .ci/run functions fetches;
// it sets the variables that say where they are:
//
//	HOOKGATE_TEST_NODE_MODULES  what npm ci made of this folder's lock file
//	HOOKGATE_TEST_RIE           AWS's runtime interface emulator
//
// The programs of the lock file are those of Linux on amd64.
package functions
