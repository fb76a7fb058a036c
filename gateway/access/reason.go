package access

// Reason is why a request could not be authenticated. The zero Reason belongs
// to a request that was not checked.
type Reason uint8

// The reasons.
const (
	Unidentified Reason = iota
	// Missing is a request without a credential.
	Missing
	// InURL is a credential in the URL, where logs would record it.
	InURL
	// Malformed is an Authorization header that is not exactly one bearer
	// token.
	Malformed
	// Unknown is a token that no caller has.
	Unknown
	// Expired is a token outside its validity period.
	Expired
	// Issuer is a token of an issuer that is not trusted.
	Issuer
	// Audience is a token for another audience.
	Audience
	// Signature is a token with an invalid signature.
	Signature
	// Claims is a valid token whose claims match no caller.
	Claims
	// Certificate is a client certificate that is not trusted or matches no
	// caller.
	Certificate
	// Unavailable is a token whose issuer's keys cannot be fetched.
	Unavailable
)

// Reasons returns every reason but the zero one.
func Reasons() []Reason {
	return []Reason{Missing, InURL, Malformed, Unknown, Expired, Issuer, Audience, Signature, Claims, Certificate, Unavailable}
}

// String returns the reason as a metrics label.
func (r Reason) String() string {
	switch r {
	case Missing:
		return "missing"
	case InURL:
		return "in_url"
	case Malformed:
		return "malformed"
	case Unknown:
		return "unknown"
	case Expired:
		return "expired"
	case Issuer:
		return "issuer"
	case Audience:
		return "audience"
	case Signature:
		return "signature"
	case Claims:
		return "claims"
	case Certificate:
		return "certificate"
	case Unavailable:
		return "unavailable"
	case Unidentified:
	}
	return "unidentified"
}

// Text explains the reason to the caller, with the remedy.
func (r Reason) Text() string {
	switch r {
	case Missing:
		return "it carries no credential: send Authorization: Bearer TOKEN, or a client certificate"
	case InURL:
		return "its token is in the URL, which logs on the way record: send it as Authorization: Bearer TOKEN, and replace that token"
	case Malformed:
		return "its Authorization header is not exactly one bearer token: send Authorization: Bearer TOKEN once"
	case Unknown:
		return "no caller has its token"
	case Expired:
		return "its token has expired or is not valid yet: get a new one, and compare the clocks"
	case Issuer:
		return "the issuer of its token is not trusted here"
	case Audience:
		return "its token is for another audience"
	case Signature:
		return "the signature of its token does not verify with the issuer's keys"
	case Claims:
		return "its token is valid, but no caller in the callers file has its claims"
	case Certificate:
		return "its client certificate is not trusted, or no caller in the callers file has its names"
	case Unavailable:
		return "the keys of its token's issuer cannot be fetched"
	case Unidentified:
	}
	return "it identifies no caller"
}
