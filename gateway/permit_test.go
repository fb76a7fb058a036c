package gateway

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/gateway/access"
)

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func bearer(token string) func(*http.Request) { return header("Authorization", "Bearer "+token) }

// guarded returns the options of a gateway with two tenants' chains and three
// callers: alice, who may decide in team-a, bob, who may do everything in
// team-b, and carol, who may read everywhere.
func guarded(t *testing.T, more string) (Options, string) {
	t.Helper()
	dir := files(t, map[string]string{
		"hooks.yaml":         "schema: 1\nhooks: []\n",
		"chains/team-a.yaml": "schema: 1\nhooks: []\n",
		"chains/team-b.yaml": "schema: 1\nhooks: [{name: guard, " + self(t, "says", "GATEWAY_TEST_ANSWER", `{"decision":"deny","reason":"b"}`) + "}]\n",
		"callers.yaml": `
schema: 1
callers:
  - {name: alice, chains: [team-a], scopes: [decide], tokens: [{sha256: ` + tokenHash("alice-new") + `}, {sha256: ` + tokenHash("alice-old") + `}]` + more + `}
  - {name: bob, chains: [team-b], scopes: [decide, read, turns, approve], tokens: [{sha256: ` + tokenHash("bob") + `}]}
  - {name: carol, chains: ["*"], scopes: [read], tokens: [{sha256: ` + tokenHash("carol") + `}]}
`,
	})
	return Options{
		ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: filepath.Join(dir, "chains"), CallersFile: filepath.Join(dir, "callers.yaml"),
	}, dir
}

// wantRefusal checks that a response has the given status and is both a problem
// and a deny.
func wantRefusal(t *testing.T, got reply, status int, detail string) {
	t.Helper()
	var p struct {
		Status           int
		Detail, Decision string
	}
	if err := json.Unmarshal([]byte(got.body), &p); err != nil {
		t.Fatalf("%v in %s", err, got.body)
	}
	if got.status != status || p.Status != status || p.Decision != "deny" || !strings.Contains(p.Detail, detail) {
		t.Errorf("status %d: %s\nwant %d: %s", got.status, got.body, status, detail)
	}
}

func TestG11_ACallerReachesItsChainsAndNothingElse(t *testing.T) {
	o, _ := guarded(t, "")
	r := start(t, o)
	decide := func(chain, token string) reply { return r.do(http.MethodPost, r.base+chain, preText, bearer(token)) }
	const a, b, operator = "/v1/chains/team-a/decide", "/v1/chains/team-b/decide", "/v1/decide"
	for _, token := range []string{"alice-old", "alice-new"} {
		if got := decide(a, token); got.status != http.StatusOK || got.body != `{"decision":"allow"}` {
			t.Errorf("%s: %+v", token, got)
		}
	}
	if got := decide(b, "bob"); got.status != http.StatusOK || !strings.Contains(got.body, "denied by hook 'guard': b") {
		t.Errorf("%+v", got)
	}
	for _, path := range []string{b, operator, "/v1/chains/operator/decide", "/v1/chains/nobody/decide", "/v1/chains/Team-a/decide"} {
		wantRefusal(t, decide(path, "alice-new"), http.StatusForbidden, `caller "alice" may not use this chain, or there is no chain of that name`)
	}
	wantRefusal(t, decide(a, "carol"), http.StatusForbidden, `caller "carol" may not do this: it needs the scope decide in the callers file`)
	wantRefusal(t, r.do(http.MethodPost, r.base+"/v1/turns", "{}", bearer("alice-new")), http.StatusForbidden, "it needs the scope turns")
	wantRefusal(t, r.do(http.MethodGet, r.base+"/v1/hooks", "", bearer("alice-new")), http.StatusForbidden, "it needs the scope read")
	wantRefusal(t, r.do(http.MethodGet, r.base+"/v1/decisions", ""), http.StatusUnauthorized, "it carries no credential")
	if got := r.do(http.MethodGet, r.base+"/openapi.yaml", ""); got.status != http.StatusOK {
		t.Errorf("the description: %d", got.status)
	}
	r.wantMetric(`hookgate_caller_requests_total{caller="alice",result="admitted"}`, "2")
	r.wantMetric(`hookgate_caller_requests_total{caller="alice",result="chain"}`, "5")
	r.wantMetric(`hookgate_caller_requests_total{caller="alice",result="scope"}`, "2")
	r.wantMetric(`hookgate_caller_requests_total{caller="carol",result="scope"}`, "1")
	r.wantMetric(`hookgate_auth_failures_total{reason="missing"}`, "1")
	r.wantMetric(`hookgate_caller_in_flight{caller="alice"}`, "0")
}

