// Package gateway is the service: an HTTP server in front of the chains that its
// configuration describes. It builds participants from files and interceptors,
// keeps them across reloads, and answers callers.
//
// Invariants:
//
//   - G1 On a deciding route every response body is a decision. Whatever goes
//     wrong, a caller that reads only the status and one that reads only the body
//     both deny.
//   - G2 A request is decided entirely by the configuration that was in force when
//     its body had arrived. A reload swaps one pointer.
//   - G3 A configuration with any mistake changes nothing: at start the gateway
//     does not start; at reload the old configuration stays, and the metrics, the
//     log and /readyz say so.
//   - G4 Without a configuration in force nothing is allowed.
//   - G5 An entry that a reload does not change, or only renames, keeps its
//     breaker, its connections, its worker processes and its counts. An endpoint
//     whose secrets or certificates alone changed keeps everything but the
//     connections.
//   - G6 Every read from a caller is bounded in size and time.
//   - G7 A page in a browser cannot use the gateway of the machine on which it is
//     shown.
//   - G8 Nothing that a caller sends becomes a label, a log line of its own, a
//     path or an argument.
//   - G9 A stop is announced before it happens: first the gateway is not ready,
//     then calls in flight end, then participants are released.
//   - G10 A known agent is answered in its own dialect, with status 200 if it
//     reads the body: whatever the gateway refuses is a deny in that agent's
//     terms.
//   - G11 If callers are authenticated, nothing but a request's header is read
//     before its sender is known, and no caller reaches more than its entry names.
//   - G12 If decisions must be recorded durably, nothing is allowed before its
//     record is durable.
//   - G13 Every connection to the main listener is counted, even if it never sends
//     a request.
package gateway
