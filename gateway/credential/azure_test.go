package credential

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookgate/hookgate/gateway/credential/credentialtest"
)

// azureNowhere hides everything that the SDK could find on this machine.
func azureNowhere(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST",
		"IDENTITY_ENDPOINT", "IDENTITY_HEADER", "IDENTITY_SERVER_THUMBPRINT", "MSI_ENDPOINT", "MSI_SECRET", "IMDS_ENDPOINT",
	} {
		if value, ok := os.LookupEnv(name); ok {
			t.Setenv(name, value) // so that the test's end restores it
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// newAzure returns a credential for a scope that no other test uses, because
// the SDK caches tokens of managed identities for the whole process.
func newAzure(t *testing.T, client string) (token *Token, resource string) {
	t.Helper()
	resource = "api://" + strings.NewReplacer("/", "-", "#", "-").Replace(t.Name())
	token, err := NewAzure(AzureOptions{Scope: resource + defaultScope, ClientID: client})
	if err != nil {
		t.Fatal(err)
	}
	return token, resource
}

func TestA1_AManagedIdentityGetsATokenOfItsPlatform(t *testing.T) {
	for name, client := range map[string]string{"assigned by the system": "", "assigned by a user": "11111111-2222-3333-4444-555555555555"} {
		t.Run(name, func(t *testing.T) {
			azureNowhere(t)
			issuer := credentialtest.NewJWTIssuer(t, "entra-1")
			token, resource := newAzure(t, client)
			platform := newStub(t, func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				if r.Header.Get("X-Identity-Header") != "secret-of-the-platform" || q.Get("resource") != resource || q.Get("client_id") != client {
					t.Errorf("asked for %v with %v", q, r.Header)
				}
				expires := time.Now().Add(24 * time.Hour).Unix()
				answers(http.StatusOK, fmt.Sprintf(`{"access_token":%q,"expires_on":"%d","resource":%q,"token_type":"Bearer"}`,
					issuer.Sign(t, map[string]any{"aud": resource, "exp": expires}), expires, resource))(w, r)
			})
			t.Setenv("IDENTITY_ENDPOINT", platform.URL+"/msi/token")
			t.Setenv("IDENTITY_HEADER", "secret-of-the-platform")
			for range 3 {
				if _, err := credentialtest.VerifyJWT(bearer(t, token), issuer.JWKS(), resource, time.Now()); err != nil {
					t.Error(err)
				}
			}
			if n := platform.count(); n != 1 {
				t.Errorf("the platform was asked %d times", n)
			}
			if left := time.Until(token.Health().ValidUntil); left < 23*time.Hour {
				t.Errorf("valid for %v", left)
			}
		})
	}
}

// entra imitates login.microsoftonline.com.
type entra struct {
	t       *testing.T
	issuer  credentialtest.JWTIssuer
	subject string // the accepted assertion
	scope   string
	asked   []string
}

func (e *entra) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.asked = append(e.asked, r.URL.Host+r.URL.Path)
	switch {
	case strings.HasSuffix(r.URL.Path, "/discovery/instance"):
		answers(http.StatusOK, `{"tenant_discovery_endpoint":"https://login.microsoftonline.com/tenant/v2.0/.well-known/openid-configuration",
			"metadata":[{"preferred_network":"login.microsoftonline.com","preferred_cache":"login.windows.net","aliases":["login.microsoftonline.com"]}]}`)(w, r)
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		answers(http.StatusOK, `{"issuer":"https://login.microsoftonline.com/tenant/v2.0","authorization_endpoint":"https://login.microsoftonline.com/tenant/oauth2/v2.0/authorize",
			"token_endpoint":"https://login.microsoftonline.com/tenant/oauth2/v2.0/token"}`)(w, r)
	case strings.HasSuffix(r.URL.Path, "/oauth2/v2.0/token"):
		if err := r.ParseForm(); err != nil || r.Form.Get("grant_type") != "client_credentials" || r.Form.Get("client_id") != "client" || !strings.Contains(r.Form.Get("scope"), e.scope) {
			e.t.Errorf("asked for %v: %v", r.Form, err)
		}
		if r.Form.Get("client_assertion") != e.subject {
			answers(http.StatusUnauthorized, `{"error":"invalid_client","error_description":"AADSTS700024: `+r.Form.Get("client_assertion")+`"}`)(w, r)
			return
		}
		answers(http.StatusOK, fmt.Sprintf(`{"token_type":"Bearer","expires_in":3599,"access_token":%q}`,
			e.issuer.Sign(e.t, map[string]any{"aud": strings.TrimSuffix(e.scope, defaultScope), "exp": time.Now().Add(time.Hour).Unix()})))(w, r)
	default:
		e.t.Errorf("asked for %s", r.URL)
	}
}

