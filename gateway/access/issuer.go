package access

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hookgate/hookgate/chain"
)

// issuer is a trusted issuer of tokens.
type issuer struct {
	Issued
	keys *keys
}

// newIssuer returns an issuer. It keeps the keys of the previous one if they
// are fetched in the same way.
func newIssuer(i Issued, before *issuer, l *life, log *slog.Logger) *issuer {
	if before != nil && before.asksAs(i) {
		return &issuer{Issued: i, keys: before.keys}
	}
	return &issuer{Issued: i, keys: newKeys(i, l, log)}
}

// asksAs reports whether both issuers' keys are fetched in the same way.
func (i *issuer) asksAs(other Issued) bool {
	return i.URL == other.URL && i.TokenFile == other.TokenFile && string(i.RootsPEM) == string(other.RootsPEM) &&
		i.discoveryURL() == other.discoveryURL()
}

// algorithms are the accepted signature algorithms: only asymmetric ones, so
// that the gateway needs no secret.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// leeway is the tolerated clock difference to an issuer.
const leeway = 10 * time.Second

// byIssued finds the caller of a token that an issuer signed.
func (a *Access) byIssued(ctx context.Context, text string) (*Caller, Reason) {
	token, err := jwt.ParseSigned(text, algorithms())
	if err != nil {
		return nil, Unknown
	}
	var said jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&said); err != nil {
		return nil, Malformed
	}
	i := a.issuers[said.Issuer] // only selects the issuer; no claim counts before the token is verified
	if i == nil {
		return nil, Issuer
	}
	claims, why := i.verified(ctx, token)
	if why != Unidentified {
		return nil, why
	}
	for _, c := range a.callers {
		for _, claimed := range c.rule.Claims {
			if claimed.Issuer == i.Name && claimed.holds(claims) {
				return c, Unidentified
			}
		}
	}
	return nil, Claims
}

// verified returns the claims of a token after checking its signature, its
// audience and its validity period.
func (i *issuer) verified(ctx context.Context, token *jwt.JSONWebToken) (map[string]any, Reason) {
	candidates, err := i.keys.find(ctx, token.Headers[0].KeyID)
	if err != nil {
		return nil, Unavailable
	}
	var registered jwt.Claims
	var all map[string]any
	if !slices.ContainsFunc(candidates, func(key jose.JSONWebKey) bool {
		registered, all = jwt.Claims{}, nil
		return token.Claims(key.Key, &registered, &all) == nil
	}) {
		return nil, Signature
	}
	if registered.Expiry == nil {
		return nil, Expired // a token without expiry could not be revoked
	}
	err = registered.ValidateWithLeeway(jwt.Expected{Issuer: i.URL, AnyAudience: i.Audiences, Time: time.Now()}, leeway)
	switch {
	case err == nil:
		return all, Unidentified
	case errors.Is(err, jwt.ErrInvalidAudience):
		return nil, Audience
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return nil, Issuer
	}
	return nil, Expired
}

// holds reports whether a token has every claim of c.
func (c Claimed) holds(claims map[string]any) bool {
	return !slices.ContainsFunc(c.Claims, func(one Claim) bool { return !one.holds(claims) })
}

func (c Claim) holds(claims map[string]any) bool {
	var at any = claims
	for _, name := range c.Path {
		object, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = object[name]; !ok {
			return false
		}
	}
	return c.says(at)
}

func (c Claim) says(value any) bool {
	switch value := value.(type) {
	case string:
		return chain.MatchTool(c.Pattern, value)
	case bool:
		return c.Pattern == "true" && value || c.Pattern == "false" && !value
	case []any:
		return slices.ContainsFunc(value, func(item any) bool {
			text, ok := item.(string)
			return ok && chain.MatchTool(c.Pattern, text)
		})
	}
	return false
}