func TestG11_AReaderSeesOnlyWhatItReaches(t *testing.T) {
	o, _ := guarded(t, "")
	r := start(t, o)
	r.do(http.MethodPost, r.base+"/v1/chains/team-a/decide", preText, bearer("alice-new"))
	r.do(http.MethodPost, r.base+"/v1/chains/team-b/decide", preText, bearer("bob"))
	read := func(path, token string) string {
		got := r.do(http.MethodGet, r.base+path, "", bearer(token))
		if got.status != http.StatusOK {
			t.Errorf("%s: %+v", path, got)
		}
		return got.body
	}
	if all, own := listed(t, read("/v1/decisions", "carol")), listed(t, read("/v1/decisions", "bob")); len(all) != 2 || len(own) != 1 || own[0] != all[0] {
		t.Errorf("carol sees %v, bob %v", all, own)
	}
	if got := listed(t, read("/v1/decisions?chain=team-a", "bob")); len(got) != 0 {
		t.Errorf("bob sees %v of team-a", got)
	}
	if !strings.Contains(read("/v1/hooks", "bob"), `"name":"guard"`) {
		t.Error("bob does not see his hook")
	}
	text, err := os.ReadFile(o.CallersFile)
	if err != nil {
		t.Fatal(err)
	}
	write(t, o.CallersFile, strings.ReplaceAll(string(text), "[team-b]", "[team-a]"))
	r.gateway.Reload(t.Context())
	if strings.Contains(read("/v1/hooks", "bob"), `"name":"guard"`) {
		t.Error("bob sees a hook of a chain that he no longer reaches")
	}
}

func TestG11_AStreamEndsWithTheRightToIt(t *testing.T) {
	o, _ := guarded(t, "")
	r := start(t, o)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.base+"/v1/decisions", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	bearer("carol")(req)
	stream, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, stream.Body)
	lines := bufio.NewScanner(stream.Body)
	if !lines.Scan() || lines.Text() != ": following decisions" {
		t.Fatalf("the stream begins with %q", lines.Text())
	}
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
	decide := func(team, token string) {
		r.do(http.MethodPost, r.base+"/v1/chains/"+team+"/decide", preText, bearer(token))
	}
	change := func(old, now string) {
		text, err := os.ReadFile(o.CallersFile)
		if err != nil {
			t.Fatal(err)
		}
		write(t, o.CallersFile, strings.ReplaceAll(string(text), old, now))
		r.gateway.Reload(t.Context())
	}
	decide("team-a", "alice-new")
	if got := next(); !strings.Contains(got, `"chain":"team-a"`) {
		t.Errorf("carol is told %q", got)
	}
	change(`["*"]`, `["team-b"]`)
	decide("team-a", "alice-new")
	decide("team-b", "bob")
	if got := next(); !strings.Contains(got, `"chain":"team-b"`) {
		t.Errorf("carol, who reaches team-b alone by now, is told %q", got)
	}
	change(tokenHash("carol"), tokenHash("another"))
	decide("team-b", "bob")
	if got := next(); got != "" {
		t.Errorf("carol, who is not known any more, is told %q", got)
	}
}

