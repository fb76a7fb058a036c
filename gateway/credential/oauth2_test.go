package credential

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// idp is a token endpoint for one client. It accepts the secret in one or both
// of the two ways.
type idp struct {
	basic, body bool
	answer      http.HandlerFunc
}

func (i idp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if err := r.ParseForm(); err != nil || r.Method != http.MethodPost || r.Form.Get("grant_type") != "client_credentials" {
		answers(http.StatusBadRequest, `{"error":"invalid_request"}`)(w, r)
		return
	}
	switch {
	case basic && i.basic:
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	case !basic && i.body:
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	if id != "gate way" || secret != "s:e+c&ret" {
		answers(http.StatusUnauthorized, `{"error":"invalid_client","error_description":"canary"}`)(w, r)
		return
	}
	i.answer(w, r)
}

func newOAuth2(t *testing.T, tokenURL string) *Token {
	t.Helper()
	token, err := NewOAuth2(OAuth2Options{
		TokenURL: tokenURL, ClientID: "gate way", ClientSecret: "s:e+c&ret", Scopes: []string{"hooks.ask", "hooks.tell"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestA1_AClientGetsItsTokenHoweverItsSecretIsToBeSent(t *testing.T) {
	for _, c := range []struct {
		name  string
		idp   idp
		asked int
	}{
		{"as Basic", idp{basic: true}, 1},
		{"in the body", idp{body: true}, 2},
		{"either way", idp{basic: true, body: true}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			c.idp.answer = func(w http.ResponseWriter, r *http.Request) {
				if got := r.Form.Get("scope"); got != "hooks.ask hooks.tell" {
					t.Errorf("scope %q", got)
				}
				n++
				answers(http.StatusOK, fmt.Sprintf(`{"access_token":"token-%d","token_type":"bearer","expires_in":3600}`, n))(w, r)
			}
			endpoint := newStub(t, c.idp.ServeHTTP)
			token := newOAuth2(t, endpoint.URL+"/token")
			for range 3 {
				if got, err := authorized(t, token); err != nil || got != "Bearer token-1" {
					t.Errorf("authorized with %q: %v", got, err)
				}
			}
			if got := endpoint.count(); got != c.asked {
				t.Errorf("the endpoint was asked %d times, want %d", got, c.asked)
			}
		})
	}
}

func TestA2_ATokenLivesAsLongAsItsIssuerSays(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		life         time.Duration
	}{
		{"an hour", `{"access_token":"x","expires_in":3600}`, time.Hour - 10*time.Second},
		{"a number in quotes", `{"access_token":"x","expires_in":"600"}`, 10*time.Minute - 10*time.Second},
		{"a time that is not said", `{"access_token":"x"}`, unstatedLife - 10*time.Second},
		{"ten seconds", `{"access_token":"x","expires_in":10}`, 9 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				token := newOAuth2(t, "https://idp.test/token")
				over(token, func(w http.ResponseWriter, r *http.Request) {
					if asked++; asked > 1 {
						answers(http.StatusServiceUnavailable, "down")(w, r)
						return
					}
					answers(http.StatusOK, c.answer)(w, r)
				})
				if _, err := authorized(t, token); err != nil {
					t.Fatal(err)
				}
				at(c.life - time.Nanosecond)
				if got, err := authorized(t, token); err != nil || got != "Bearer x" {
					t.Errorf("just before it ends: %q, %v", got, err)
				}
				synctest.Wait()
				at(c.life)
				if got, err := authorized(t, token); err == nil || got != "" {
					t.Errorf("after it ended it was used: %q", got)
				}
			})
		})
	}
}

