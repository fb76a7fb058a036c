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

// certificate is the main listener's TLS certificate, reread when its files
// change. It is not part of the configuration's digest: replicas may use
// different certificates.
type certificate struct {
	certFile, keyFile string
	pair              atomic.Pointer[tls.Certificate]
}

// loadCertificate reads the certificate; it returns nil if no files are named.
func loadCertificate(certFile, keyFile string) (*certificate, error) {
	if certFile == "" {
		return nil, nil //nolint:nilnil // a nil certificate is plain HTTP, and its methods know
	}
	c := &certificate{certFile: certFile, keyFile: keyFile}
	return c, c.reload()
}

// reload rereads the files. On an error the current certificate stays in use.
func (c *certificate) reload() error {
	if c == nil {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("cannot load the certificate (HOOKGATE_TLS_CERT_FILE, HOOKGATE_TLS_KEY_FILE): %w", err)
	}
	if pair.Leaf == nil { // parsing the pair sets Leaf, unless GODEBUG says otherwise
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return fmt.Errorf("cannot parse the certificate (HOOKGATE_TLS_CERT_FILE): %w", err)
		}
	}
	c.pair.Store(&pair)
	return nil
}

// dirs returns the directories to watch for a renewed certificate.
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

// expiry returns a function that reports when the certificate expires, or nil
// if there is no certificate.
func (c *certificate) expiry() func() time.Time {
	if c == nil {
		return nil
	}
	return func() time.Time { return c.pair.Load().Leaf.NotAfter }
}

// secure configures a server to present the certificate and to request client
// certificates. It does not verify them: a failed handshake gives the caller no
// response, while a refused request gives it a deny with a reason.
func (g *Gateway) secure(s *http.Server) {
	if g.shown == nil {
		return
	}
	s.TLSConfig = &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return g.shown.pair.Load(), nil },
	}
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true) // HTTP/1 only: the gateway's limits are those of HTTP/1
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
