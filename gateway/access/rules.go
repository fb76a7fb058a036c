package access

import (
	"crypto/sha256"
	"crypto/x509"
	"net/url"
	"time"
)

// Rules are who may call. The zero Rules let nobody in.
type Rules struct {
	// Callers in the order in which they are looked for: a token or certificate
	// that two of them are declared for is the first one's.
	Callers []Rule
	// Issuers are whose tokens are trusted.
	Issuers []Issued
	// ClientCAs sign the certificates of callers; nil trusts none.
	ClientCAs *x509.CertPool
}

// Rule is one caller: how it is known, and what it may do.
type Rule struct {
	// Name is the caller's name in records and metrics.
	Name string
	// Chains are those it reaches: names in which * stands for any text.
	Chains []string
	// Scopes are what it may do there.
	Scopes Scope
	// Tokens are the bearer tokens it may show.
	Tokens []Token
	// Claims are the tokens of issuers by which it is known: any of them.
	Claims []Claimed
	// SPIFFEIDs and DNSNames are the names in client certificates by which it
	// is known: any of them, and in each * stands for any text.
	SPIFFEIDs, DNSNames []string
	// Rate bounds its requests; nil does not.
	Rate *Rate
	// MaxInFlight bounds its requests at once; 0 does not.
	MaxInFlight int
}

// Token is a bearer token, of which only a hash is known.
type Token struct {
	SHA256 [sha256.Size]byte
	// Expires is when it is no longer good; zero is never.
	Expires time.Time
}

// Claimed says which tokens of an issuer are a caller's: those that have every
// claim.
type Claimed struct {
	// Issuer is the name of one of the issuers.
	Issuer string
	// Claims is at least one claim.
	Claims []Claim
}

// Claim is what a token has to say in one place. Of a list, one item has to
// say it.
type Claim struct {
	// Path leads to the claim, one name a level.
	Path []string
	// Pattern is its text, in which * stands for any text.
	Pattern string
}

// Rate is a number of requests in a second, and how many at once above it.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Issued is an issuer of tokens.
type Issued struct {
	// Name is what callers' entries call it.
	Name string
	// URL is the issuer as its tokens name it. Its keys are found by the OpenID
	// Connect discovery beneath it.
	URL string
	// Discovery is where that is asked for; nil is at the URL.
	Discovery *url.URL
	// Audiences are whom its tokens have to be made for: any of them.
	Audiences []string
	// Roots are who signs its certificate; nil is whom the system trusts.
	Roots *x509.CertPool
	// RootsPEM is what Roots was made of.
	RootsPEM []byte
	// TokenFile holds a bearer token that the issuer wants to see before it
	// shows its keys; empty is none. It is read each time.
	TokenFile string
}
