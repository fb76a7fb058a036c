// Package credentialtest is the verifying side of package credential, for
// tests: what an endpoint does to check a credential. It is written from the
// specifications and shares no code with the issuers' libraries.
package credentialtest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

// JWTIssuer signs tokens as Google and Entra do, and publishes its keys.
type JWTIssuer struct {
	Private *rsa.PrivateKey
	ID      string
}

// NewJWTIssuer returns an issuer with a new key of the given id.
func NewJWTIssuer(t *testing.T, id string) JWTIssuer {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return JWTIssuer{Private: private, ID: id}
}

// JWKS returns the key set that the issuer publishes (RFC 7517).
func (i JWTIssuer) JWKS() string {
	return fmt.Sprintf(`{"keys":[{"kty":"RSA","alg":"RS256","use":"sig","kid":%q,"n":%q,"e":%q}]}`, i.ID,
		base64.RawURLEncoding.EncodeToString(i.Private.N.Bytes()),
		base64.RawURLEncoding.EncodeToString(big.NewInt(int64(i.Private.E)).Bytes()))
}

// Sign issues a token.
func (i JWTIssuer) Sign(t *testing.T, claims map[string]any) string {
	t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT","kid":"`+i.ID+`"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(body)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, i.Private, crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// VerifyJWT verifies a token as a service does (RFC 7515, 7519): it looks up
// the key, checks the signature, and only then reads the claims.
func VerifyJWT(token, jwks, audience string, now time.Time) (map[string]any, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("it does not have three parts")
	}
	var raw [3][]byte
	for i, part := range parts {
		var err error
		if raw[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			return nil, err
		}
	}
	var header struct{ Alg, Kid string }
	var set struct {
		Keys []struct{ Kty, Kid, N, E string }
	}
	if err := errors.Join(json.Unmarshal(raw[0], &header), json.Unmarshal([]byte(jwks), &set)); err != nil {
		return nil, err
	}
	if header.Alg != "RS256" {
		return nil, fmt.Errorf("algorithm %q", header.Alg)
	}
	for _, k := range set.Keys {
		if k.Kid != header.Kid || k.Kty != "RSA" {
			continue
		}
		n, nErr := base64.RawURLEncoding.DecodeString(k.N)
		e, eErr := base64.RawURLEncoding.DecodeString(k.E)
		public := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
		digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		if err := errors.Join(nErr, eErr, rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], raw[2])); err != nil {
			return nil, err
		}
		return checkClaims(raw[1], audience, now)
	}
	return nil, fmt.Errorf("no key %q", header.Kid)
}

func checkClaims(payload []byte, audience string, now time.Time) (map[string]any, error) {
	var claims map[string]any
	if err := json.Unmarshal(payload, &claims); err != nil {
		return nil, err
	}
	if claims["aud"] != audience {
		return nil, fmt.Errorf("it is for %v, not for %q", claims["aud"], audience)
	}
	expires, ok := claims["exp"].(float64)
	if !ok || !now.Before(time.Unix(int64(expires), 0)) {
		return nil, fmt.Errorf("it expired at %v", claims["exp"])
	}
	return claims, nil
}
