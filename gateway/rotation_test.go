package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// authority signs certificates that contain its name.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T, name string, until time.Time) authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: until, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a := authority{key: newKey(t)}
	a.cert, a.pem = signed(t, template, template, a.key, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func signed(t *testing.T, template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) (*x509.Certificate, string) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// issue returns a certificate for the loopback and its key, in PEM form.
func (a authority) issue(t *testing.T, until time.Time) (certPEM, keyPEM string) {
	t.Helper()
	key := newKey(t)
	_, certPEM = signed(t, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: time.Now().Add(-2 * time.Hour),
		NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, key, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return certPEM, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// volume is a directory that changes like a mounted Secret.
type volume struct {
	t        *testing.T
	dir      string
	revision int
}

// swap replaces the revision.
func (v *volume) swap(texts map[string]string) {
	v.t.Helper()
	link := filepath.Join(v.dir, "..data")
	before, _ := os.Readlink(link) // an error means that there is none yet
	v.revision++
	next := fmt.Sprintf("..revision_%d", v.revision)
	for name, text := range texts {
		write(v.t, filepath.Join(v.dir, next, name), text)
		if before == "" {
			if err := os.Symlink(filepath.Join("..data", name), filepath.Join(v.dir, name)); err != nil {
				v.t.Fatal(err)
			}
		}
	}
	if err := errors.Join(os.Symlink(next, link+"_tmp"), os.Rename(link+"_tmp", link)); err != nil {
		v.t.Fatal(err)
	}
	if before != "" {
		if err := os.RemoveAll(filepath.Join(v.dir, before)); err != nil {
			v.t.Fatal(err)
		}
	}
}

// generation holds the credentials of both sides at one time.
type generation struct {
	token              string
	servers, clients   authority
	clientPEM, keyPEM  string
	serving            tls.Certificate
	arrived, forbidden atomic.Bool // set by the hook
}

func newGeneration(t *testing.T, n int) *generation {
	t.Helper()
	until := time.Now().Add(time.Duration(n+1) * time.Hour)
	g := &generation{
		token:   fmt.Sprintf("%s-%d", canary, n),
		servers: newAuthority(t, fmt.Sprint("servers ", n), until), clients: newAuthority(t, fmt.Sprint("clients ", n), until),
	}
	g.clientPEM, g.keyPEM = g.clients.issue(t, until)
	certPEM, keyPEM := g.servers.issue(t, until)
	var err error
	if g.serving, err = tls.X509KeyPair([]byte(certPEM), []byte(keyPEM)); err != nil {
		t.Fatal(err)
	}
	return g
}

// mutual is a hook with generations of credentials. It accepts a request whose
// token and client certificate belong to a generation that is not forbidden.
type mutual struct {
	*httptest.Server
	generations []*generation
	serving     atomic.Int64 // the generation of its server certificate
}

func newMutual(t *testing.T, generations []*generation, http2 bool) *mutual {
	t.Helper()
	m := &mutual{generations: generations}
	clients := x509.NewCertPool()
	for _, g := range generations {
		clients.AddCert(g.clients.cert)
	}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, g := range generations {
			if r.Header.Get("Authorization") == "Bearer "+g.token && r.TLS.PeerCertificates[0].Issuer.CommonName == g.clients.cert.Subject.CommonName && !g.forbidden.Load() {
				g.arrived.Store(true)
				_, _ = io.WriteString(w, `{"decision":"allow"}`)
				return
			}
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	m.EnableHTTP2 = http2
	protocols := []string{"http/1.1"}
	if http2 {
		protocols = []string{"h2", "http/1.1"}
	}
	m.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{
				MinVersion: tls.VersionTLS12, NextProtos: protocols, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
				Certificates: []tls.Certificate{generations[m.serving.Load()].serving},
			}, nil
		},
	}
	m.StartTLS()
	t.Cleanup(m.Close)
	return m
}

func TestG5_RotatingTheClientCertificateAndTheBearerFileUnderLoadLosesNoDecision(t *testing.T) {
	for name, http2 := range map[string]bool{"over HTTP/1.1": false, "over HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			generations := []*generation{newGeneration(t, 0), newGeneration(t, 1), newGeneration(t, 2)}
			hook := newMutual(t, generations, http2)
			dir := files(t, map[string]string{"hooks.yaml": fmt.Sprintf(`schema: 1
hooks:
  - name: h
    url: %s
    timeout_ms: 20000
    breaker: {consecutive_failures: 1}
    auth: {bearer: "${file:secrets/token}"}
    tls: {ca_file: secrets/ca.pem, cert_file: secrets/client.pem, key_file: secrets/client.key}
`, hook.URL)})
			secrets := &volume{t: t, dir: filepath.Join(dir, "secrets")}
			of := func(before, g *generation) map[string]string {
				return map[string]string{"token": g.token + "\n", "client.pem": g.clientPEM, "client.key": g.keyPEM, "ca.pem": before.servers.pem + g.servers.pem}
			}
			secrets.swap(of(generations[0], generations[0]))
			decisions := &syncBuffer{}
			r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ReloadInterval: 50 * time.Millisecond, DecisionLog: decisions})

			load := newLoad(r, 4)
			for n := range generations[1:] {
				before, next := generations[n], generations[n+1]
				load.goOn(t)
				secrets.swap(of(before, next))
				eventually(t, "the hook is asked with the next secrets", next.arrived.Load)
				load.goOn(t) // until no call that started with the old ones remains
				before.forbidden.Store(true)
				hook.serving.Store(int64(n + 1))
			}
			load.goOn(t)
			asked := load.stop()
			for _, lost := range load.lost() {
				t.Error(lost)
			}
			if asked == 0 {
				t.Error("nobody asked")
			}
			for _, cause := range []string{"status", "tls", "reset", "connect", "auth", "timeout", "malformed", "breaker_open"} {
				r.wantMetric(fmt.Sprintf(`hookgate_hook_failures_total{binding="webhook",cause=%q,hook="h"}`, cause), "0")
			}
			// The entry has kept its state.
			if body := r.do(http.MethodGet, r.base+"/v1/hooks", "").body; !strings.Contains(body, fmt.Sprintf(`"allow":%d,`, asked)) {
				t.Errorf("after %d decisions the hooks are %s", asked, body)
			}
			// The gauges are about the files in force. The CA bundle still
			// contains the previous CA, which expires first.
			latest := generations[len(generations)-1]
			block, _ := pem.Decode([]byte(latest.clientPEM))
			leaf, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			r.wantMetric(`hookgate_certificate_expiry_timestamp_seconds{certificate="client",hook="h"}`, seconds(leaf.NotAfter))
			r.wantMetric(`hookgate_certificate_expiry_timestamp_seconds{certificate="ca",hook="h"}`, seconds(generations[len(generations)-2].servers.cert.NotAfter))
			wantSilence(t, r, decisions, nil)
		})
	}
}

