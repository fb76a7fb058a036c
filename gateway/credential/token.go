package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hookgate/hookgate/transport"
)

// Token is a bearer token that somebody issues and that expires. The zero Token
// authorizes nothing.
type Token struct {
	kind, purpose string
	header        *renewed[string] // the value of Authorization
}

// newToken takes a fetcher of tokens, which connects where permit permits alone.
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

// Authorize sets the header Authorization to a token that is valid, and has one
// fetched first where there is none.
func (t *Token) Authorize(ctx context.Context, r *http.Request, _ []byte) error {
	if t.header == nil {
		return errors.New("there is no credential")
	}
	value, err := t.header.get(ctx)
	if err != nil {
		return fmt.Errorf("%s: no token: %w", t.kind, err)
	}
	r.Header[headerAuthorization] = []string{value}
	return nil
}

// Forget makes the next call fetch another token, if this one is not quite new.
// It is for an endpoint that answers 401 to a token that should be valid.
func (t *Token) Forget() { t.header.forget() }

// Health is the present state.
func (t *Token) Health() Health { return t.header.health() }

// String names the kind of credential and what it is for. It has no secret in
// it.
func (t *Token) String() string { return t.kind + " for " + t.purpose }
