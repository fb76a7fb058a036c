package credential

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookgate/hookgate/gateway/credential/credentialtest"
)

const audience = "https://hook-abc123-ew.a.run.app"

func newGoogle(t *testing.T, file string) *Token {
	t.Helper()
	token, err := NewGoogleIDToken(GoogleIDTokenOptions{Audience: audience, CredentialsFile: file})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// bearer returns the token that a credential sends.
func bearer(t *testing.T, a authorizer) string {
	t.Helper()
	got, err := authorized(t, a)
	if err != nil {
		t.Fatal(err)
	}
	token, ok := strings.CutPrefix(got, "Bearer ")
	if !ok {
		t.Fatalf("authorized with %q", got)
	}
	return token
}

// metadataServer imitates the platform's metadata server and makes the library
// use it.
func metadataServer(t *testing.T, issuer credentialtest.JWTIssuer, life time.Duration) *stub {
	t.Helper()
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" || r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/identity" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Metadata-Flavor", "Google")
		_, _ = io.WriteString(w, issuer.Sign(t, map[string]any{
			"aud": r.URL.Query().Get("audience"), "iss": "https://accounts.google.com", "email": "gateway@project.iam.gserviceaccount.com",
			"iat": time.Now().Unix(), "exp": time.Now().Add(life).Unix(),
		})+"\n")
	})
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(s.URL, "http://"))
	return s
}

func TestA1_AnIDTokenOfTheMetadataServerIsOneThatTheServiceAccepts(t *testing.T) {
	issuer := credentialtest.NewJWTIssuer(t, "key-1")
	server := metadataServer(t, issuer, time.Hour)
	google := newGoogle(t, "")
	for range 3 {
		claims, err := credentialtest.VerifyJWT(bearer(t, google), issuer.JWKS(), audience, time.Now())
		if err != nil || claims["email"] != "gateway@project.iam.gserviceaccount.com" {
			t.Errorf("claims %v: %v", claims, err)
		}
	}
	if n := server.count(); n != 1 {
		t.Errorf("the metadata server was asked %d times", n)
	}
	if left := time.Until(google.Health().ValidUntil); left < 59*time.Minute || left > time.Hour {
		t.Errorf("valid for %v", left)
	}

	token := bearer(t, google)
	for name, err := range map[string]error{
		"another service":               errOf(credentialtest.VerifyJWT(token, issuer.JWKS(), "https://other.a.run.app", time.Now())),
		"a clock that is an hour ahead": errOf(credentialtest.VerifyJWT(token, issuer.JWKS(), audience, time.Now().Add(time.Hour))),
		"the keys of another issuer":    errOf(credentialtest.VerifyJWT(token, credentialtest.NewJWTIssuer(t, "key-1").JWKS(), audience, time.Now())),
	} {
		if err == nil {
			t.Errorf("%s accepts it too", name)
		}
	}
}

func errOf(_ map[string]any, err error) error { return err }

// serviceAccount writes a credentials file in the format of Google's console.
func serviceAccount(t *testing.T, key credentialtest.JWTIssuer, tokenURI string, change func(map[string]any)) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key.Private)
	if err != nil {
		t.Fatal(err)
	}
	return jsonFile(t, map[string]any{
		"type": "service_account", "client_email": "sa@project.iam.gserviceaccount.com", "private_key_id": key.ID,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokenURI,
	}, change)
}

