// Package signature signs the questions that are put to remote hooks and lets
// a hook find out that one is genuine, both as Standard Webhooks has it
// (https://www.standardwebhooks.com). It also ties an answer to the one
// question that it answers.
//
// It is for both ends, so it imports nothing but the standard library.
//
// # Keys
//
//   - whsec_… is a shared secret of 24 to 64 random bytes in base64: the same
//     text stands in the gateway's hooks file and in the hook. Its signatures
//     are HMAC-SHA256, of version v1. One line makes such a secret:
//     echo "whsec_$(openssl rand -base64 32)"
//   - whsk_… is a private Ed25519 key in base64: its seed of 32 random bytes,
//     or seed and public key. Only the sender has it. Its signatures are of
//     version v1a.
//   - whpk_… is the public key that belongs to it (see [Key.Public]), for the
//     hook, which can check with it but not sign.
//
// A sender may sign with several keys and a verifier may accept several. To
// rotate one without a gap, give the new key to the verifier beside the old
// one, then to the sender, then take the old one from both.
//
// # In a hook
//
// Verify the body as it arrived, before anything parses it:
//
//	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
//	…
//	id, err := verifier.Verify(r.Header, body)
//
// A verified question may still come twice: the gateway puts one again where a
// connection died, under the same id and within the tolerance anybody can who
// overheard it. A hook whose answer has effects remembers ids that long.
//
// # Answers that are bound
//
// A cache, a proxy that crosses two responses or somebody who recorded an
// answer can hand the gateway an allow that was given to another question.
// Where an entry says bind_answers, the gateway takes only answers that say
// which question is theirs. There are two strengths.
//
// The answer repeats the header webhook-id in its field webhook_id:
//
//	{"decision":"allow","webhook_id":"msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"}
//
// That is one line in any language ([BindAnswer] in Go) and tells answers
// apart, but whoever sees a question can write it. So an answer may also be
// signed ([Signer.BindAnswer]), with a key that the gateway can check, which
// proves that it comes from the hook, belongs to this id and to exactly these
// bytes of a question, and was not changed on the way:
//
//	{"decision":"allow","webhook_id":"msg_2KWP…","answer_signature":"v1,K5oZ…="}
//
// The signature is made like that of a request, over the text
//
//	answer.ID.HASH.ANSWER
//
// where HASH is the SHA-256 of the question's body in lower-case hexadecimal
// and ANSWER is the answer as it stands without the field answer_signature. That
// field is the last one, with no blank around its comma, colon or brace, so
// that ANSWER is what is left when it is cut out. The word answer keeps the
// signature of an answer from ever being that of a request.
//
// # What holds
//
//   - S1 Signatures are those of Standard Webhooks: the vectors of its own
//     libraries are tests here.
//   - S2 What a verifier accepts was signed with one of its keys, id, time and
//     body as they are, and not longer ago than its tolerance, nor that far
//     ahead.
//   - S3 Comparing takes the same time wherever the difference is.
//   - S4 Every refusal says what was wrong, and none has a secret in it. The
//     zero value of every type refuses.
//   - S5 An answer bound to one question is bound to no other.
//   - S6 Everything here may be used by many goroutines at once.
package signature
