// Package signature signs the requests to remote hooks and lets a hook verify
// them, both according to Standard Webhooks (https://www.standardwebhooks.com).
// It also binds an answer to the one request that it answers.
//
// Both sides use it, so it imports only the standard library.
//
// # Keys
//
//   - whsec_… is a shared secret of 24 to 64 random bytes in base64. The same
//     text is in the gateway's hooks file and in the hook. Its signatures are
//     HMAC-SHA256, version v1. One line makes such a secret:
//     echo "whsec_$(openssl rand -base64 32)"
//   - whsk_… is a private Ed25519 key in base64: its seed of 32 random bytes, or
//     seed and public key. Only the sender has it. Its signatures have version
//     v1a.
//   - whpk_… is the public key of a private key (see [Key.Public]). The hook can
//     verify with it but not sign.
//
// A sender may sign with several keys and a verifier may accept several. To
// rotate a key without interruption, add the new key to the verifier, then to
// the sender, and then remove the old one from both.
//
// # In a hook
//
// Verify the body as it arrived, before anything parses it:
//
//	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
//	…
//	id, err := verifier.Verify(r.Header, body)
//
// A verified request may still arrive twice. The gateway repeats a request,
// with the same id, if its connection died; and within the tolerance, anybody
// who recorded a request can replay it. A hook whose answer has side effects
// must remember the ids for that long.
//
// # Bound answers
//
// A cache, a proxy that mixes up two responses, or somebody who recorded an
// answer could hand the gateway an allow that was given to another request.
// With bind_answers in an entry, the gateway accepts only answers that state
// which request they belong to. There are two levels.
//
// The answer repeats the header webhook-id in its field webhook_id:
//
//	{"decision":"allow","webhook_id":"msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"}
//
// That is one line in any language ([BindAnswer] in Go). It tells answers
// apart, but anybody who sees the request can write it. So an answer may also
// be signed ([Signer.BindAnswer]), with a key that the gateway can verify. The
// signature proves that the answer comes from the hook, belongs to this id and
// exactly these bytes of a request body, and was not changed on the way:
//
//	{"decision":"allow","webhook_id":"msg_2KWP…","answer_signature":"v1,K5oZ…="}
//
// The signature is made like that of a request, over the text
//
//	answer.ID.HASH.ANSWER
//
// where HASH is the SHA-256 of the request body in lower-case hexadecimal, and
// ANSWER is the answer without the field answer_signature. That field must be
// the last one, without white space around its comma, colon or brace, so that
// cutting it out leaves ANSWER. The word answer ensures that the signature of
// an answer is never valid for a request.
//
// # Rules
//
//   - S1 Signatures are those of Standard Webhooks: the test vectors of its
//     reference libraries are tests here.
//   - S2 A verifier accepts only what was signed with one of its keys, with id,
//     time and body unchanged, and not further in the past or the future than its
//     tolerance.
//   - S3 Comparing signatures takes constant time.
//   - S4 Every refusal says what was wrong and contains no secret. The zero value
//     of every type refuses.
//   - S5 An answer bound to one request is not valid for any other.
//   - S6 Everything here is safe for concurrent use.
package signature
