package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "hookgate_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"

func made(t *testing.T, rules Rules, before *Access) *Access {
	t.Helper()
	a, err := New(Options{Rules: rules, Before: before, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// request returns a request with the given Authorization headers.
func request(t *testing.T, authorization ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/decide", strings.NewReader("{}"))
	for _, value := range authorization {
		r.Header.Add("Authorization", value)
	}
	return r
}

// wantCaller checks the result of Identify: a caller's name or a reason.
func wantCaller(t *testing.T, a *Access, r *http.Request, want string) {
	t.Helper()
	c, why := a.Identify(r)
	got := c.Name()
	if c == nil {
		got = why.String()
	}
	if got != want {
		t.Errorf("known is %q, want %q", got, want)
	}
}

func TestA1_OnlyAWholeTokenOfACallerIsKnown(t *testing.T) {
	hash := func(s string) [32]byte { return sha256.Sum256([]byte(s)) }
	a := made(t, Rules{Callers: []Rule{
		{Name: "agents", Tokens: []Token{{SHA256: hash("old")}, {SHA256: hash(secret)}}},
		{Name: "late", Tokens: []Token{{SHA256: hash("gone"), Expires: time.Now().Add(-time.Second)}, {SHA256: hash("stays"), Expires: time.Now().Add(time.Hour)}}},
	}}, nil)
	for _, tc := range []struct {
		want    string
		headers []string
	}{
		{"agents", []string{"Bearer " + secret}},
		{"agents", []string{"bearer old"}},
		{"late", []string{"Bearer stays"}},
		{"expired", []string{"Bearer gone"}},
		{"missing", nil},
		{"unknown", []string{"Bearer " + secret[1:]}},
		{"unknown", []string{"Bearer " + strings.ToUpper(secret)}},
		{"unknown", []string{"Bearer a.b.c"}},
		{"malformed", []string{""}},
		{"malformed", []string{secret}},
		{"malformed", []string{"Bearer"}},
		{"malformed", []string{"Bearer "}},
		{"malformed", []string{"Bearer  " + secret}},
		{"malformed", []string{"Basic " + secret}},
		{"malformed", []string{"Bearer " + secret + ", Bearer x"}},
		{"malformed", []string{"Bearer " + secret, "Bearer " + secret}},
		{"malformed", []string{"Bearer x", "Bearer " + secret}},
		{"malformed", []string{"Bearer " + strings.Repeat("x", longestToken+1)}},
		{"malformed", []string{"Bearer tökén"}},
	} {
		t.Run(fmt.Sprintf("%s %.40q", tc.want, tc.headers), func(t *testing.T) { wantCaller(t, a, request(t, tc.headers...), tc.want) })
	}
	for _, query := range []string{"access_token=" + secret, "a=b&Token=" + secret, "authorization=Bearer+" + secret} {
		r := request(t)
		r.URL.RawQuery = query
		wantCaller(t, a, r, "in_url")
	}
}

func TestA2_ACallerMayOnlyWhatItsEntryNames(t *testing.T) {
	c := newCaller(Rule{Name: "a", Chains: []string{"team-*", "exact"}, Scopes: Decide | Read}, nil)
	for name, want := range map[string]bool{"team-a": true, "exact": true, "exac": false, "operator": false, "": false, "Team-a": false, "x-team-a": false} {
		if got := c.Reaches(name); got != want {
			t.Errorf("it reaches %q: %v", name, got)
		}
	}
	for scope, want := range map[Scope]bool{Decide: true, Read: true, Decide | Read: true, Turns: false, Approve: false, Decide | Turns: false, 0: false} {
		if got := c.May(scope); got != want {
			t.Errorf("it may %v: %v", scope, got)
		}
	}
	var nobody *Caller
	if nobody.May(Decide) || nobody.Reaches("") || nobody.Name() != "" || (&Caller{}).Reaches("x") || (&Caller{}).May(Read) {
		t.Error("nobody may do something")
	}
	for _, name := range ScopeNames() {
		if got := ParseScope(name); got.String() != name {
			t.Errorf("%s reads as %v", name, got)
		}
	}
	if ParseScope("admin") != 0 || Scope(0).String() != "none" {
		t.Error("there is a scope that is none")
	}
}

func TestReasonsAreAClosedSetWithATextEach(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range append(Reasons(), Unidentified) {
		if seen[r.String()] || seen[r.Text()] || r.Text() == "" {
			t.Errorf("%v is not told apart", r)
		}
		seen[r.String()], seen[r.Text()] = true, true
	}
}

func TestA7_LimitsHoldOverAReload(t *testing.T) {
	rules := Rules{Callers: []Rule{{Name: "a", MaxInFlight: 2, Rate: &Rate{PerSecond: 0.5, Burst: 3}}}}
	first := made(t, rules, nil)
	now := time.Now()
	c := first.Callers()[0]
	enter := func(c *Caller, want Limit) time.Duration {
		t.Helper()
		got, wait := c.Enter(now)
		if got != want {
			t.Errorf("limit %v, want %v", got, want)
		}
		return wait
	}
	enter(c, NoLimit)
	second := made(t, rules, first).Callers()[0]
	enter(second, NoLimit)
	if wait := enter(second, InFlightLimit); wait != time.Second {
		t.Errorf("it is told to wait %v", wait)
	}
	c.Leave()
	enter(second, NoLimit)
	second.Leave()
	if wait := enter(second, RateLimit); wait != 2*time.Second {
		t.Errorf("it is told to wait %v", wait)
	}
	if n := c.InFlight(); n != 1 {
		t.Errorf("%d are in flight", n)
	}
	now = now.Add(2 * time.Second)
	enter(second, NoLimit)
	second.Leave()
	rules.Callers[0].Rate = &Rate{PerSecond: 10, Burst: 1}
	enter(made(t, rules, first).Callers()[0], NoLimit) // a changed rate starts with a new bucket
}

func TestRulesThatCannotBeAreRefused(t *testing.T) {
	hash := sha256.Sum256([]byte("x"))
	_, err := New(Options{Rules: Rules{
		Issuers: []Issued{{Name: "i", URL: "https://i", Audiences: []string{"a"}}, {Name: "i", URL: "https://i"}},
		Callers: []Rule{
			{Name: "a", Tokens: []Token{{SHA256: hash}}},
			{Name: "a", Tokens: []Token{{SHA256: hash}}, Claims: []Claimed{{Issuer: "nobody"}}, Rate: &Rate{}},
		},
	}})
	want := `access: issuer "i" needs a name, a URL and an audience
access: duplicate issuer "i"
access: caller "a" has no name, or the name of another caller
access: callers "a" and "a" have the same token
access: caller "a": tokens need an issuer that is declared, and a claim
access: caller "a": the rate must be positive`
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
}

// authority is a test OpenID Connect issuer.
type authority struct {
	*httptest.Server
	key    *ecdsa.PrivateKey
	asked  atomic.Int64
	mu     sync.Mutex
	answer http.HandlerFunc // nil means a valid response
	ids    []string         // the ids of its keys, all of which are the same key
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, ids: []string{"k1"}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.asked.Add(1)
		a.mu.Lock()
		answer, ids := a.answer, a.ids
		a.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		a.says(w, r, ids)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *authority) says(w http.ResponseWriter, r *http.Request, ids []string) {
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": a.URL, "jwks_uri": a.URL + "/keys"})
	case "/keys":
		const kind = "application/jwk-set+json"
		if !strings.Contains(r.Header.Get("Accept"), kind) { // as an API server of Kubernetes is about it
			w.WriteHeader(http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Type", kind)
		var set jose.JSONWebKeySet
		for _, id := range ids {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: &a.key.PublicKey, KeyID: id, Algorithm: "ES256", Use: "sig"})
		}
		_ = json.NewEncoder(w).Encode(set)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (a *authority) say(answer http.HandlerFunc, ids ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = answer
	if len(ids) > 0 {
		a.ids = ids
	}
}

// sign returns a token with the claims of a valid one, overridden by claims; a
// nil claim is omitted.
func (a *authority) sign(t *testing.T, key any, algorithm jose.SignatureAlgorithm, id string, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{
		"iss": a.URL, "aud": []string{"hookgate"}, "sub": "system:serviceaccount:agents:coder", "exp": time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": "agents"}, "groups": []string{"x", "coders"},
	}
	for name, value := range claims {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	text, err := jwt.Signed(signer).Claims(all).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (a *authority) rules() Rules {
	return Rules{
		Issuers: []Issued{{Name: "cluster", URL: a.URL, Audiences: []string{"hookgate", "other"}}},
		Callers: []Rule{
			{Name: "coders", Claims: []Claimed{{Issuer: "cluster", Claims: []Claim{
				{Path: []string{"kubernetes.io", "namespace"}, Pattern: "agents"}, {Path: []string{"sub"}, Pattern: "system:serviceaccount:agents:*"},
			}}}},
			{Name: "group", Claims: []Claimed{{Issuer: "cluster", Claims: []Claim{{Path: []string{"groups"}, Pattern: "code*"}, {Path: []string{"admin"}, Pattern: "true"}}}}},
		},
	}
}

func TestA1_OnlyAGoodTokenOfAnIssuerIsKnown(t *testing.T) {
	issuer, other := newAuthority(t), newAuthority(t)
	a := made(t, issuer.rules(), nil)
	symmetric := []byte(strings.Repeat("x", 32))
	none := "eyJhbGciOiJub25lIn0." + strings.Split(issuer.sign(t, issuer.key, jose.ES256, "k1", nil), ".")[1] + "."
	good := issuer.sign(t, issuer.key, jose.ES256, "k1", nil)
	for name, tc := range map[string]struct{ want, token string }{
		"a service account":         {"coders", good},
		"no key id":                 {"coders", issuer.sign(t, issuer.key, jose.ES256, "", nil)},
		"one audience of many":      {"coders", issuer.sign(t, issuer.key, jose.ES256, "k1", map[string]any{"aud": []string{"x", "other"}})},
		"a group and a flag":        {"group", issuer.sign(t, issuer.key, jose.ES256, "k1", map[string]any{"kubernetes.io": nil, "admin": true})},
		"a flag that is off":        {"claims", issuer.sign(t, issuer.key, jose.ES256, "k1", map[string]any{"kubernetes.io": nil, "admin": false})},
		"a claim that is no object": {"claims", issuer.sign(t, issuer.key, jose.ES256, "k1", map[string]any{"kubernetes.io": "agents", "groups": 5})},
		"another namespace":         {"claims", issuer.sign(t, issuer.key, jose.ES256, "k1", map[string]any{"kubernetes.io": map[string]any{"namespace": "agents2"}})},
		"expired":                   {"expired", issuer.sign(t, issuer.key, jose.ES256, "k1", map[string]any{"exp": time.Now().Add(-time.Minute).Unix()})},
		"without an end":            {"expired", issuer.sign(t, issuer.key, jose.ES256, "k1", map[string]any{"exp": nil})},
		"not yet":                   {"expired", issuer.sign(t, issuer.key, jose.ES256, "k1", map[string]any{"nbf": time.Now().Add(time.Minute).Unix()})},
		"another audience":          {"audience", issuer.sign(t, issuer.key, jose.ES256, "k1", map[string]any{"aud": "api"})},
		"no audience":               {"audience", issuer.sign(t, issuer.key, jose.ES256, "k1", map[string]any{"aud": nil})},
		"another issuer":            {"issuer", other.sign(t, other.key, jose.ES256, "k1", nil)},
		"another's key":             {"signature", issuer.sign(t, other.key, jose.ES256, "k1", nil)},
		"an unknown key":            {"signature", issuer.sign(t, other.key, jose.ES256, "k2", nil)},
		"a changed token":           {"signature", good[:len(good)-4] + "AAAA"},
		"a symmetric signature":     {"unknown", issuer.sign(t, symmetric, jose.HS256, "k1", nil)},
		"no signature":              {"unknown", none},
		"no token":                  {"unknown", "a.b.c"},
	} {
		t.Run(name, func(t *testing.T) { wantCaller(t, a, request(t, "Bearer "+tc.token), tc.want) })
	}
}

func TestA6_BadTokensDoNotMakeTheGatewayAskAgain(t *testing.T) {
	issuer := newAuthority(t)
	a := made(t, issuer.rules(), nil)
	bad := issuer.sign(t, newAuthority(t).key, jose.ES256, "k9", nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				a.Identify(request(t, "Bearer "+bad))
			}
		})
	}
	all.Wait()
	if n := issuer.asked.Load(); n != 2 { // discovery and keys, once each
		t.Errorf("the issuer was asked %d times", n)
	}
	wantCaller(t, a, request(t, "Bearer "+issuer.sign(t, issuer.key, jose.ES256, "k1", nil)), "coders")
	next := made(t, issuer.rules(), a)
	wantCaller(t, next, request(t, "Bearer "+issuer.sign(t, issuer.key, jose.ES256, "k1", nil)), "coders")
	if n := issuer.asked.Load(); n != 2 {
		t.Errorf("after a reload the issuer was asked %d times", n)
	}
}

func TestA5_AnIssuerThatAnswersWronglyLetsNobodyIn(t *testing.T) {
	log := &strings.Builder{}
	for name, answer := range map[string]http.HandlerFunc{
		"fails":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"redirects": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/else", http.StatusFound) },
		"no json":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"too long":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, keysLargest+1)) },
		"somebody else": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"issuer":"https://else","jwks_uri":"https://else/keys"}`)
		},
		"keys in plain text": func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, `{"issuer":"http://%s","jwks_uri":"http://169.254.169.254/keys"}`, r.Host)
		},
		"no keys": func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, `{"issuer":"http://%s","jwks_uri":"http://%s/keys","keys":[]}`, r.Host, r.Host)
		},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := newAuthority(t)
			issuer.say(answer)
			a, err := New(Options{Rules: issuer.rules(), Logger: slog.New(slog.NewTextHandler(log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			token := issuer.sign(t, issuer.key, jose.ES256, "k1", nil)
			wantCaller(t, a, request(t, "Bearer "+token), "unavailable")
			wantCaller(t, a, request(t, "Bearer "+token), "unavailable")
			a.Close()
			if strings.Contains(log.String(), token) || !strings.Contains(log.String(), "issuer=cluster") {
				t.Errorf("the log: %s", log)
			}
		})
	}
}

func TestTheTokenForTheIssuerIsReadEachTime(t *testing.T) {
	issuer := newAuthority(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen atomic.Value
	issuer.say(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization"))
		issuer.says(w, r, []string{"k1"})
	})
	rules := issuer.rules()
	rules.Issuers[0].TokenFile = file
	rules.Issuers[0].Discovery = &url.URL{Scheme: "http", Host: strings.TrimPrefix(issuer.URL, "http://"), Path: "/.well-known/openid-configuration"}
	a := made(t, rules, nil)
	wantCaller(t, a, request(t, "Bearer "+issuer.sign(t, issuer.key, jose.ES256, "k1", nil)), "coders")
	if got := seen.Load(); got != "Bearer mine" {
		t.Errorf("the issuer was shown %v", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	rules.Issuers[0].RootsPEM = []byte("other") // so that it is asked anew
	wantCaller(t, made(t, rules, a), request(t, "Bearer "+issuer.sign(t, issuer.key, jose.ES256, "k1", nil)), "unavailable")
}

// fetching is an in-process issuer, for tests with a fake clock.
type fetching func(*http.Request) (*http.Response, error)

func (f fetching) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestA5_KeysAreRenewedAndOutliveTheirIssuerForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		id, down, asked := "k1", false, 0
		l := &life{}
		l.ctx, l.end = context.WithCancel(t.Context())
		k := newKeys(Issued{Name: "i", URL: "https://i"}, l, slog.New(slog.DiscardHandler))
		k.client.Transport = fetching(func(r *http.Request) (*http.Response, error) {
			asked++
			if down {
				return nil, io.ErrUnexpectedEOF
			}
			w := httptest.NewRecorder()
			if strings.HasSuffix(r.URL.Path, "openid-configuration") {
				_, _ = io.WriteString(w, `{"issuer":"https://i","jwks_uri":"https://i/keys"}`)
			} else {
				_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: id}}})
			}
			return w.Result(), nil
		})
		find := func(id string, want int, wantErr error) {
			t.Helper()
			found, err := k.find(t.Context(), id)
			if len(found) != want || err != wantErr { //nolint:errorlint // the unwrapped error itself is expected
				t.Errorf("after %d questions: %d keys, error %v; want %d, %v", asked, len(found), err, want, wantErr)
			}
			synctest.Wait()
		}
		find("k1", 1, nil)
		id = "k2"
		find("k2", 0, nil) // asked a moment ago
		time.Sleep(keysPause)
		find("k2", 1, nil) // a key that was not there is asked for
		find("k1", 0, nil) // and one that is gone, is
		down = true
		time.Sleep(keysFresh)
		find("k2", 1, nil) // no caller waits for the issuer
		time.Sleep(keysGood - 2*keysFresh)
		find("k2", 1, nil)
		time.Sleep(2 * keysFresh)
		find("k2", 0, errUnavailable)
		down = false
		find("k2", 0, errUnavailable)
		time.Sleep(keysPause)
		find("k2", 1, nil)
		l.end()
		l.fetches.Wait()
		time.Sleep(2 * keysGood)
		find("k2", 0, errUnavailable) // nobody is asked after the end
	})
}

// signed returns a client certificate signed by an authority.
func signed(t *testing.T, template *x509.Certificate, authority *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	if authority == nil {
		authority = template
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	der, err := x509.CreateCertificate(rand.Reader, template, authority, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestA1_OnlyACertificateThatIsTrustedNowIsKnown(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := func(name string) *x509.Certificate {
		return signed(t, &x509.Certificate{
			Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}, nil, key)
	}
	ours, theirs := ca("ours"), ca("theirs")
	leaf := func(by *x509.Certificate, usage x509.ExtKeyUsage, until time.Duration, dns string, ids ...string) *http.Request {
		template := &x509.Certificate{NotAfter: time.Now().Add(until), ExtKeyUsage: []x509.ExtKeyUsage{usage}}
		if dns != "" {
			template.DNSNames = []string{"x.example.org", dns}
		}
		for _, id := range ids {
			u, err := url.Parse(id)
			if err != nil {
				t.Fatal(err)
			}
			template.URIs = append(template.URIs, u)
		}
		r := request(t)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{signed(t, template, by, key)}}
		return r
	}
	pool := x509.NewCertPool()
	pool.AddCert(ours)
	rules := Rules{ClientCAs: pool, Callers: []Rule{
		{Name: "spiffe", SPIFFEIDs: []string{"spiffe://example.org/ns/agents/*"}},
		{Name: "dns", DNSNames: []string{"agents.example.org"}},
		{Name: "token", Tokens: []Token{{SHA256: sha256.Sum256([]byte(secret))}}},
	}}
	a := made(t, rules, nil)
	const client, agents = x509.ExtKeyUsageClientAuth, "spiffe://example.org/ns/agents/sa/coder"
	for name, tc := range map[string]struct {
		want string
		r    *http.Request
	}{
		"a SPIFFE ID":              {"spiffe", leaf(ours, client, time.Hour, "", agents)},
		"a DNS name":               {"dns", leaf(ours, client, time.Hour, "agents.example.org")},
		"another trust domain":     {"certificate", leaf(ours, client, time.Hour, "", "spiffe://example.com/ns/agents/sa/coder")},
		"two SPIFFE IDs":           {"certificate", leaf(ours, client, time.Hour, "", agents, "spiffe://example.org/ns/agents/sa/x")},
		"https in place of SPIFFE": {"certificate", leaf(ours, client, time.Hour, "", "https://example.org/ns/agents/sa/x")},
		"a way out of a SPIFFE ID": {"certificate", leaf(ours, client, time.Hour, "", "spiffe://example.org/ns/agents/../admin")},
		"an encoded one":           {"certificate", leaf(ours, client, time.Hour, "", "spiffe://example.org/ns/agents/%2e%2e/admin")},
		"a SPIFFE ID with a query": {"certificate", leaf(ours, client, time.Hour, "", "spiffe://example.org/ns/agents/sa/coder?x")},
		"one with a fragment":      {"certificate", leaf(ours, client, time.Hour, "", "spiffe://example.org/ns/agents/sa/coder#x")},
		"one with an empty part":   {"certificate", leaf(ours, client, time.Hour, "", "spiffe://example.org/ns/agents//coder")},
		"one that ends in a slash": {"certificate", leaf(ours, client, time.Hour, "", "spiffe://example.org/ns/agents/")},
		"another's signature":      {"certificate", leaf(theirs, client, time.Hour, "", agents)},
		"expired":                  {"certificate", leaf(ours, client, -time.Minute, "", agents)},
		"a server's certificate":   {"certificate", leaf(ours, x509.ExtKeyUsageServerAuth, time.Hour, "", agents)},
		"a name nobody has":        {"certificate", leaf(ours, client, time.Hour, "else.example.org")},
		"no name":                  {"certificate", leaf(ours, client, time.Hour, "")},
	} {
		t.Run(name, func(t *testing.T) { wantCaller(t, a, tc.r, tc.want) })
	}
	both := leaf(ours, client, time.Hour, "", agents)
	both.Header.Set("Authorization", "Bearer wrong")
	wantCaller(t, a, both, "unknown")
	both.Header.Set("Authorization", "Bearer "+secret)
	wantCaller(t, a, both, "token")

	// A verified connection is not trusted forever.
	lasting := leaf(ours, client, time.Hour, "", agents)
	lasting = lasting.WithContext(ConnContext(lasting.Context(), nil))
	wantCaller(t, a, lasting, "spiffe")
	wantCaller(t, a, lasting, "spiffe")
	rules.ClientCAs = x509.NewCertPool()
	rules.ClientCAs.AddCert(theirs)
	wantCaller(t, made(t, rules, a), lasting, "certificate")
	rules.ClientCAs = nil
	wantCaller(t, made(t, rules, a), lasting, "certificate")
}
