package config

import "strings"

// AnswerBinding is how an answer must prove which call it belongs to.
type AnswerBinding int

const (
	// Unbound answers need no proof.
	Unbound AnswerBinding = iota
	// ByID requires answers that repeat the call's id.
	ByID
	// BySignature requires answers that are signed together with the call.
	BySignature
)

// privateKey is the prefix of asymmetric signing keys, which the other side
// verifies with a public key.
const privateKey = "whsk_"

// bindAnswers reads true, false or signed. Signed answers use the same shared
// secrets as the calls.
func (r *reading) bindAnswers(v value, shared bool) AnswerBinding {
	const signed = "signed"
	switch {
	case v.kind == text && v.text == signed:
		if !shared {
			r.fail(v, "signed answers need a shared secret (whsec_…) in signing, and this entry has none")
		}
		return BySignature
	case v.kind == boolean:
		if b, _ := r.boolean(v); b {
			return ByID
		}
	default:
		r.want(v, "true, false or "+signed)
	}
	return Unbound
}

// IsSharedSecret reports whether a signing key is symmetric, that is, known to
// both sides.
func IsSharedSecret(key string) bool { return !strings.HasPrefix(key, privateKey) }
