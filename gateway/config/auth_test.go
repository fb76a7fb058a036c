package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestACredentialIsReadWithItsValuesFilledIn(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"secret": "s3cret\n", "account.json": "{}"})
	for text, want := range map[string]Auth{
		`{bearer: "${file:secret}"}`:                           {Bearer: "s3cret"},
		`{basic: {user: "${A}", password: "${B}"}}`:            {Basic: &Basic{"1", "2"}},
		`{header: {name: x-functions-key, value: a$b}}`:        {Header: &Header{"X-Functions-Key", "a$b"}},
		`{aws_sigv4: {region: eu-central-1, service: lambda}}`: {AWS: &AWSSigV4{"eu-central-1", "lambda"}},
		`{google_id_token: {audience: "https://h"}}`:           {GoogleIDToken: &GoogleIDToken{Audience: "https://h"}},
		`{google_id_token: {audience: a, credentials_file: account.json}}`: {GoogleIDToken: &GoogleIDToken{
			Audience: "a", CredentialsFile: filepath.Join(dir, "account.json"), read: []byte("{}"),
		}},
		`{azure: {scope: "api://x/.default", client_id: c}}`: {Azure: &Azure{"api://x/.default", "c"}},
		`{oauth2: {token_url: "https://t", client_id: i, client_secret: "${file:secret}", scopes: [a, "${B}"]}}`: {
			OAuth2: &OAuth2{"https://t", "i", "s3cret", []string{"a", "2"}},
		},
	} {
		h := hookIn(t, dir, `{name: a, url: "https://h", auth: `+text+`}`)
		if h.Webhook.Auth == nil {
			t.Errorf("%s: no credential", text)
			continue
		}
		same(t, text, printedAuth(want), printedAuth(*h.Webhook.Auth))
	}
}

// printedAuth returns a credential with its pointers dereferenced.
func printedAuth(a Auth) map[string]any {
	all := map[string]any{"bearer": a.Bearer}
	if a.Basic != nil {
		all["basic"] = *a.Basic
	}
	if a.Header != nil {
		all["header"] = *a.Header
	}
	if a.AWS != nil {
		all["aws"] = *a.AWS
	}
	if a.GoogleIDToken != nil {
		all["google"] = []string{a.GoogleIDToken.Audience, a.GoogleIDToken.CredentialsFile, string(a.GoogleIDToken.read)}
	}
	if a.Azure != nil {
		all["azure"] = *a.Azure
	}
	if a.OAuth2 != nil {
		all["oauth2"] = *a.OAuth2
	}
	return all
}

func TestOneSecretToSignWithNeedsNoList(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string][]string{
		`signing: {secret: "${A}"}`:      {"1"},
		`signing: {secret: [x, "${B}"]}`: {"x", "2"},
		`max_in_flight: 1`:               nil,
	} {
		same(t, text, want, hookIn(t, dir, `{name: a, url: "https://h", `+text+`}`).Webhook.SigningKeys)
	}
}

func TestASecretOnAPlainWireIsWarnedOf(t *testing.T) {
	dir := t.TempDir()
	const (
		wire  = "the credential is sent to h.example in plain text: anyone on the network path can read and use it"
		token = "client_secret and tokens are sent in plain text: anyone on the network path can read and use them"
	)
	for text, want := range map[string][]string{
		`url: "http://h.example", auth: {bearer: CANARY}`:                                                                       {wire},
		`url: "http://h.example", auth: {aws_sigv4: {region: a, service: lambda}}`:                                              nil,
		`url: "http://127.0.0.1:1", auth: {bearer: CANARY}`:                                                                     nil,
		`url: "https://h.example", auth: {bearer: CANARY}`:                                                                      nil,
		`url: "https://h.example", auth: {oauth2: {token_url: "http://t.example/CANARY", client_id: i, client_secret: CANARY}}`: {token},
		`url: "https://h.example", auth: {oauth2: {token_url: "http://[::1]/t", client_id: i, client_secret: CANARY}}`:          nil,
	} {
		write(t, dir, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: a, " + text + "}\n"})
		set := loaded(t, Options{ConfigFile: filepath.Join(dir, "hooks.yaml")})
		var got []string
		for _, w := range set.Warnings {
			if !strings.HasPrefix(w.Message, "calls and answers are sent") {
				got = append(got, w.Message)
			}
			if w.Line != 3 {
				t.Errorf("%s: warned of at line %d", text, w.Line)
			}
		}
		same(t, text, want, got)
	}
}

func TestF1_NoMistakeInACredentialQuotesIt(t *testing.T) {
	for _, name := range []string{"auth.yaml", "signing.yaml"} {
		_, err := Load(Options{ConfigFile: filepath.Join("testdata", "mistakes", name), Guards: []string{"shell"}})
		if err == nil {
			t.Fatalf("%s is taken", name)
		}
		for _, secret := range []string{"CANARY", "4242424242"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %s is in\n%v", name, secret, err)
			}
		}
	}
}