func TestA1_WithoutATokenNothingIsAuthorizedAndTheErrorSaysWhatHappened(t *testing.T) {
	const long = "an-error-that-is-not-one-of-those-that-are-known-and-has-canary-in-it"
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"a secret that is wrong", answers(http.StatusUnauthorized, `{"error":"invalid_client","error_description":"canary"}`), "answered with status 401 (invalid_client)"},
		{"a refusal with status 200", answers(http.StatusOK, `{"error":"invalid_scope","error_uri":"canary"}`), "answered with status 200 (invalid_scope)"},
		{"an error of its own making", answers(http.StatusBadRequest, `{"error":"`+long+`"}`), "answered with status 400, but the answer contained no usable credential"},
		{"a page", answers(http.StatusOK, `<html>canary</html>`), "answered with status 200, but the answer contained no usable credential"},
		{"nothing", answers(http.StatusOK, ``), "answered with status 200, but the answer contained no usable credential"},
		{"no token", answers(http.StatusOK, `{"token_type":"Bearer"}`), "answered with status 200, but the answer contained no usable credential"},
		{"another kind of token", answers(http.StatusOK, `{"access_token":"canary","token_type":"DPoP"}`), "answered with status 200 (the issued token is not a bearer token)"},
		{"a token of two lines", answers(http.StatusOK, `{"access_token":"canary\r\nX: y"}`), "answered with status 200 (the token contains a blank or another character that is not allowed in tokens)"},
		{"a token without end", answers(http.StatusOK, `{"access_token":"`+strings.Repeat("canary", 3000)+`"}`), "answered with status 200 (the token has 18000 bytes, and at most 16384 can be sent)"},
		{"a token that has expired", answers(http.StatusOK, `{"access_token":"canary","expires_in":-60}`), "answered with status 200 (the issued token expired 1m0s ago: check the clock of this machine)"},
		{"an outage", answers(http.StatusBadGateway, `canary`), "answered with status 502, but the answer contained no usable credential"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere?canary", http.StatusTemporaryRedirect)
		}, "answered with status 307, but the answer contained no usable credential"},
		{"an answer that breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"access_token":"canary"`)
		}, "answered with status 200, and then broke off, but the answer contained no usable credential"},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "the connection ended before the answer was complete"},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) {
			hijacker, ok := w.(http.Hijacker)
			if !ok {
				return
			}
			conn, _, err := hijacker.Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "canary canary\r\n\r\n")
				_ = conn.Close()
			}
		}, "no valid HTTP answer, but the answer contained no usable credential"},
	} {
		t.Run(c.name, func(t *testing.T) {
			endpoint := newStub(t, c.answer)
			got, err := authorized(t, newOAuth2(t, endpoint.URL+"/token?key=canary"))
			want := "oauth2: no token: POST " + endpoint.URL + "/token: " + c.want
			if err == nil || got != "" || err.Error() != want {
				t.Errorf("authorized with %q, error\n%v, want\n%s", got, err, want)
			}
		})
	}
}

func TestA1_AnEndpointThatCannotBeReachedIsNamedWithTheReason(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	untrusted.StartTLS()
	defer untrusted.Close()
	for _, c := range []struct{ name, url, want string }{
		{"nobody listens", "http://" + gone + "/token", "oauth2: no token: POST http://" + gone + "/token: dial tcp " + gone + ": connect: connection refused"},
		{"a certificate that nobody trusts", untrusted.URL + "/token", "oauth2: no token: POST " + untrusted.URL + "/token: tls: failed to verify certificate: x509: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := authorized(t, newOAuth2(t, c.url)); err == nil || got != "" || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("authorized with %q, error\n%v, want\n%s", got, err, c.want)
			}
		})
	}
}

