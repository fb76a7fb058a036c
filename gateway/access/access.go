package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options configure an [Access].
type Options struct {
	Rules Rules
	// Before is the previous access, whose counts and keys are kept if they
	// still apply. May be nil.
	Before *Access
	// Logger receives the operator's log.
	Logger *slog.Logger
}

// Access authenticates callers. It is safe for concurrent use.
type Access struct {
	rules   Rules
	callers []*Caller
	byName  map[string]*Caller
	// tokens maps the blinded hashes of tokens to their callers (A4).
	tokens  map[[sha256.Size]byte]held
	blind   []byte
	issuers map[string]*issuer // by the issuer URL in tokens
	life    *life
}

// held is a known token and the caller that holds it.
type held struct {
	caller  *Caller
	expires time.Time
}

// life is shared by an access and all its successors.
type life struct {
	ctx     context.Context //nolint:containedctx // scoped to the gateway, not to a call
	end     context.CancelFunc
	fetches sync.WaitGroup
}

// New returns an access, or every reason why the rules are invalid. It starts
// no goroutines.
func New(o Options) (*Access, error) {
	if err := o.Rules.check(); err != nil {
		return nil, err
	}
	a := &Access{
		rules: o.Rules, byName: map[string]*Caller{}, tokens: map[[sha256.Size]byte]held{},
		blind: make([]byte, sha256.Size), issuers: map[string]*issuer{},
	}
	_, _ = rand.Read(a.blind) // never fails: the process would crash instead
	before := o.Before
	if before == nil {
		before = &Access{life: &life{}}
		before.life.ctx, before.life.end = context.WithCancel(context.Background())
	}
	a.life = before.life
	for _, i := range o.Rules.Issuers {
		a.issuers[i.URL] = newIssuer(i, before.issuers[i.URL], a.life, o.Logger)
	}
	for _, rule := range o.Rules.Callers {
		c := newCaller(rule, before.byName[rule.Name])
		a.callers, a.byName[rule.Name] = append(a.callers, c), c
		for _, t := range rule.Tokens {
			a.tokens[a.blinded(t.SHA256)] = held{caller: c, expires: t.Expires}
		}
	}
	return a, nil
}

// Close cancels the key fetches of this access and its predecessors, and waits
// for them.
func (a *Access) Close() {
	a.life.end()
	a.life.fetches.Wait()
}

// Callers returns all callers, in the order of the rules.
func (a *Access) Callers() []*Caller { return a.callers }

// blinded returns the key under which the hash of a token is stored: an HMAC
// with a random key. Someone who does not know that key learns nothing about
// the stored hashes from the duration of a lookup.
func (a *Access) blinded(hash [sha256.Size]byte) [sha256.Size]byte {
	mac := hmac.New(sha256.New, a.blind)
	_, _ = mac.Write(hash[:]) // hash.Hash.Write never fails
	return [sha256.Size]byte(mac.Sum(nil))
}

// longestToken is the longest bearer token that is checked, in bytes.
const longestToken = 16 << 10

// Identify returns the caller that sent a request, or the reason why there is
// none. A bearer token takes precedence over a certificate, and a refused token
// is final (A1).
func (a *Access) Identify(r *http.Request) (*Caller, Reason) {
	headers := r.Header.Values("Authorization")
	switch {
	case len(headers) > 1:
		return nil, Malformed
	case len(headers) == 1:
		scheme, token, ok := strings.Cut(headers[0], " ")
		if !ok || !strings.EqualFold(scheme, "Bearer") || !isToken(token) {
			return nil, Malformed
		}
		return a.byToken(r.Context(), token)
	case r.TLS != nil && len(r.TLS.PeerCertificates) > 0:
		return a.byCertificate(r.Context(), r.TLS.PeerCertificates)
	case tokenInURL(r):
		return nil, InURL
	}
	return nil, Missing
}

// isToken reports whether s has the syntax of a bearer token (RFC 6750).
func isToken(s string) bool {
	const more = "-._~+/="
	for _, c := range []byte(s) {
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alphanumeric && !strings.ContainsRune(more, rune(c)) {
			return false
		}
	}
	return s != "" && len(s) <= longestToken
}

// tokenInURL reports whether a query parameter looks like a token.
func tokenInURL(r *http.Request) bool {
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, _, _ := strings.Cut(strings.ToLower(pair), "=")
		if name == "access_token" || name == "token" || name == "authorization" {
			return true
		}
	}
	return false
}

// byToken finds the caller of a bearer token.
func (a *Access) byToken(ctx context.Context, token string) (*Caller, Reason) {
	h, known := a.tokens[a.blinded(sha256.Sum256([]byte(token)))]
	switch {
	case known && !h.expires.IsZero() && !time.Now().Before(h.expires):
		return nil, Expired
	case known:
		return h.caller, Unidentified
	case len(a.issuers) > 0 && strings.Count(token, ".") == 2:
		return a.byIssued(ctx, token)
	}
	return nil, Unknown
}

// check returns every mistake in the rules.
func (r *Rules) check() error {
	var errs []error
	names, issuers, urls := map[string]bool{}, map[string]bool{}, map[string]bool{}
	hashes := map[[sha256.Size]byte]string{}
	for _, i := range r.Issuers {
		if i.Name == "" || i.URL == "" || len(i.Audiences) == 0 {
			errs = append(errs, fmt.Errorf("access: issuer %q needs a name, a URL and an audience", i.Name))
		}
		if issuers[i.Name] || urls[i.URL] {
			errs = append(errs, fmt.Errorf("access: duplicate issuer %q", i.Name))
		}
		issuers[i.Name], urls[i.URL] = true, true
	}
	for _, c := range r.Callers {
		if c.Name == "" || names[c.Name] {
			errs = append(errs, fmt.Errorf("access: caller %q has no name, or the name of another caller", c.Name))
		}
		names[c.Name] = true
		for _, t := range c.Tokens {
			if other, twice := hashes[t.SHA256]; twice {
				errs = append(errs, fmt.Errorf("access: callers %q and %q have the same token", other, c.Name))
			}
			hashes[t.SHA256] = c.Name
		}
		for _, claimed := range c.Claims {
			if !issuers[claimed.Issuer] || len(claimed.Claims) == 0 {
				errs = append(errs, fmt.Errorf("access: caller %q: tokens need an issuer that is declared, and a claim", c.Name))
			}
		}
		if c.Rate != nil && (c.Rate.PerSecond <= 0 || c.Rate.Burst <= 0) {
			errs = append(errs, fmt.Errorf("access: caller %q: the rate must be positive", c.Name))
		}
	}
	return errors.Join(errs...)
}
