package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookgate/hookgate/gateway/credential/credentialtest"
)

// A platform issues the credentials of one kind, and its hook verifies them.
type platform struct {
	t *testing.T
	// auth is the entry's auth section.
	auth string
	// audience is the audience of the tokens that the hook accepts.
	audience string
	// verify returns what is wrong with a request's credential at a given time.
	verify func(r *http.Request, body []byte, now time.Time) error
	// refusal is the status for an invalid credential.
	refusal int

	issuer credentialtest.JWTIssuer
	server *httptest.Server // where tokens are issued

	mu     sync.Mutex
	ahead  time.Duration // how far the hook's clock is ahead
	behind time.Duration // how far the issuer's clock is behind
	life   time.Duration // validity of a token
	down   bool          // the issuer is unavailable
	asked  int           // number of requests to the hook
	issued []string
}

// platforms returns a platform for each kind of credential that is issued or is
// a signature.
func platforms() map[string]func(*testing.T) *platform {
	return map[string]func(*testing.T) *platform{
		"aws_sigv4": func(t *testing.T) *platform {
			t.Helper()
			nothingOf(t, "AWS_PROFILE", "AWS_CA_BUNDLE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
				"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
			nowhere := filepath.Join(t.TempDir(), "none")
			t.Setenv("AWS_CONFIG_FILE", nowhere)
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", nowhere)
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
			t.Setenv("AWS_SECRET_ACCESS_KEY", canary+"-of-the-access-key")
			t.Setenv("AWS_SESSION_TOKEN", canary+"-of-the-session")
			return &platform{
				t: t, auth: `{aws_sigv4: {region: eu-central-1, service: lambda}}`, audience: "lambda", refusal: http.StatusForbidden,
			}
		},
		"google_id_token": func(t *testing.T) *platform {
			t.Helper()
			p := issuing(t, func(p *platform, w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Metadata-Flavor", "Google")
				_, _ = io.WriteString(w, p.token(r.URL.Query().Get("audience")))
			})
			t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(p.server.URL, "http://"))
			p.audience = "https://hook-abc123-ew.a.run.app"
			p.auth = fmt.Sprintf(`{google_id_token: {audience: %q}}`, p.audience)
			return p
		},
		"azure": func(t *testing.T) *platform {
			t.Helper()
			nothingOf(t, "AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST", "MSI_ENDPOINT", "MSI_SECRET")
			p := issuing(t, func(p *platform, w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Identity-Header") != canary {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				resource := r.URL.Query().Get("resource")
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"access_token":%q,"expires_on":"%d","resource":%q,"token_type":"Bearer"}`,
					p.token(resource), p.expires().Unix(), resource)
			})
			t.Setenv("IDENTITY_ENDPOINT", p.server.URL+"/msi/token")
			t.Setenv("IDENTITY_HEADER", canary)
			// The SDK caches tokens of managed identities for the whole
			// process.
			p.audience = "api://" + strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
			p.auth = fmt.Sprintf(`{azure: {scope: "%s/.default"}}`, p.audience)
			return p
		},
		"oauth2": func(t *testing.T) *platform {
			t.Helper()
			p := issuing(t, func(p *platform, w http.ResponseWriter, r *http.Request) {
				if user, password, _ := r.BasicAuth(); user != "gate" || password != canary {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`,
					p.token(r.FormValue("scope")), int(p.life.Seconds()))
			})
			p.audience = "dlp"
			p.auth = fmt.Sprintf(`{oauth2: {token_url: %q, client_id: gate, client_secret: "${file:secret}", scopes: [dlp]}}`, p.server.URL+"/token")
			return p
		},
	}
}

// nothingOf clears variables that a vendor's library would read.
func nothingOf(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		t.Setenv(name, "")
	}
}

// issuing is a platform whose tokens are JWTs.
func issuing(t *testing.T, issue func(*platform, http.ResponseWriter, *http.Request)) *platform {
	t.Helper()
	p := &platform{t: t, issuer: credentialtest.NewJWTIssuer(t, "key-1"), life: 5 * time.Minute, refusal: http.StatusUnauthorized}
	p.verify = func(r *http.Request, _ []byte, now time.Time) error {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return errors.New("no bearer token")
		}
		_, err := credentialtest.VerifyJWT(token, p.issuer.JWKS(), p.audience, now)
		return err
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.down {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, canary)
			return
		}
		issue(p, w, r)
	}))
	t.Cleanup(p.server.Close)
	return p
}

func (p *platform) expires() time.Time { return time.Now().Add(p.life - p.behind) }

// token issues a token. The caller holds the lock.
func (p *platform) token(audience string) string {
	token := p.issuer.Sign(p.t, map[string]any{"aud": audience, "exp": p.expires().Unix()})
	p.issued = append(p.issued, token)
	return token
}

