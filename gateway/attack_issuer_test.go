package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// issuedToken returns a token with the claims of a valid one, overridden by
// claims.
func issuedToken(t *testing.T, key *ecdsa.PrivateKey, issuer string, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"iss": issuer, "aud": "hookgate", "sub": "dave", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	token, err := jwt.Signed(signer).Claims(all).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestAttack_TokensThatAreOverOrForOthersAreRefusedAndCounted(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var issuer *httptest.Server
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = map[string]string{"issuer": issuer.URL, "jwks_uri": issuer.URL + "/keys"}
		if r.URL.Path == "/keys" {
			answer = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k", Algorithm: "ES256", Use: "sig"}}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer issuer.Close()
	o, _ := guarded(t, "")
	text, err := os.ReadFile(o.CallersFile)
	if err != nil {
		t.Fatal(err)
	}
	write(t, o.CallersFile, string(text)+`
  - {name: erin, chains: [team-a], scopes: [decide], tokens: [{sha256: `+tokenHash("erins-token")+`, expires: 2020-01-01T00:00:00Z}]}
  - {name: dave, chains: [team-a], scopes: [decide], jwt: [{issuer: ours, claims: {sub: dave}}]}
issuers: [{name: ours, url: "`+issuer.URL+`", audiences: [hookgate]}]
`)
	r := start(t, o)
	good := issuedToken(t, key, issuer.URL, nil)
	forged := strings.Split(issuedToken(t, stranger, issuer.URL, map[string]any{"sub": "dave"}), ".")
	var secrets []string
	refused := map[string]int{}
	for name, tc := range map[string]struct{ reason, token string }{
		"a token of the file whose time is over": {"expired", "erins-token"},
		"a token whose time is over":             {"expired", issuedToken(t, key, issuer.URL, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()})},
		"a token whose time has not come":        {"expired", issuedToken(t, key, issuer.URL, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()})},
		"a token for another audience":           {"audience", issuedToken(t, key, issuer.URL, map[string]any{"aud": "api"})},
		"a token of another issuer":              {"issuer", issuedToken(t, key, "https://else.example", nil)},
		"a token of nobody who may call":         {"claims", issuedToken(t, key, issuer.URL, map[string]any{"sub": "mallory"})},
		"a token that another key signed":        {"signature", strings.Join(forged, ".")},
		"good claims under another signature":    {"signature", strings.Join(strings.Split(good, ".")[:2], ".") + "." + forged[2]},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.do(http.MethodPost, r.base+"/v1/chains/team-a/decide", preText, bearer(tc.token))
			wantRefusal(t, got, http.StatusUnauthorized, "the gateway cannot authenticate the caller")
			if strings.Contains(got.body, tc.token) {
				t.Error("the refusal repeats the token")
			}
		})
		secrets, refused[tc.reason] = append(secrets, tc.token), refused[tc.reason]+1
	}
	for reason, n := range refused {
		r.wantMetric(`hookgate_auth_failures_total{reason="`+reason+`"}`, strconv.Itoa(n))
	}
	refusedEverywhere(t, r, secrets...)
	if got := r.do(http.MethodPost, r.base+"/v1/chains/team-a/decide", preText, bearer(good)); got.status != http.StatusOK {
		t.Errorf("a good token is answered %+v", got)
	}
}

func TestAttack_NobodyButTheFilesSaysWhereTheGatewayConnectsTo(t *testing.T) {
	var inside atomic.Int64
	internal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		inside.Add(1)
		_, _ = w.Write([]byte(`{"decision":"allow"}`))
	}))
	defer internal.Close()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, internal.URL+"/latest/meta-data/", http.StatusTemporaryRedirect)
	}))
	defer hook.Close()
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks: [{name: dlp, url: " + hook.URL + "/hook}]\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	host := strings.TrimPrefix(internal.URL, "http://")
	for name, edit := range map[string]func(*http.Request){
		"as it is":          func(*http.Request) {},
		"forwarded":         header("Forwarded", "host="+host+";proto=http"),
		"a forwarded host":  header("X-Forwarded-Host", host),
		"another address":   header("X-Original-URL", internal.URL),
		"a proxy of its":    header("Proxy", internal.URL),
		"a callback of its": header("X-Hookgate-Hook-Url", internal.URL),
	} {
		got := r.do(http.MethodPost, r.base+"/v1/decide", strings.Replace(preText, `"command":"ls"`, `"url":"`+internal.URL+`"`, 1), edit)
		if decision, reason := decisionIn(t, got.body); decision != "deny" || strings.Contains(reason, "meta-data") {
			t.Errorf("%s: %s, %s", name, decision, reason)
		}
	}
	if n := inside.Load(); n != 0 {
		t.Errorf("the gateway called what a caller or a hook named %d times", n)
	}
	if n, _ := r.metric(`hookgate_denials_total{chain="operator",event="pre_tool_use",hook="dlp",tool="other",why="failure"}`); n != "6" {
		t.Errorf("%s denials are counted, want 6", n)
	}
}
