package access

import (
	"crypto/sha256"
	"crypto/x509"
	"net/url"
	"time"
)

// Rules define the callers. The zero Rules admit nobody.
type Rules struct {
	// Callers are checked in this order: if a token or certificate matches two
	// of them, the first one wins.
	Callers []Rule
	// Issuers are the trusted issuers of tokens.
	Issuers []Issued
	// ClientCAs are the roots for client certificates; nil trusts none.
	ClientCAs *x509.CertPool
}

// Rule is one caller: its credentials and its permissions.
type Rule struct {
	// Name is the caller's name in records and metrics.
	Name string
	// Chains are the chains that it may use: names with * as a glob.
	Chains []string
	// Scopes are what it may do with them.
	Scopes Scope
	// Tokens are the bearer tokens that identify it.
	Tokens []Token
	// Claims select the issuers' tokens that identify it: any of them suffices.
	Claims []Claimed
	// SPIFFEIDs and DNSNames are the names in client certificates that identify
	// it: any of them suffices, with * as a glob.
	SPIFFEIDs, DNSNames []string
	// Rate limits its requests; nil means no limit.
	Rate *Rate
	// MaxInFlight limits its concurrent requests; 0 means no limit.
	MaxInFlight int
}

// Token is a bearer token, known only by its hash.
type Token struct {
	SHA256 [sha256.Size]byte
	// Expires is when the token becomes invalid; zero means never.
	Expires time.Time
}

// Claimed selects the tokens of an issuer that have all of the claims.
type Claimed struct {
	// Issuer is the name of one of the issuers.
	Issuer string
	// Claims must not be empty.
	Claims []Claim
}

// Claim is one required claim. A list matches if one of its items does.
type Claim struct {
	// Path is the path to the claim, one name per level.
	Path []string
	// Pattern is the required text, with * as a glob.
	Pattern string
}

// Rate is a limit in requests per second with a burst above it.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Issued is an issuer of tokens.
type Issued struct {
	// Name is how callers' entries refer to it.
	Name string
	// URL is the issuer in its tokens' iss claim. Its keys are found by OpenID
	// Connect discovery below this URL.
	URL string
	// Discovery overrides the URL of the discovery document; nil derives it
	// from URL.
	Discovery *url.URL
	// Audiences are the accepted aud claims: any of them suffices.
	Audiences []string
	// Roots verify the issuer's TLS certificate; nil means the system's roots.
	Roots *x509.CertPool
	// RootsPEM is the PEM text that Roots was parsed from.
	RootsPEM []byte
	// TokenFile holds a bearer token for the requests to the issuer; empty
	// means none. The file is read for each request.
	TokenFile string
}
