package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookgate/hookgate/gateway/access"
)

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// withCallers writes a callers file and two chains.
func withCallers(t *testing.T, text string) Options {
	t.Helper()
	dir := t.TempDir()
	cert, _ := keyPair(t)
	write(t, dir, map[string]string{
		"callers.yaml": text, "ca.pem": cert,
		"hooks.yaml": "schema: 1\nhooks: []\non_uncovered: deny\n", "chains/team-a.yaml": "schema: 1\nhooks: []\n", "chains/team-b.yaml": "schema: 1\nhooks: []\n",
	})
	return Options{
		ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: filepath.Join(dir, "chains"), CallersFile: filepath.Join(dir, "callers.yaml"),
	}
}

func TestCallers_AFullFileIsReadWithEveryValue(t *testing.T) {
	o := withCallers(t, `
schema: 1
client_ca_file: ca.pem
issuers:
  - name: cluster
    url: https://kubernetes.default.svc
    discovery_url: https://10.0.0.1/.well-known/openid-configuration
    audiences: [hookgate]
    ca_file: ca.pem
    token_file: token
callers:
  - name: ci
    chains: [team-a, "team-b*"]
    scopes: [decide, read]
    tokens:
      - sha256: `+hashOf("one")+`
      - {sha256: `+strings.ToUpper(hashOf("two"))+`, expires: 2027-01-31T00:00:00Z}
    rate: {per_second: 50, burst: 100}
    max_in_flight: 8
  - name: agents
    chains: [operator, team-c]
    scopes: [turns, approve]
    jwt:
      - issuer: cluster
        claims: {sub: "system:serviceaccount:agents:*", /kubernetes.io/namespace: agents, /a~1b/c~0d: x}
    spiffe_ids: ["spiffe://example.org/agents/*"]
    dns_names: [agents.example.org]
    rate: {per_second: 5}
`)
	set := loaded(t, o)
	dir := filepath.Dir(o.CallersFile)
	want := access.Rules{
		Issuers: []access.Issued{{
			Name: "cluster", URL: "https://kubernetes.default.svc", Audiences: []string{"hookgate"}, TokenFile: filepath.Join(dir, "token"),
			Discovery: &url.URL{Scheme: "https", Host: "10.0.0.1", Path: "/.well-known/openid-configuration"},
		}},
		Callers: []access.Rule{
			{
				Name: "ci", Chains: []string{"team-a", "team-b*"}, Scopes: access.Decide | access.Read,
				Tokens: []access.Token{
					{SHA256: sha256.Sum256([]byte("one"))},
					{SHA256: sha256.Sum256([]byte("two")), Expires: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)},
				},
				Rate: &access.Rate{PerSecond: 50, Burst: 100}, MaxInFlight: 8,
			},
			{
				Name: "agents", Chains: []string{"operator", "team-c"}, Scopes: access.Turns | access.Approve,
				Claims: []access.Claimed{{Issuer: "cluster", Claims: []access.Claim{
					{Path: []string{"sub"}, Pattern: "system:serviceaccount:agents:*"},
					{Path: []string{"kubernetes.io", "namespace"}, Pattern: "agents"},
					{Path: []string{"a/b", "c~d"}, Pattern: "x"},
				}}},
				SPIFFEIDs: []string{"spiffe://example.org/agents/*"}, DNSNames: []string{"agents.example.org"},
				Rate: &access.Rate{PerSecond: 5, Burst: 5},
			},
		},
	}
	ignored := cmp.Options{cmpopts.IgnoreFields(access.Rules{}, "ClientCAs"), cmpopts.IgnoreFields(access.Issued{}, "Roots", "RootsPEM")}
	if diff := cmp.Diff(want, *set.Callers, ignored); diff != "" {
		t.Errorf("callers (-want +got):\n%s", diff)
	}
	if set.Callers.ClientCAs == nil || set.Callers.Issuers[0].Roots == nil || len(set.Callers.Issuers[0].RootsPEM) == 0 {
		t.Error("certificates were not read")
	}
	if got := set.Warnings[len(set.Warnings)-1].String(); !strings.HasSuffix(got, `callers.yaml:21: callers[1] "agents": chains: there is no chain "team-c"; did you mean "team-a"?`) {
		t.Errorf("warned of %s", got)
	}
	if _, err := access.New(access.Options{Rules: *set.Callers}); err != nil {
		t.Errorf("what is read cannot be used: %v", err)
	}
}

