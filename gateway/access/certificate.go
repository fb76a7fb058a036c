package access

import (
	"context"
	"crypto/x509"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// trustKey is the context key of a connection's trust.
type trustKey struct{}

// trust caches when a connection's client certificate was last verified, and
// against which CAs: a connection can outlive the rules and the certificate.
type trust struct{ last atomic.Pointer[verified] }

type verified struct {
	pool *x509.CertPool
	at   time.Time
}

// verifiedFor is how long a verified certificate is trusted without verifying
// it again.
const verifiedFor = time.Minute

// ConnContext is an [http.Server.ConnContext] that lets a connection cache the
// verification of its certificate.
func ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, trustKey{}, &trust{})
}

// byCertificate finds the caller of a client certificate. The handshake proved
// only that the client holds the private key. The chain is verified here, by
// the rules in force and not by those at the time of the handshake.
func (a *Access) byCertificate(ctx context.Context, certificates []*x509.Certificate) (*Caller, Reason) {
	leaf, now := certificates[0], time.Now()
	if a.rules.ClientCAs == nil || !a.trusts(ctx, certificates, now) || now.After(leaf.NotAfter) {
		return nil, Certificate
	}
	var spiffe string
	if len(leaf.URIs) == 1 { // a SPIFFE certificate has no second URI
		spiffe = spiffeID(leaf.URIs[0])
	}
	for _, c := range a.callers {
		if spiffe != "" && matches(c.rule.SPIFFEIDs, spiffe) {
			return c, Unidentified
		}
		if slices.ContainsFunc(leaf.DNSNames, func(name string) bool { return matches(c.rule.DNSNames, name) }) {
			return c, Unidentified
		}
	}
	return nil, Certificate
}

// spiffeID returns the text of a URI, or empty if it is not a SPIFFE ID. In
// other URIs, what a pattern matches need not be what the URI names:
// spiffe://example.org/agents/../admin, or one with a query.
func spiffeID(u *url.URL) string {
	text := u.String()
	domain, path, _ := strings.Cut(strings.TrimPrefix(text, "spiffe://"), "/")
	if u.Scheme != "spiffe" || !strings.HasPrefix(text, "spiffe://") || !isSPIFFE(domain, "") {
		return ""
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." || !isSPIFFE(segment, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return ""
		}
	}
	return text
}

// isSPIFFE reports whether text is a part of a SPIFFE ID: a trust domain, or,
// with the capital letters, a segment of the path.
func isSPIFFE(text, more string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-_"+more, c)
	})
}

func (a *Access) trusts(ctx context.Context, certificates []*x509.Certificate, now time.Time) bool {
	t, _ := ctx.Value(trustKey{}).(*trust)
	if t != nil {
		if last := t.last.Load(); last != nil && last.pool == a.rules.ClientCAs && now.Sub(last.at) < verifiedFor {
			return true
		}
	}
	between := x509.NewCertPool()
	for _, c := range certificates[1:] {
		between.AddCert(c)
	}
	if _, err := certificates[0].Verify(x509.VerifyOptions{
		Roots: a.rules.ClientCAs, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return false
	}
	if t != nil {
		t.last.Store(&verified{pool: a.rules.ClientCAs, at: now})
	}
	return true
}

func matches(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return chain.MatchTool(pattern, text) })
}