func TestA4_AnEndpointThatHangsHoldsACallNoLongerThanItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := newOAuth2(t, "https://idp.test/token")
		token.header.wire = func() *wire {
			return &wire{next: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := token.Authorize(ctx, hookRequest(t, "https://x.test/", "{}"), nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(birth()) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(birth()), err)
		}
		_, err = authorized(t, token)
		if want := "oauth2: no token: POST https://idp.test/token: no answer in time"; err == nil || err.Error() != want || time.Since(birth()) != patience {
			t.Errorf("after %v: %v, want %s", time.Since(birth()), err, want)
		}
	})
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestA5_OptionsThatCannotBeRightAreRefusedWithoutBeingQuoted(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*OAuth2Options)
	}{
		{"no URL", "oauth2: token_url: is missing", func(o *OAuth2Options) { o.TokenURL = "" }},
		{"no URL but a text", "oauth2: token_url: is not a URL", func(o *OAuth2Options) { o.TokenURL = "https://canary:%zz/" }},
		{"another scheme", "oauth2: token_url: must begin with http:// or https://", func(o *OAuth2Options) { o.TokenURL = "ftp://canary/" }},
		{"no host", "oauth2: token_url: has no host", func(o *OAuth2Options) { o.TokenURL = "https:///canary" }},
		{"a password in the URL", "oauth2: token_url: contains a user: use client_id and client_secret instead", func(o *OAuth2Options) { o.TokenURL = "https://u:canary@idp.test/" }},
		{"a fragment", "oauth2: token_url: has a fragment, which is never sent", func(o *OAuth2Options) { o.TokenURL = "https://idp.test/#canary" }},
		{"no client", "oauth2: client_id: is missing", func(o *OAuth2Options) { o.ClientID = "" }},
		{"no secret", "oauth2: client_secret: is missing", func(o *OAuth2Options) { o.ClientSecret = "" }},
		{"two scopes in one", `oauth2: scopes: "a b" is not a valid scope`, func(o *OAuth2Options) { o.Scopes = []string{"a b"} }},
		{"an empty scope", `oauth2: scopes: "" is not a valid scope`, func(o *OAuth2Options) { o.Scopes = []string{"a", ""} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := OAuth2Options{TokenURL: "https://idp.test/token", ClientID: "id", ClientSecret: "canary"}
			c.change(&o)
			if _, err := NewOAuth2(o); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestAProxyIsAskedAboutOthersButNotAboutThisMachine(t *testing.T) {
	asked := newStub(t, answers(http.StatusOK, `{"access_token":"x"}`))
	through, err := url.Parse(asked.URL)
	if err != nil {
		t.Fatal(err)
	}
	var about []string
	token, err := NewOAuth2(OAuth2Options{
		TokenURL: "http://idp.test/token", ClientID: "id", ClientSecret: "secret",
		Proxy: func(r *http.Request) (*url.URL, error) {
			about = append(about, r.URL.Host)
			return through, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := authorized(t, token); err != nil || got != "Bearer x" || len(about) != 1 || about[0] != "idp.test" {
		t.Errorf("authorized with %q: %v; the proxy was asked about %v", got, err, about)
	}
	for host, near := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "::1": true, "::ffff:127.0.0.1": true, "169.254.169.254": true, "fe80::1": true, "fd00:ec2::254": true,
		"idp.test": false, "10.0.0.1": false, "": false,
	} {
		if got := isNear(host); got != near {
			t.Errorf("%q is near: %v", host, got)
		}
	}
	refusing := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		raw(w, "HTTP/1.1 407 canary\r\nContent-Length: 0\r\n\r\n")
	})
	through, err = url.Parse(refusing.URL)
	if err != nil {
		t.Fatal(err)
	}
	secure, err := NewOAuth2(OAuth2Options{
		TokenURL: "https://idp.test/token", ClientID: "id", ClientSecret: "secret", Proxy: http.ProxyURL(through),
	})
	if err != nil {
		t.Fatal(err)
	}
	const refusal = "oauth2: no token: POST https://idp.test/token: the proxy answered with status 407"
	if got, err := authorized(t, secure); err == nil || err.Error() != refusal {
		t.Errorf("authorized with %q, error %v, want %s", got, err, refusal)
	}
	near := newStub(t, answers(http.StatusOK, `{"access_token":"y"}`))
	direct, err := NewOAuth2(OAuth2Options{
		TokenURL: near.URL, ClientID: "id", ClientSecret: "secret",
		Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New("was asked") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := authorized(t, direct); err != nil || got != "Bearer y" {
		t.Errorf("authorized with %q: %v", got, err)
	}
}
