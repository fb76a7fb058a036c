// Package gateway is the service: an HTTP server in front of the chains that
// its configuration describes. It builds participants out of files and
// interceptors, keeps them over reloads, and answers callers.
//
// What holds here:
//
//   - G1 On a deciding route every body is a decision. Whatever goes wrong, a
//     caller that reads only the status and one that reads only the body both
//     deny.
//   - G2 A request is decided by the configuration that was in force when it
//     arrived, whole. A reload swaps one pointer.
//   - G3 A configuration that is not entirely good changes nothing: at start
//     the gateway does not start, at reload the old one stays and the metrics,
//     the log and /readyz say so.
//   - G4 Without a configuration in force nothing is allowed.
//   - G5 What did not change over a reload but for its name keeps its breaker,
//     its connections, its worker processes and its counts. An endpoint whose
//     secrets or certificates alone did keeps all but the connections.
//   - G6 Every read from a caller is bounded in size and time.
//   - G7 A browser page cannot use the gateway of the machine it is shown on.
//   - G8 Nothing that a caller sends becomes a label, a log line of its own, a
//     path or an argument.
//   - G9 A stop is announced before it happens: not ready first, then calls in
//     flight end, then participants are released.
//   - G10 A known agent is answered in its own dialect, with status 200 where it
//     reads the body: whatever the gateway refuses is that agent's own deny.
//   - G11 Where callers are told apart, nothing of a request but its head is read
//     before its sender is known, and nobody reaches more than its entry names.
//   - G12 Where the record of a decision has to be safe, nothing is allowed before
//     it is.
package gateway