// seconds formats a time as a metric's value.
func seconds(t time.Time) string { return strconv.FormatFloat(float64(t.Unix()), 'g', -1, 64) }

// load is a set of callers that send one call after the other.
type load struct {
	answered []atomic.Int64
	ending   chan struct{}
	callers  sync.WaitGroup
	mu       sync.Mutex
	refusals []string
}

func newLoad(r *running, callers int) *load {
	l := &load{answered: make([]atomic.Int64, callers), ending: make(chan struct{})}
	for i := range callers {
		l.callers.Go(func() {
			for {
				select {
				case <-l.ending:
					return
				default:
				}
				if said := r.quietly(); said != `{"decision":"allow"}` {
					l.mu.Lock()
					l.refusals = append(l.refusals, said)
					l.mu.Unlock()
				}
				l.answered[i].Add(1)
			}
		})
	}
	return l
}

// quietly sends a call; unlike decide it can be used on any goroutine.
func (r *running) quietly() string {
	response, err := r.client.Post(r.base+"/v1/decide", "application/json", strings.NewReader(preText))
	if err != nil {
		return err.Error()
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(body))
}

// goOn returns when every caller has received two more answers. All but the first
// belong to calls that started after goOn was called.
func (l *load) goOn(t *testing.T) {
	t.Helper()
	for i := range l.answered {
		before := l.answered[i].Load()
		eventually(t, "callers go on", func() bool { return l.answered[i].Load() >= before+2 })
	}
}

// stop ends the load and returns the number of answers.
func (l *load) stop() (all int64) {
	close(l.ending)
	l.callers.Wait()
	for i := range l.answered {
		all += l.answered[i].Load()
	}
	return all
}

func (l *load) lost() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusals
}

func TestG5_SecretsThatAreReplacedLeaveTheBreakerOpen(t *testing.T) {
	hook := newHookServer(t, fails(http.StatusServiceUnavailable))
	dir := files(t, map[string]string{
		"hooks.yaml": fmt.Sprintf("schema: 1\nhooks:\n  - {name: h, url: %q, auth: {bearer: \"${file:secret}\"}, breaker: {consecutive_failures: 1}}\n", hook.URL), "secret": "one",
	})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ReloadInterval: time.Hour})
	r.decide("", preText)
	r.wantMetric(`hookgate_breaker_state{hook="h",state="open"}`, "1")
	write(t, dir+"/secret", "two")
	r.reload()
	r.wantMetric(`hookgate_breaker_state{hook="h",state="open"}`, "1")
	if _, reason := r.decide("", preText); hook.asked() != 1 || !strings.Contains(reason, "breaker") {
		t.Errorf("asked %d times: %s", hook.asked(), reason)
	}
}

func TestG5_ATokenOutlastsTheReplacementOfOtherSecrets(t *testing.T) {
	p := platforms()["oauth2"](t)
	hook := p.hook()
	dir := files(t, map[string]string{
		"hooks.yaml": fmt.Sprintf("schema: 1\nhooks:\n  - {name: h, url: %q, auth: %s, headers: {X-Key: \"${file:key}\"}}\n", hook.URL, p.auth),
		"secret":     canary, "key": "one",
	})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ReloadInterval: time.Hour})
	for i, key := range []string{"one", "two", "three"} {
		write(t, dir+"/key", key)
		r.reload()
		if decision, reason := r.decide("", preText); decision != "allow" {
			t.Errorf("with key %s: %s", key, reason)
		}
		if len(p.issued) != 1 {
			t.Errorf("%d tokens were issued for %d keys", len(p.issued), i+1)
		}
	}
	write(t, dir+"/secret", "another")
	r.reload()
	if decision, reason := r.decide("", preText); decision != "deny" || !strings.Contains(reason, "its credential could not be obtained") {
		t.Errorf("with another secret: %s: %s", decision, reason)
	}
}
