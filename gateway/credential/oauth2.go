package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/hookgate/hookgate/transport"
)

// unstatedLife is the assumed validity of a token whose issuer states none.
const unstatedLife = 5 * time.Minute

// OAuth2Options configure the client credentials grant (RFC 6749, section 4.4).
type OAuth2Options struct {
	// TokenURL is the token endpoint: http or https, without userinfo.
	TokenURL string
	// ClientID and ClientSecret are sent by HTTP Basic first, and in the body if
	// the endpoint does not accept that.
	ClientID, ClientSecret string
	// Scopes are the requested scopes; may be empty.
	Scopes []string
	// Proxy returns the proxy for a token request. It is not asked about this
	// machine and metadata services. Nil means no proxy, whatever the
	// environment says.
	Proxy func(*http.Request) (*url.URL, error)
	// Permit checks every address before a connection. Nil permits all.
	Permit transport.Permit
}

// NewOAuth2 returns the credential of an OAuth 2.0 client.
func NewOAuth2(o OAuth2Options) (*Token, error) {
	u, err := tokenURL(o.TokenURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("oauth2: token_url: %w", err)
	case o.ClientID == "":
		return nil, errors.New("oauth2: client_id: is missing")
	case o.ClientSecret == "":
		return nil, errors.New("oauth2: client_secret: is missing")
	}
	for _, s := range o.Scopes {
		if !isScope(s) {
			return nil, fmt.Errorf("oauth2: scopes: %q is not a valid scope", s)
		}
	}
	// The config remembers in which way the endpoint accepted the secret.
	grant := &clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.TokenURL, Scopes: o.Scopes,
	}
	return newToken("oauth2", shown(u), o.Proxy, o.Permit, func(ctx context.Context, w *wire) (string, time.Time, error) {
		token, err := grant.Token(context.WithValue(ctx, oauth2.HTTPClient, w.client()))
		switch {
		case err != nil:
			return "", time.Time{}, err
		case token.Type() != "Bearer":
			return "", time.Time{}, plain("the issued token is not a bearer token")
		case token.Expiry.IsZero():
			return token.AccessToken, time.Now().Add(unstatedLife), nil
		}
		return token.AccessToken, token.Expiry, nil
	}), nil
}

// tokenURL checks the URL to which secrets are sent. Its errors quote nothing
// that may be secret.
func tokenURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, errors.New("is missing")
	case err != nil:
		return nil, errors.New("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("must begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.User != nil:
		return nil, errors.New("contains a user: use client_id and client_secret instead")
	case u.Fragment != "":
		return nil, errors.New("has a fragment, which is never sent")
	}
	return u, nil
}

// isScope reports whether s is a scope-token of RFC 6749.
func isScope(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c > '~' || c == '"' || c == '\\'
	})
}