func TestG11_EveryRouteTakesAScope(t *testing.T) {
	o, _ := guarded(t, "")
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	routes, ok := g.mainHandler().(chi.Routes)
	if !ok {
		t.Fatal("the main handler has no routes to walk")
	}
	err = chi.Walk(routes, func(_, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		open := route == routeOpenAPI || route == routePageStyle || route == routePageScript // public: these say nothing about this gateway
		if (scopeOf(route) == 0) != open {
			t.Errorf("%s takes the scope %s", route, scopeOf(route))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if scopeOf("/v2/new") != 0 {
		t.Error("an unknown route is somebody's")
	}
}

func TestG11_TheCallersAreReloadedAndABadFileChangesNothing(t *testing.T) {
	o, _ := guarded(t, "")
	r := start(t, o)
	ask := func(token string) int {
		return r.do(http.MethodPost, r.base+"/v1/chains/team-a/decide", preText, bearer(token)).status
	}
	text, err := os.ReadFile(o.CallersFile)
	if err != nil {
		t.Fatal(err)
	}
	write(t, o.CallersFile, strings.ReplaceAll(string(text), tokenHash("alice-old"), tokenHash("alice-next")))
	r.gateway.Reload(t.Context())
	got := []int{ask("alice-old"), ask("alice-new"), ask("alice-next")}
	if diff := cmp.Diff([]int{401, 200, 200}, got); diff != "" {
		t.Errorf("a token was exchanged (-want +got):\n%s", diff)
	}
	write(t, o.CallersFile, "schema: 1\ncallers: everybody\n")
	r.gateway.Reload(t.Context())
	if diff := cmp.Diff([]int{200, 401}, []int{ask("alice-next"), ask("everybody")}); diff != "" {
		t.Errorf("a bad file (-want +got):\n%s", diff)
	}
	if !strings.Contains(r.do(http.MethodGet, r.admin+"/readyz", "").body, "want a list of callers") {
		t.Error("/readyz does not say why")
	}
}

func TestACallerOverALimitIsToldWhenToComeBack(t *testing.T) {
	o, _ := guarded(t, ", rate: {per_second: 1, burst: 2}")
	r := start(t, o)
	ask := func() reply {
		return r.do(http.MethodPost, r.base+"/v1/chains/team-a/decide", preText, bearer("alice-new"))
	}
	var last reply
	for range 3 {
		last = ask()
	}
	wantRefusal(t, last, http.StatusTooManyRequests, `caller "alice" exceeds its rate`)
	if got := last.header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	if got := r.do(http.MethodPost, r.base+"/v1/chains/team-b/decide", preText, bearer("bob")); got.status != http.StatusOK {
		t.Errorf("another caller: %+v", got)
	}
	r.wantMetric(`hookgate_caller_requests_total{caller="alice",result="rate"}`, "1")
}

func TestACallerHasOnlySoManyRequestsAtOnce(t *testing.T) {
	o, dir := guarded(t, ", max_in_flight: 1")
	release := make(chan struct{})
	hook := newHookServer(t, waits(release))
	write(t, filepath.Join(dir, "chains/team-a.yaml"), "schema: 1\nhooks: [{name: slow, url: "+hook.URL+"}]\n")
	r := start(t, o)
	ask := func() reply {
		return r.do(http.MethodPost, r.base+"/v1/chains/team-a/decide", preText, bearer("alice-new"))
	}
	first := make(chan reply)
	go func() { first <- ask() }()
	eventually(t, "the hook is asked", func() bool { return hook.asked() == 1 })
	r.wantMetric(`hookgate_caller_in_flight{caller="alice"}`, "1")
	wantRefusal(t, ask(), http.StatusTooManyRequests, "at its limit of requests in flight")
	close(release)
	if got := <-first; got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	r.wantMetric(`hookgate_caller_requests_total{caller="alice",result="in_flight"}`, "1")
}

func TestATurnNeedsTheChainOfItsAgent(t *testing.T) {
	o, dir := guarded(t, "")
	write(t, filepath.Join(dir, "agents/coder.yaml"), "command: /bin/true\nchain: team-a\n")
	o.AgentsDir = filepath.Join(dir, "agents")
	r := start(t, o)
	got := r.do(http.MethodPost, r.base+"/v1/turns", `{"agent":"coder","message":"hi"}`, bearer("bob"))
	wantRefusal(t, got, http.StatusForbidden, `caller "bob" may not use this chain`)
}

func TestAnIssuerThatIsAwayIsNotTheCallersFault(t *testing.T) {
	o, _ := guarded(t, "")
	text, err := os.ReadFile(o.CallersFile)
	if err != nil {
		t.Fatal(err)
	}
	write(t, o.CallersFile, string(text)+`
  - {name: dave, chains: [team-a], scopes: [decide], jwt: [{issuer: away, claims: {sub: x}}]}
issuers: [{name: away, url: "http://127.0.0.1:1", audiences: [hookgate]}]
`)
	r := start(t, o)
	token := "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjEifQ." + strings.Repeat("A", 86)
	got := r.do(http.MethodPost, r.base+"/v1/chains/team-a/decide", preText, bearer(token))
	wantRefusal(t, got, http.StatusServiceUnavailable, "the keys of its token's issuer cannot be fetched")
	if got.header.Get("Retry-After") != "10" {
		t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
	}
}

func TestEveryReasonHasAnAnswer(t *testing.T) {
	for _, why := range append(access.Reasons(), access.Unidentified) {
		p := unknownCaller(why)
		if p.status != http.StatusUnauthorized && why != access.Unavailable || !strings.Contains(p.detail, why.Text()) {
			t.Errorf("%v is answered %+v", why, p)
		}
		if (p.challenge == "") != (p.status != http.StatusUnauthorized) {
			t.Errorf("%v is challenged with %q", why, p.challenge)
		}
	}
}

// papers are the files of a certificate and its key, in PEM form.
type papers struct{ cert, key string }

// issue creates a certificate, self-signed if by is nil.
func issue(t *testing.T, template *x509.Certificate, by *tls.Certificate) (papers, *tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotAfter = time.Now().Add(time.Hour).Truncate(time.Second)
	parent, signer := template, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p := papers{
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})),
	}
	pair, err := tls.X509KeyPair([]byte(p.cert), []byte(p.key))
	if err != nil {
		t.Fatal(err)
	}
	if pair.Leaf, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return p, &pair
}