func TestF1_MistakesInAFileOfCallersAreNamedWithTheirPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"empty":        {"", []string{"1: the file is empty: to let nobody in, write callers: []"}},
		"no callers":   {"schema: 1\n", []string{"1: callers is missing: to let nobody in, write callers: []"}},
		"unknown keys": {"schema: 1\ncalers: []\ncallers: []\n", []string{`2: unknown key "calers"; did you mean "callers"?`}},
		"issuers": {`schema: 1
issuers:
  - {name: a, url: http://a.example.org, audiences: [x]}
  - {name: a, url: "https://b?x", audiences: []}
  - {name: c, url: https://c, token_file: ""}
  - {url: https://d, audiences: [5]}
  - {name: e, url: https://c, discovery_url: c, audiences: [x], ca_file: callers.yaml}
callers: []
`, []string{
			`3: issuers[0] "a": url: is http: anyone on the network path could replace the issuer's keys; use https`,
			`4: issuers[1] "a": another issuer already has this name`,
			`4: issuers[1] "a": url: must have nothing but a host and a path: no user, query or fragment`,
			`4: issuers[1] "a": audiences: is empty`,
			`5: issuers[2] "c": audiences is missing: without it, tokens issued for other services would be accepted`,
			`5: issuers[2] "c": token_file: is empty: want the name of a file`,
			`6: issuers[3]: name is missing`,
			`6: issuers[3].audiences[0]: want a string, not the number 5: quote it, as "5"`,
			`7: issuers[4] "e": another issuer already has this url`,
			`7: issuers[4] "e": discovery_url: want a URL with scheme https or http`,
			`7: issuers[4] "e": ca_file: contains no certificate in PEM format`,
		}},
		"an authority that is not there": {`schema: 1
client_ca_file: nowhere.pem
callers:
  - {name: a, chains: [operator], scopes: [decide], dns_names: [a.example.org]}
`, []string{
			`2: client_ca_file: the file "nowhere.pem" does not exist`,
		}},
		"callers": {`schema: 1
callers:
  - {name: a, chains: [], scopes: [decide, admin], tokens: []}
  - {name: a, chains: [operator], scopes: [], tokens: [{}, {sha256: secret-token-of-somebody}]}
  - {chains: [operator], scopes: decide}
  - {name: b, tokens: [{sha256: ` + hashOf("x") + `, expires: tomorrow}], spiffe_ids: ["example.org/x"], dns_names: []}
  - {name: c, chains: [operator], scopes: [read], tokens: [{sha256: ` + hashOf("x") + `}], rate: {burst: 1}, max_in_flight: 0}
  - {name: d, chains: [operator], scopes: [read], jwt: [{issuer: x}, {claims: {}}, {issuer: x, claims: {a: 5}}], rate: {per_second: 0}}
  - {name: e, chains: [operator], scopes: [read], jwt: {}}
  - 5
`, []string{
			`3: callers[0] "a": chains: is empty`,
			`3: callers[0] "a": scopes[1]: unknown value "admin", want decide, turns, approve or read`,
			`3: callers[0] "a": tokens: is empty`,
			`4: callers[1] "a": another caller already has this name, in line 3`,
			`4: callers[1] "a": scopes: is empty`,
			`4: callers[1] "a": tokens[0]: sha256 is missing: gateway token makes a token with its hash`,
			`4: callers[1] "a": tokens[1].sha256: is not a SHA-256 hash in hexadecimal (64 digits): gateway token --hash prints the hash of a token`,
			`5: callers[2]: name is missing`,
			`5: callers[2]: nothing identifies this caller: set tokens, jwt, spiffe_ids or dns_names`,
			`5: callers[2].scopes: want a list of scopes, not the string "decide"`,
			`6: callers[3] "b": chains is missing: list the chains that the caller may use, like [operator] or ["team-*"]`,
			`6: callers[3] "b": scopes is missing: list what the caller may do, out of decide, turns, approve and read`,
			`6: callers[3] "b": tokens[0].expires: "tomorrow" is not a time: write it as "2027-01-31T00:00:00Z"`,
			`6: callers[3] "b": spiffe_ids: "example.org/x" is not a SPIFFE ID: it begins with spiffe:// and the name of the trust domain`,
			`6: callers[3] "b": spiffe_ids: identifies a caller by a client certificate, but no certificate is trusted: client_ca_file is missing`,
			`6: callers[3] "b": dns_names: is empty`,
			`6: callers[3] "b": dns_names: identifies a caller by a client certificate, but no certificate is trusted: client_ca_file is missing`,
			`7: callers[4] "c": tokens[0].sha256: caller "b" already has this token`,
			`7: callers[4] "c": rate: per_second is missing`,
			`7: callers[4] "c": max_in_flight: 0 is not between 1 and 1000000`,
			`8: callers[5] "d": jwt[0].issuer: there is no issuer "x"`,
			`8: callers[5] "d": jwt[0]: claims is missing: without claims, every token of the issuer would identify this caller`,
			`8: callers[5] "d": jwt[1]: issuer is missing: want the name of one of the issuers`,
			`8: callers[5] "d": jwt[1].claims: is empty: without claims, every token of the issuer would identify this caller`,
			`8: callers[5] "d": jwt[2].issuer: there is no issuer "x"`,
			`8: callers[5] "d": jwt[2].claims.a: want a string, not the number 5: quote it, as "5"`,
			`8: callers[5] "d": rate.per_second: 0 is not between 1 and 1000000`,
			`9: callers[6] "e": jwt: want a list of issuers with claims, not a mapping`,
			`10: callers[7]: want a mapping, not the number 5`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := withCallers(t, tc.text)
			_, err := Load(o)
			var found Errors
			if !errors.As(err, &found) {
				t.Fatalf("it loads: %v", err)
			}
			var got []string
			for _, one := range found {
				text := strings.TrimPrefix(one.Error(), o.CallersFile+":")
				if strings.Contains(text, "secret-token") {
					t.Errorf("a token is quoted: %s", text)
				}
				got = append(got, text)
			}
			less := func(a, b string) bool { return a < b } // within a line the order is that of the columns, which does not matter here
			if diff := cmp.Diff(tc.want, got, cmpopts.SortSlices(less)); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestF6_AFileOfCallersThatVanishedIsAnError(t *testing.T) {
	o := withCallers(t, "schema: 1\ncallers: []\n")
	set := loaded(t, o)
	if len(set.Callers.Callers) != 0 {
		t.Errorf("there are callers: %v", set.Callers)
	}
	remove(t, o.CallersFile)
	_, err := set.Next()
	if err == nil || !strings.Contains(err.Error(), "does not exist; the callers in force stay: to run without a callers file, restart the gateway") {
		t.Errorf("error %v", err)
	}
	if _, err := Load(o); err == nil || strings.Contains(err.Error(), "reload") {
		t.Errorf("at the first load: %v", err)
	}
}

func TestCallers_TheFileMayLieWithTheChains(t *testing.T) {
	o := withCallers(t, "schema: 1\ncallers: []\n")
	beside := filepath.Join(o.ChainsDir, "callers.yaml")
	if err := os.Rename(o.CallersFile, beside); err != nil {
		t.Fatal(err)
	}
	o.CallersFile = beside
	if set := loaded(t, o); len(set.Chains) != 2 {
		t.Errorf("the chains are %v", set.chainNames())
	}
}
