// Package access knows who calls a gateway, and what each caller may do: by
// the hash of a bearer token, by a token that an OpenID Connect issuer signed,
// or by a client certificate.
//
// What holds here:
//
//   - A1 Who is not known is refused. A credential that is not entirely good is
//     refused, and no other credential of the same request stands in for it.
//   - A2 A caller reaches the chains and does the things that its entry names,
//     and nothing else.
//   - A3 No credential becomes part of an error, a log line or a label.
//   - A4 How long a token takes to refuse says nothing about those that are
//     known.
//   - A5 An issuer that cannot be reached lets nobody in. Keys it gave before
//     are good for a day.
//   - A6 Tokens that cannot be verified do not make the gateway ask an issuer
//     more than once in ten seconds, however many of them come.
//   - A7 The limits of a caller hold over a reload.
package access