// trusting returns the TLS configuration of a client that trusts the
// certificate in a file.
func trusting(t *testing.T, file string) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	c.RootCAs.AppendCertsFromPEM(text)
	return c
}

// server creates a self-signed server certificate.
func server(t *testing.T) (papers, *tls.Certificate) {
	t.Helper()
	return issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "gateway"}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IPAddresses: loopbackIPs(),
	}, nil)
}

func TestG11_ACertificateIsACallerAndBothSidesAreRenewed(t *testing.T) {
	o, dir := guarded(t, "")
	text, err := os.ReadFile(o.CallersFile)
	if err != nil {
		t.Fatal(err)
	}
	own, ca := server(t)
	id, err := url.Parse("spiffe://example.org/ns/agents/sa/coder")
	if err != nil {
		t.Fatal(err)
	}
	_, coder := issue(t, &x509.Certificate{URIs: []*url.URL{id}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, ca)
	_, stranger := issue(t, &x509.Certificate{URIs: []*url.URL{id}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, nil)
	write(t, o.CallersFile, string(text)+`
  - {name: dave, chains: [team-a], scopes: [decide], spiffe_ids: ["spiffe://example.org/ns/agents/*"]}
client_ca_file: ca.pem
`)
	o.TLSCertFile, o.TLSKeyFile = filepath.Join(dir, "tls/tls.crt"), filepath.Join(dir, "tls/tls.key")
	write(t, o.TLSCertFile, own.cert)
	write(t, o.TLSKeyFile, own.key)
	write(t, filepath.Join(dir, "ca.pem"), own.cert)
	r := start(t, o)
	ask := func(with *tls.Certificate) reply {
		r.transport.CloseIdleConnections()
		r.transport.TLSClientConfig = trusting(t, o.TLSCertFile)
		if with != nil {
			r.transport.TLSClientConfig.Certificates = []tls.Certificate{*with}
		}
		return r.do(http.MethodPost, r.base+"/v1/chains/team-a/decide", preText)
	}
	if got := ask(coder); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	wantRefusal(t, ask(stranger), http.StatusUnauthorized, "its client certificate is not trusted")
	wantRefusal(t, ask(nil), http.StatusUnauthorized, "it carries no credential")
	r.wantMetric(`hookgate_auth_failures_total{reason="certificate"}`, "1")
	r.wantMetric("hookgate_tls_certificate_expiry_timestamp_seconds", metricOf(ca.Leaf.NotAfter))

	sum := r.gateway.plans.sum()
	next, renewed := server(t)
	write(t, o.TLSCertFile, next.cert)
	r.gateway.Reload(t.Context()) // the key still belongs to the previous certificate
	r.wantMetric("hookgate_config_last_reload_successful", "0")
	write(t, o.TLSKeyFile, next.key)
	r.gateway.Reload(t.Context())
	r.wantMetric("hookgate_config_last_reload_successful", "1")
	if got := ask(coder); got.status != http.StatusOK { // a client that trusts only the new one
		t.Errorf("after the renewal: %+v", got)
	}
	r.wantMetric("hookgate_tls_certificate_expiry_timestamp_seconds", metricOf(renewed.Leaf.NotAfter))
	if r.gateway.plans.sum() != sum {
		t.Error("a renewed certificate counts as another configuration")
	}
}

func metricOf(at time.Time) string { return strconv.FormatFloat(float64(at.Unix()), 'g', -1, 64) }

func TestACertificateNeedsItsKey(t *testing.T) {
	_, err := New(Options{TLSCertFile: "c.pem"})
	if err == nil || !strings.Contains(err.Error(), "HOOKGATE_TLS_CERT_FILE and HOOKGATE_TLS_KEY_FILE must be set together") {
		t.Errorf("error %v", err)
	}
	gone := filepath.Join(t.TempDir(), "gone.pem")
	_, err = New(Options{TLSCertFile: gone, TLSKeyFile: gone})
	if err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("error %v", err)
	}
}

func TestListeningBeyondTheLoopbackIsAllowedWhereCallersAreToldApart(t *testing.T) {
	o, _ := guarded(t, "")
	o.Addr = "0.0.0.0:0"
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
}