// workload sets the environment as a cluster's workload identity webhook does.
func workload(t *testing.T, subject string) {
	t.Helper()
	azureNowhere(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(subject), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AZURE_TENANT_ID", "tenant")
	t.Setenv("AZURE_CLIENT_ID", "client")
	t.Setenv("AZURE_FEDERATED_TOKEN_FILE", file)
}

func TestA1_AWorkloadIdentityTradesItsClustersTokenForOneOfEntra(t *testing.T) {
	workload(t, "token-of-the-cluster")
	token, resource := newAzure(t, "")
	e := &entra{t: t, issuer: credentialtest.NewJWTIssuer(t, "entra-1"), subject: "token-of-the-cluster", scope: resource + defaultScope}
	over(token, e.ServeHTTP)
	for range 3 {
		if _, err := credentialtest.VerifyJWT(bearer(t, token), e.issuer.JWKS(), resource, time.Now()); err != nil {
			t.Error(err)
		}
	}
	tokens := 0
	for _, asked := range e.asked {
		if strings.HasSuffix(asked, "/token") {
			tokens++
		}
		if !strings.HasPrefix(asked, "login.microsoft") {
			t.Errorf("asked %s", asked)
		}
	}
	if tokens != 1 {
		t.Errorf("asked %v", e.asked)
	}
}

func TestA1_WithoutATokenOfEntraTheErrorSaysWhatHappened(t *testing.T) {
	t.Run("a cluster whose token is refused", func(t *testing.T) {
		workload(t, "canary")
		token, resource := newAzure(t, "")
		over(token, (&entra{t: t, subject: "another", scope: resource + defaultScope}).ServeHTTP)
		got, err := authorized(t, token)
		const want = "azure: no token: POST https://login.microsoftonline.com/tenant/oauth2/v2.0/token: answered with status 401, but the answer contained no usable credential"
		if err == nil || got != "" || err.Error() != want {
			t.Errorf("authorized with %q, error\n%v, want\n%s", got, err, want)
		}
	})
	t.Run("a cluster whose token is gone", func(t *testing.T) {
		workload(t, "canary")
		missing := filepath.Join(t.TempDir(), "none")
		t.Setenv("AZURE_FEDERATED_TOKEN_FILE", missing)
		token, resource := newAzure(t, "")
		over(token, (&entra{t: t, subject: "another", scope: resource + defaultScope}).ServeHTTP)
		got, err := authorized(t, token)
		if err == nil || got != "" || !strings.HasPrefix(err.Error(), "azure: no token: ") || strings.Contains(err.Error(), "canary") {
			t.Errorf("authorized with %q, error %v", got, err)
		}
	})
	t.Run("a platform that azidentity serves only over a transport of its own", func(t *testing.T) {
		azureNowhere(t)
		t.Setenv("IDENTITY_ENDPOINT", "https://127.0.0.1:1/")
		t.Setenv("IDENTITY_HEADER", "canary")
		t.Setenv("IDENTITY_SERVER_THUMBPRINT", "canary")
		token, _ := newAzure(t, "")
		if got, err := authorized(t, token); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("authorized with %q, error %v", got, err)
		}
	})
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a platform that refuses":         {answers(http.StatusBadRequest, `{"message":"canary"}`), "answered with status 400, but the answer contained no usable credential"},
		"a platform that is down":         {answers(http.StatusServiceUnavailable, "canary"), "answered with status 503, but the answer contained no usable credential"},
		"a platform that speaks nonsense": {answers(http.StatusOK, "<html>canary</html>"), "answered with status 200, but the answer contained no usable credential"},
		"a platform that issues nothing":  {answers(http.StatusOK, `{"expires_on":"9999999999"}`), "answered with status 200"},
		"a platform that hangs up":        {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "the connection ended before the answer was complete"},
		"a platform that echoes": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, r.Header.Get("X-Identity-Header"))
		}, "answered with status 401, but the answer contained no usable credential"},
	} {
		t.Run(name, func(t *testing.T) {
			azureNowhere(t)
			platform := newStub(t, c.answer)
			t.Setenv("IDENTITY_ENDPOINT", platform.URL+"/msi/token")
			t.Setenv("IDENTITY_HEADER", "canary")
			token, _ := newAzure(t, "")
			got, err := authorized(t, token)
			want := "azure: no token: GET " + platform.URL + "/msi/token: " + c.want
			if err == nil || got != "" || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("authorized with %q, error\n%v, want\n%s", got, err, want)
			}
		})
	}
}

func TestA5_AScopeThatIsNoneIsRefused(t *testing.T) {
	for want, scope := range map[string]string{
		"azure: scope: is missing":                                                  "",
		`azure: scope: "api://x" must be one scope and end in /.default`:            "api://x",
		`azure: scope: "api://x a/.default" must be one scope and end in /.default`: "api://x a/.default",
	} {
		if _, err := NewAzure(AzureOptions{Scope: scope}); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
