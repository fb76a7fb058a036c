package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"testing"
	"time"
)

// keyPair returns a self-signed certificate and its key, in PEM form.
func keyPair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	encoded := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return encoded("CERTIFICATE", der), encoded("PRIVATE KEY", keyDER)
}

func TestTLS_TheFilesThatAreNamedAreReadAndChecked(t *testing.T) {
	dir := t.TempDir()
	cert, key := keyPair(t)
	_, otherKey := keyPair(t)
	write(t, dir, map[string]string{
		"pki/ca.pem": cert, "pki/c.pem": cert, "pki/k.pem": key, "pki/other.pem": otherKey,
		"hooks.yaml": `
schema: 1
hooks:
  - name: a
    url: https://h
    tls: {ca_file: "${PKI}/ca.pem", cert_file: pki/c.pem, key_file: "${PKI}/k.pem", server_name: "${NAME}"}
`,
		"bad.yaml": `
schema: 1
hooks:
  - name: a
    url: https://h
    tls: {cert_file: pki/c.pem, key_file: pki/other.pem}
`,
	})
	o := Options{
		ConfigFile: filepath.Join(dir, "hooks.yaml"),
		LookupEnv:  lookup(map[string]string{"PKI": filepath.Join(dir, "pki"), "NAME": "n.internal"}),
	}
	set := loaded(t, o)
	got := set.Operator.Hooks[0].Webhook.TLS
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(cert))
	if !got.Roots.Equal(roots) || got.Certificate == nil || got.Certificate.PrivateKey == nil || got.ServerName != "n.internal" {
		t.Errorf("TLS = %+v", got)
	}
	same(t, "directories", []string{dir, filepath.Join(dir, "pki")}, set.Dirs())
	if end := got.CertificateUntil; end.IsZero() || !end.Equal(got.Certificate.Leaf.NotAfter) || !end.Equal(got.RootsUntil) {
		t.Errorf("the certificate ends at %v, the authority at %v, want both at %v", end, got.RootsUntil, got.Certificate.Leaf.NotAfter)
	}

	o.ConfigFile = filepath.Join(dir, "bad.yaml")
	set, err := Load(o)
	same(t, "messages", []string{
		`bad.yaml:6: hooks[0] "a": tls: cert_file and key_file do not match: private key does not match public key`,
	}, refused(t, dir, set, err))
}
