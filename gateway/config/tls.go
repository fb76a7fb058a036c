package config

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"
)

// TLS authenticates an https endpoint and the gateway to each other.
type TLS struct {
	// Roots verify the endpoint; nil means the system's roots.
	Roots *x509.CertPool
	// Certificate is the gateway's client certificate; may be nil.
	Certificate *tls.Certificate
	// RootsUntil and CertificateUntil are the earliest expiry of each; zero if
	// there is none.
	RootsUntil, CertificateUntil time.Time
	// ServerName is the name that the endpoint's certificate must have; empty
	// means the host of its URL.
	ServerName string

	// read is the content that the fields were parsed from, for the
	// fingerprint.
	read [][]byte
}

// tls reads the TLS settings. The files are read here, so that they belong to
// the same snapshot as the file that names them.
func (r *reading) tls(v value) *TLS {
	o, ok := r.object(v, "ca_file", "cert_file", "key_file", "server_name")
	if !ok {
		return nil
	}
	t := &TLS{}
	if v, ok := o["ca_file"]; ok {
		if text, ok := r.pem(t, v); ok {
			t.Roots = x509.NewCertPool()
			if !t.Roots.AppendCertsFromPEM(text) {
				r.fail(v, "contains no certificate in PEM format")
			}
			t.RootsUntil = firstEnd(certificatesIn(text))
		}
	}
	if v, ok := o["server_name"]; ok {
		if s, ok := r.filled(v); ok && s == "" {
			r.fail(v, "is empty")
		} else if ok {
			t.ServerName = s
		}
	}
	cert, hasCert := o["cert_file"]
	key, hasKey := o["key_file"]
	switch {
	case hasCert != hasKey:
		r.fail(v, "cert_file and key_file must be set together")
	case hasCert:
		r.pair(t, v, cert, key)
	}
	return t
}

// pair reads a certificate and its key.
func (r *reading) pair(t *TLS, v, cert, key value) {
	certPEM, okCert := r.pem(t, cert)
	keyPEM, okKey := r.pem(t, key)
	if !okCert || !okKey {
		return
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		r.fail(v, "cert_file and key_file do not match: %s", strings.TrimPrefix(err.Error(), "tls: "))
		return
	}
	t.Certificate = &pair
	t.CertificateUntil = firstEnd(pair.Certificate)
}

// certificatesIn returns the certificates in a PEM file, in DER form.
func certificatesIn(text []byte) (all [][]byte) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		if block.Type == "CERTIFICATE" {
			all = append(all, block.Bytes)
		}
	}
}

// firstEnd returns the earliest expiry of some certificates. Unparsable ones
// are skipped, as they are when a pool is built.
func firstEnd(all [][]byte) (first time.Time) {
	for _, der := range all {
		c, err := x509.ParseCertificate(der)
		if err == nil && (first.IsZero() || c.NotAfter.Before(first)) {
			first = c.NotAfter
		}
	}
	return first
}

// pem reads the PEM file that a value names.
func (r *reading) pem(t *TLS, v value) ([]byte, bool) {
	name, ok := r.filled(v)
	if !ok {
		return nil, false
	}
	data, ok := r.named(v, name)
	if ok {
		t.read = append(t.read, data)
	}
	return data, ok
}

// named reads the file that a value names.
func (r *reading) named(v value, name string) ([]byte, bool) {
	if name == "" {
		r.fail(v, "is empty: want the name of a file")
		return nil, false
	}
	data, err := r.fill.read(r.absolute(name))
	if err != nil {
		r.fail(v, "the file %s %v", quote(v.text), err)
		return nil, false
	}
	return data, true
}