func jsonFile(t *testing.T, fields map[string]any, change func(map[string]any)) string {
	t.Helper()
	if change != nil {
		change(fields)
	}
	all, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(name, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestA1_AServiceAccountTradesItsOwnSignatureForAnIDToken(t *testing.T) {
	google, account := credentialtest.NewJWTIssuer(t, "google-1"), credentialtest.NewJWTIssuer(t, "account-1")
	var tokenURI string
	endpoint := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			t.Errorf("asked for %v: %v", r.Form, err)
		}
		claims, err := credentialtest.VerifyJWT(r.Form.Get("assertion"), account.JWKS(), tokenURI, time.Now())
		if err != nil || claims["iss"] != "sa@project.iam.gserviceaccount.com" {
			t.Errorf("assertion of %v: %v", claims, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answers(http.StatusOK, `{"id_token":"`+google.Sign(t, map[string]any{
			"aud": claims["target_audience"], "email": claims["iss"], "exp": time.Now().Add(time.Hour).Unix(),
		})+`"}`)(w, r)
	})
	tokenURI = endpoint.URL + "/token"
	claims, err := credentialtest.VerifyJWT(bearer(t, newGoogle(t, serviceAccount(t, account, tokenURI, nil))), google.JWKS(), audience, time.Now())
	if err != nil || claims["email"] != "sa@project.iam.gserviceaccount.com" {
		t.Errorf("claims %v: %v", claims, err)
	}
}

func TestA1_AServiceAccountWithoutATokenURIAsksGoogle(t *testing.T) {
	google, account := credentialtest.NewJWTIssuer(t, "google-1"), credentialtest.NewJWTIssuer(t, "account-1")
	token := newGoogle(t, serviceAccount(t, account, "", nil))
	var asked string
	over(token, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		answers(http.StatusOK, `{"id_token":"`+google.Sign(t, map[string]any{"aud": audience, "exp": time.Now().Add(time.Hour).Unix()})+`"}`)(w, r)
	})
	if _, err := credentialtest.VerifyJWT(bearer(t, token), google.JWKS(), audience, time.Now()); err != nil {
		t.Error(err)
	}
	if asked != "https://oauth2.googleapis.com/token" {
		t.Errorf("asked %s", asked)
	}
}

// federation writes the file of a workload identity federation, whose subject
// token is in another file.
func federation(t *testing.T, base string, change func(map[string]any)) string {
	t.Helper()
	subject := filepath.Join(t.TempDir(), "subject")
	if err := os.WriteFile(subject, []byte("token-of-the-cluster"), 0o600); err != nil {
		t.Fatal(err)
	}
	return jsonFile(t, map[string]any{
		"type": "external_account", "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
		"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": base + "/sts",
		"service_account_impersonation_url": base + "/v1/projects/-/serviceAccounts/sa@project.iam.gserviceaccount.com:generateAccessToken",
		"credential_source":                 map[string]any{"file": subject},
	}, change)
}

func TestA1_AFederatedWorkloadGetsAnIDTokenOfTheAccountItImpersonates(t *testing.T) {
	google := credentialtest.NewJWTIssuer(t, "google-1")
	endpoint := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sts":
			if err := r.ParseForm(); err != nil || r.Form.Get("subject_token") != "token-of-the-cluster" || r.Form.Get("scope") != cloudPlatform {
				t.Errorf("STS was asked for %v: %v", r.Form, err)
			}
			answers(http.StatusOK, `{"access_token":"federated","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":3600}`)(w, r)
		case "/v1/projects/-/serviceAccounts/sa@project.iam.gserviceaccount.com:generateIdToken":
			var question struct {
				Audience     string `json:"audience"`
				IncludeEmail bool   `json:"includeEmail"`
			}
			if err := json.NewDecoder(r.Body).Decode(&question); err != nil || !question.IncludeEmail || r.Header.Get("Authorization") != "Bearer federated" {
				t.Errorf("asked for %+v with %v: %v", question, r.Header, err)
			}
			answers(http.StatusOK, `{"token":"`+google.Sign(t, map[string]any{"aud": question.Audience, "exp": time.Now().Add(time.Hour).Unix()})+`"}`)(w, r)
		default:
			t.Errorf("asked for %s", r.URL.Path)
		}
	})
	if _, err := credentialtest.VerifyJWT(bearer(t, newGoogle(t, federation(t, endpoint.URL, nil))), google.JWKS(), audience, time.Now()); err != nil {
		t.Error(err)
	}
}

func TestA2_AnIDTokenIsRenewedByTheTimeThatStandsInIt(t *testing.T) {
	issuer := credentialtest.NewJWTIssuer(t, "key-1")
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		token := newGoogle(t, "")
		over(token, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			_, _ = io.WriteString(w, issuer.Sign(t, map[string]any{"aud": audience, "jti": asked, "exp": time.Now().Add(time.Hour).Unix()}))
		})
		first := bearer(t, token)
		at(54 * time.Minute)
		if got := bearer(t, token); got != first || asked != 1 {
			t.Errorf("after 54 min it was renewed: %d", asked)
		}
		at(56 * time.Minute)
		if got := bearer(t, token); got != first {
			t.Error("a call waited for a renewal though the token was valid")
		}
		synctest.Wait()
		if got := bearer(t, token); got == first || asked != 2 {
			t.Errorf("after 56 min it was not renewed: %d", asked)
		}
	})
}

