package gateway

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/gateway/access"
)

// certificate is what the main listener shows, read again as it is renewed. It
// is no part of the configuration's digest: replicas may have one each.
type certificate struct {
	certFile, keyFile string
	pair              atomic.Pointer[tls.Certificate]
}

// loadCertificate returns nil where no files are named.
func loadCertificate(certFile, keyFile string) (*certificate, error) {
	if certFile == "" {
		return nil, nil //nolint:nilnil // a nil certificate is plain HTTP, and its methods know
	}
	c := &certificate{certFile: certFile, keyFile: keyFile}
	return c, c.reload()
}

// reload takes up what the files hold now. What is wrong with them leaves the
// certificate as it was.
func (c *certificate) reload() error {
	if c == nil {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("the certificate (HOOKGATE_TLS_CERT_FILE, HOOKGATE_TLS_KEY_FILE): %w", err)
	}
	if pair.Leaf == nil { // unless GODEBUG says so, reading the pair parses it
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return fmt.Errorf("the certificate (HOOKGATE_TLS_CERT_FILE): %w", err)
		}
	}
	c.pair.Store(&pair)
	return nil
}

// dirs are the directories in which a renewal happens.
func (c *certificate) dirs() []string {
	if c == nil {
		return nil
	}
	var all []string
	for _, file := range []string{c.certFile, c.keyFile} {
		if path, err := filepath.Abs(file); err == nil {
			all = append(all, filepath.Dir(path))
		}
	}
	return slices.Compact(all)
}

// expiry tells when the certificate is no longer good; nil where there is none.
func (c *certificate) expiry() func() time.Time {
	if c == nil {
		return nil
	}
	return func() time.Time { return c.pair.Load().Leaf.NotAfter }
}

// secure has a server show the certificate and ask callers for theirs. It does
// not judge them: a handshake that fails is nobody's answer, a request that is
// refused is a deny with a reason.
func (g *Gateway) secure(s *http.Server) {
	if g.shown == nil {
		return
	}
	s.TLSConfig = &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return g.shown.pair.Load(), nil },
	}
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true) // whose limits are those that this gateway promises
	if g.options.CallersFile != "" {
		s.TLSConfig.ClientAuth = tls.RequestClientCert
		s.ConnContext = access.ConnContext
	}
}

func (g *Gateway) serveMain(s *http.Server, l net.Listener) error {
	if g.shown == nil {
		return s.Serve(l)
	}
	return s.ServeTLS(l, "", "")
}
