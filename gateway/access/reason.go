package access

// Reason is why nobody is known by a request. The zero Reason is that of a
// request that was not looked at.
type Reason uint8

// The reasons.
const (
	Unidentified Reason = iota
	// Missing is a request without a credential.
	Missing
	// InURL is one whose credential stands in its address, where logs see it.
	InURL
	// Malformed is an Authorization header that is not one bearer token.
	Malformed
	// Unknown is a token that no caller has.
	Unknown
	// Expired is a token whose time is over, or has not come.
	Expired
	// Issuer is a token of an issuer that is not trusted.
	Issuer
	// Audience is a token that was made for somebody else.
	Audience
	// Signature is a token that its issuer did not sign.
	Signature
	// Claims is a good token that is no caller's.
	Claims
	// Certificate is a client certificate that is not trusted, or no caller's.
	Certificate
	// Unavailable is a token whose issuer cannot be asked for its keys.
	Unavailable
)

// Reasons returns every reason but the zero one.
func Reasons() []Reason {
	return []Reason{Missing, InURL, Malformed, Unknown, Expired, Issuer, Audience, Signature, Claims, Certificate, Unavailable}
}

// String returns the reason as it stands in labels.
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

// Text says the reason to the caller, and what to do.
func (r Reason) Text() string {
	switch r {
	case Missing:
		return "it carries no credential: send Authorization: Bearer TOKEN, or a client certificate"
	case InURL:
		return "its token stands in the address, where every log on the way keeps it: send it as Authorization: Bearer TOKEN, and replace that token"
	case Malformed:
		return "its Authorization is not exactly one bearer token: send Authorization: Bearer TOKEN once"
	case Unknown:
		return "no caller has its token"
	case Expired:
		return "its token is not valid at this time: get a new one, and compare the clocks"
	case Issuer:
		return "the issuer of its token is not trusted here"
	case Audience:
		return "its token was made for another audience"
	case Signature:
		return "the signature of its token is not that of the issuer"
	case Claims:
		return "its token is good, but no caller is declared for its claims"
	case Certificate:
		return "its client certificate is not trusted, or no caller is declared for its names"
	case Unavailable:
		return "the issuer of its token cannot be asked for its keys"
	case Unidentified:
	}
	return "nobody is known by it"
}