func TestA1_WithoutAnIDTokenTheErrorSaysWhatHappened(t *testing.T) {
	payload := func(s string) string { return "canary." + base64.RawURLEncoding.EncodeToString([]byte(s)) + ".canary" }
	const metadata = "GET http://WHERE/computeMetadata/v1/instance/service-accounts/default/identity: "
	account := credentialtest.NewJWTIssuer(t, "account-1")
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		file   func(t *testing.T, url string) string
		want   string // WHERE stands for the stub's address, FILE for the file
	}{
		{"no account on this machine", answers(http.StatusNotFound, "canary"), nil, metadata + "answered with status 404, but the answer contained no usable credential"},
		{"an audience that is none", answers(http.StatusBadRequest, "canary"), nil, metadata + "answered with status 400, but the answer contained no usable credential"},
		{"a page", answers(http.StatusOK, "<html>canary</html>"), nil, metadata + "answered with status 200 (the issued token is not a JWT)"},
		{"a token of another kind", answers(http.StatusOK, "canary.canary.canary"), nil, metadata + "answered with status 200 (the issued token is not a JWT with an expiry time)"},
		{"a token without a time", answers(http.StatusOK, payload(`{"aud":"canary"}`)), nil, metadata + "answered with status 200 (the issued token is not a JWT with an expiry time)"},
		{"a token that has expired", answers(http.StatusOK, payload(`{"exp":1}`)), nil, metadata + "answered with status 200 (the issued token expired "},
		{"a token in three lines", answers(http.StatusOK, payload(fmt.Sprintf(`{"exp":%d}`, time.Now().Add(time.Hour).Unix()))+"\r\nX: canary"), nil, metadata + "answered with status 200 (the token contains a blank or another character that is not allowed in tokens)"},
		{"a file that is not there", nil, func(t *testing.T, _ string) string {
			t.Helper()
			return filepath.Join(t.TempDir(), "none.json")
		}, "open FILE: no such file or directory"},
		{"a file that is not JSON", nil, func(t *testing.T, _ string) string {
			t.Helper()
			name := filepath.Join(t.TempDir(), "x.json")
			if err := os.WriteFile(name, []byte("canary"), 0o600); err != nil {
				t.Fatal(err)
			}
			return name
		}, "credentials file FILE: it is not a JSON credentials file"},
		{"a user's file", nil, func(t *testing.T, _ string) string {
			t.Helper()
			return jsonFile(t, map[string]any{"type": "authorized_user", "refresh_token": "canary"}, nil)
		}, "credentials file FILE: its type is neither service_account nor external_account: other types cannot issue ID tokens for services"},
		{"an account without a key", nil, func(t *testing.T, url string) string {
			t.Helper()
			return serviceAccount(t, account, url, func(f map[string]any) { f["private_key"] = "canary" })
		}, "credentials file FILE: it has no client_email, or no private_key in PEM format"},
		{"an account with a broken key", nil, func(t *testing.T, url string) string {
			t.Helper()
			return serviceAccount(t, account, url, func(f map[string]any) {
				f["private_key"] = "-----BEGIN PRIVATE KEY-----\nY2FuYXJ5\n-----END PRIVATE KEY-----\n"
			})
		}, "no request was made, because neither the environment nor files contain the necessary settings ("},
		{"an account that Google does not know", answers(http.StatusBadRequest, `{"error":"invalid_grant","error_description":"canary"}`), func(t *testing.T, url string) string {
			t.Helper()
			return serviceAccount(t, account, url+"/token", nil)
		}, "POST http://WHERE/token: answered with status 400"},
		{"an exchange that brings nothing", answers(http.StatusOK, `{"access_token":"canary"}`), func(t *testing.T, url string) string {
			t.Helper()
			return serviceAccount(t, account, url+"/token", nil)
		}, "POST http://WHERE/token: answered with status 200, but the answer contained no usable credential"},
		{"a federation without an account", nil, func(t *testing.T, url string) string {
			t.Helper()
			return federation(t, url, func(f map[string]any) { delete(f, "service_account_impersonation_url") })
		}, "credentials file FILE: it has no service_account_impersonation_url that ends in :generateAccessToken, which is needed because only a service account has ID tokens"},
		{"a federation with a URL that is none", answers(http.StatusOK, `{"access_token":"canary","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":3600}`), func(t *testing.T, url string) string {
			t.Helper()
			return federation(t, url, func(f map[string]any) {
				f["service_account_impersonation_url"] = "http://canary\x7f/:generateAccessToken"
			})
		}, "POST http://WHERE/sts: answered with status 200 (credentials file FILE: its service_account_impersonation_url is not a valid URL)"},
		{"a federation without a source", nil, func(t *testing.T, url string) string {
			t.Helper()
			return federation(t, url, func(f map[string]any) { delete(f, "credential_source") })
		}, "no request was made, because neither the environment nor files contain the necessary settings ("},
		{"a federation that is refused", answers(http.StatusForbidden, `{"error":"access_denied","error_description":"canary"}`), func(t *testing.T, url string) string {
			t.Helper()
			return federation(t, url, nil)
		}, "POST http://WHERE/sts: answered with status 403"},
		{
			"an account that may not be impersonated", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/sts" {
					answers(http.StatusOK, `{"access_token":"canary","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":3600}`)(w, r)
					return
				}
				answers(http.StatusForbidden, `{"error":{"message":"canary"}}`)(w, r)
			}, func(t *testing.T, url string) string {
				t.Helper()
				return federation(t, url, nil)
			},
			"POST http://WHERE/v1/projects/-/serviceAccounts/sa@project.iam.gserviceaccount.com:generateIdToken: answered with status 403 (no ID token was issued for the impersonated account)",
		},
		{
			"an impersonation that brings a page", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/sts" {
					answers(http.StatusOK, `{"access_token":"canary","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":3600}`)(w, r)
					return
				}
				answers(http.StatusOK, `<html>canary</html>`)(w, r)
			}, func(t *testing.T, url string) string {
				t.Helper()
				return federation(t, url, nil)
			},
			"POST http://WHERE/v1/projects/-/serviceAccounts/sa@project.iam.gserviceaccount.com:generateIdToken: answered with status 200, but the answer contained no usable credential",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			endpoint := newStub(t, c.answer)
			where := strings.TrimPrefix(endpoint.URL, "http://")
			t.Setenv("GCE_METADATA_HOST", where)
			file := ""
			if c.file != nil {
				file = c.file(t, endpoint.URL)
			}
			got, err := authorized(t, newGoogle(t, file))
			want := "google_id_token: no token: " + strings.NewReplacer("WHERE", where, "FILE", file).Replace(c.want)
			if err == nil || got != "" || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("authorized with %q, error\n%v, want\n%s", got, err, want)
			}
		})
	}
	if _, err := NewGoogleIDToken(GoogleIDTokenOptions{}); err == nil || err.Error() != "google_id_token: audience: is missing" {
		t.Errorf("without an audience: %v", err)
	}
}

func TestA2_AMetadataServerThatComesUpLaterIsFound(t *testing.T) {
	issuer := credentialtest.NewJWTIssuer(t, "key-1")
	synctest.Test(t, func(t *testing.T) {
		up := false
		token := newGoogle(t, "")
		over(token, func(w http.ResponseWriter, _ *http.Request) {
			if !up {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			_, _ = io.WriteString(w, issuer.Sign(t, map[string]any{"aud": audience, "exp": time.Now().Add(time.Hour).Unix()}))
		})
		if got, err := authorized(t, token); err == nil {
			t.Errorf("authorized with %q", got)
		}
		up = true
		at(pause)
		bearer(t, token)
	})
}

// FuzzJWTExpiry checks that an accepted JWT has an expiry, and that nothing
// panics.
func FuzzJWTExpiry(f *testing.F) {
	f.Add("a." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":1614265330}`)) + ".b")
	f.Add("..")
	f.Add("a.e30.b")
	f.Add("a." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":1e400}`)) + ".b")
	f.Fuzz(func(t *testing.T, token string) {
		expires, err := jwtExpiry(token)
		if (err == nil) == expires.IsZero() {
			t.Errorf("%v and %v", expires, err)
		}
	})
}
