package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hookgate/hookgate/transport"
)

// Token is a bearer token that is issued on request and expires. The zero Token
// authorizes nothing and returns an error.
type Token struct {
	kind, purpose string
	header        *renewed[string] // the value of the Authorization header
}

// newToken returns a Token whose fetcher connects only where permit allows.
func newToken(kind, purpose string, p proxy, permit transport.Permit, fetch fetcher[string]) *Token {
	return &Token{kind: kind, purpose: purpose, header: &renewed[string]{
		wire: func() *wire { return p.wire(permit) },
		fetch: func(ctx context.Context, w *wire) (string, time.Time, error) {
			token, expires, err := fetch(ctx, w)
			if err == nil {
				err = checkToken(token)
			}
			return "Bearer " + token, expires, err
		},
	}}
}

// Authorize sets the Authorization header to a valid token, fetching one first
// if necessary.
func (t *Token) Authorize(ctx context.Context, r *http.Request, _ []byte) error {
	if t.header == nil {
		return errors.New("no credential is configured")
	}
	value, err := t.header.get(ctx)
	if err != nil {
		return fmt.Errorf("%s: no token: %w", t.kind, err)
	}
	r.Header[headerAuthorization] = []string{value}
	return nil
}

// Forget makes the next call fetch another token, unless this one was fetched
// recently. Call it when an endpoint answers 401 to a token that should be
// valid.
func (t *Token) Forget() { t.header.forget() }

// Health returns the current state.
func (t *Token) Health() Health { return t.header.health() }

// String returns the kind and purpose of the credential. It contains no secret.
func (t *Token) String() string { return t.kind + " for " + t.purpose }