// hook verifies the credential of each request. A refusal echoes everything
// that was sent.
func (p *platform) hook() *httptest.Server {
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller hung up
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked++
		if err := p.verified(r, body); err != nil {
			w.WriteHeader(p.refusal)
			_, _ = fmt.Fprintf(w, "%v: %v", err, r.Header)
			return
		}
		_, _ = io.WriteString(w, `{"decision":"allow"}`)
	}))
	p.t.Cleanup(hook.Close)
	return hook
}

func (p *platform) verified(r *http.Request, body []byte) error {
	now := func() time.Time { return time.Now().Add(p.ahead) }
	if p.verify != nil {
		return p.verify(r, body, now())
	}
	return credentialtest.SigV4Verifier{
		AccessKey: "AKIDEXAMPLE", Secret: canary + "-of-the-access-key", SessionToken: canary + "-of-the-session",
		Region: "eu-central-1", Service: p.audience, Now: now,
	}.Verify(r, body)
}

func TestEveryKindOfCredentialIsTakenByAHookThatVerifiesIt(t *testing.T) {
	for kind, of := range platforms() {
		t.Run(kind, func(t *testing.T) {
			p := of(t)
			r, decisions := remote(t, p.hook().URL+"/hook%20of/a?b=2&a=1%2B1", "signing: {secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}, auth: "+p.auth)
			for range 3 {
				if decision, reason := r.decide("", preText); decision != "allow" {
					t.Fatalf("%s: %s", decision, reason)
				}
			}
			if p.server != nil && len(p.issued) != 1 {
				t.Errorf("%d tokens were issued for three questions", len(p.issued))
			}
			wantSilence(t, r, decisions, p.issued)
		})
	}
}

func TestACredentialThatIsNotGoodDeniesAndSaysWhy(t *testing.T) {
	const (
		tokens    = "google_id_token azure oauth2"
		everybody = "aws_sigv4 " + tokens
		unhad     = "was not asked: its credential could not be obtained"
		refused   = "answered with status 40" // and 1 or 3
	)
	for _, c := range []struct {
		name, kinds    string
		spoil          func(*platform)
		cause, because string
		detail         string
	}{
		{"meant for somebody else", everybody, func(p *platform) { p.audience = "somebody-else" }, "status", refused, ""},
		{"10 minutes old by the hook's clock", everybody, func(p *platform) { p.ahead = 10 * time.Minute }, "status", refused, ""},
		{"10 minutes in the future by the hook's clock", "aws_sigv4", func(p *platform) { p.ahead = -10 * time.Minute }, "status", refused, ""},
		{
			"of an issuer whose clock is 10 minutes behind", "google_id_token azure",
			func(p *platform) { p.behind = 10 * time.Minute }, "auth", unhad, "check the clock of this machine",
		},
		{
			"of an issuer whose clock is 10 minutes behind, as the hook finds", "oauth2", // which says how long, and not until when
			func(p *platform) { p.behind = 10 * time.Minute }, "status", refused, "",
		},
		{"not to be had, as the issuer is down", tokens, func(p *platform) { p.down = true }, "auth", unhad, "answered with status 503"},
		{"not to be had, as there is no issuer", tokens, func(p *platform) { p.server.Close() }, "auth", unhad, "no token"},
		{"not to be had, as there are no keys", "aws_sigv4", func(p *platform) {
			nothingOf(p.t, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
		}, "auth", unhad, "aws_sigv4: no keys"},
	} {
		for kind, of := range platforms() {
			if !strings.Contains(c.kinds, kind) {
				continue
			}
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				p := of(t)
				c.spoil(p)
				r, decisions := remote(t, p.hook().URL, "timeout_ms: 20000, auth: "+p.auth)
				decision, reason := r.decide("", preText)
				if prefix := "hook 'h' could not answer and denies on failure: " + c.because; decision != "deny" || !strings.HasPrefix(reason, prefix) {
					t.Errorf("%s: %s", decision, reason)
				}
				if wantAsked := c.cause == "status"; (p.asked > 0) != wantAsked {
					t.Errorf("the hook was asked %d times", p.asked)
				}
				if log := decisions.String(); !strings.Contains(log, fmt.Sprintf(`"cause":%q`, c.cause)) || !strings.Contains(log, c.detail) {
					t.Errorf("the decision log says %s", log)
				}
				r.wantMetric(fmt.Sprintf(`hookgate_hook_failures_total{binding="webhook",cause=%q,hook="h"}`, c.cause), "1")
				wantSilence(t, r, decisions, p.issued, reason)
			})
		}
	}
}
