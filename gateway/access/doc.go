// Package access authenticates the callers of a gateway and defines what each
// may do. A caller is known by the hash of a bearer token, by a token that an
// OpenID Connect issuer signed, or by a client certificate.
//
// Invariants:
//
//   - A1 A caller that is not authenticated is refused. An invalid credential
//     is refused even if the same request carries another, valid one.
//   - A2 A caller reaches only the chains and scopes that its entry names.
//   - A3 No credential becomes part of an error, a log line or a label.
//   - A4 The time it takes to refuse a token reveals nothing about the known
//     tokens.
//   - A5 An issuer whose keys cannot be fetched authenticates nobody. Keys that
//     were fetched before remain usable for a day.
//   - A6 However many unverifiable tokens arrive, the gateway asks an issuer
//     for its keys at most once in ten seconds.
//   - A7 A caller's limits hold across a reload.
package access
