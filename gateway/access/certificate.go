package access

import (
	"context"
	"crypto/x509"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// trustKey is where the context of a connection carries its trust.
type trustKey struct{}

// trust is when, and by whom, the certificate of a connection was found good.
// A connection outlives reloads and certificates.
type trust struct{ last atomic.Pointer[verified] }

type verified struct {
	pool *x509.CertPool
	at   time.Time
}

// verifiedFor is how long a certificate that was found good is not looked at
// again.
const verifiedFor = time.Minute

// ConnContext is for [http.Server]: it remembers with a connection that its
// certificate was verified.
func ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, trustKey{}, &trust{})
}

// byCertificate finds the caller of a client certificate. The handshake proved
// that the client has its key, and nothing else: who signed it is verified
// here, by the rules in force, and not by those of the time of the handshake.
func (a *Access) byCertificate(ctx context.Context, certificates []*x509.Certificate) (*Caller, Reason) {
	leaf, now := certificates[0], time.Now()
	if a.rules.ClientCAs == nil || !a.trusts(ctx, certificates, now) || now.After(leaf.NotAfter) {
		return nil, Certificate
	}
	var spiffe string
	if len(leaf.URIs) == 1 && leaf.URIs[0].Scheme == "spiffe" { // more than one is no SPIFFE ID
		spiffe = leaf.URIs[0].String()
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
