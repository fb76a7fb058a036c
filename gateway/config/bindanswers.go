package config

import "strings"

// AnswerBinding is how answers have to show which call they are to.
type AnswerBinding int

const (
	// Unbound answers need not show it.
	Unbound AnswerBinding = iota
	// ByID takes the answers that repeat the call's id.
	ByID
	// BySignature takes the answers that are signed together with the call.
	BySignature
)

// privateKey is how keys begin whose signatures only the other half checks.
const privateKey = "whsk_"

// bindAnswers reads true, false or signed. Answers are signed with the secrets
// that calls are signed with.
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

// IsSharedSecret reports whether a signing key is known to both sides.
func IsSharedSecret(key string) bool { return !strings.HasPrefix(key, privateKey) }
