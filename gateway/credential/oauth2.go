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

// unstatedLife is how long a token is taken to be valid whose issuer does not
// say.
const unstatedLife = 5 * time.Minute

// OAuth2Options configure the client credentials grant (RFC 6749, 4.4).
type OAuth2Options struct {
	// TokenURL is the token endpoint: http or https, without a user.
	TokenURL string
	// ClientID and ClientSecret are sent as HTTP Basic first, and in the body
	// where the endpoint does not take that.
	ClientID, ClientSecret string
	// Scopes asked for; may be none.
	Scopes []string
	// Proxy names the proxy of a request for a token, but is not asked about
	// this machine and metadata services. Nil means none, whatever the
	// environment says.
	Proxy func(*http.Request) (*url.URL, error)
	// Permit is asked about every address that is connected to. Nil permits all.
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
			return nil, fmt.Errorf("oauth2: scopes: %q is not the name of a scope", s)
		}
	}
	// It remembers which way of sending the secret the endpoint took.
	grant := &clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.TokenURL, Scopes: o.Scopes,
	}
	return newToken("oauth2", shown(u), o.Proxy, o.Permit, func(ctx context.Context, w *wire) (string, time.Time, error) {
		token, err := grant.Token(context.WithValue(ctx, oauth2.HTTPClient, w.client()))
		switch {
		case err != nil:
			return "", time.Time{}, err
		case token.Type() != "Bearer":
			return "", time.Time{}, plain("what was issued is not a bearer token")
		case token.Expiry.IsZero():
			return token.AccessToken, time.Now().Add(unstatedLife), nil
		}
		return token.AccessToken, token.Expiry, nil
	}), nil
}

// tokenURL checks where secrets are to be sent. Its errors quote nothing that
// may be one.
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
		return nil, errors.New("has a user in it; say client_id and client_secret instead")
	case u.Fragment != "":
		return nil, errors.New("has a fragment, which is never sent")
	}
	return u, nil
}

// isScope reports whether a text is a scope-token of RFC 6749.
func isScope(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c > '~' || c == '"' || c == '\\'
	})
}
