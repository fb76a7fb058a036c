package credential

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"cloud.google.com/go/compute/metadata"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/jwt"

	"github.com/hookgate/hookgate/transport"
)

// GoogleIDTokenOptions configure Google's ID tokens, which Cloud Run and Cloud
// Functions require.
type GoogleIDTokenOptions struct {
	// Audience is the audience of the token: the URL of the service, without a
	// path.
	Audience string
	// CredentialsFile is the file of a service account, or of a workload
	// identity federation that impersonates one. GOOGLE_APPLICATION_CREDENTIALS
	// is not read; pass its value here if wanted. Empty means the metadata
	// server of the machine, the container or, with GKE's workload identity, the
	// pod.
	CredentialsFile string
	// Proxy returns the proxy for a token request. It is not asked about this
	// machine and metadata services. Nil means no proxy, whatever the
	// environment says.
	Proxy func(*http.Request) (*url.URL, error)
	// Permit checks every address before a connection. Nil permits all.
	Permit transport.Permit
}

// NewGoogleIDToken returns the credential of a Google service account.
func NewGoogleIDToken(o GoogleIDTokenOptions) (*Token, error) {
	if o.Audience == "" {
		return nil, errors.New("google_id_token: audience: is missing")
	}
	permit := o.Permit
	if o.CredentialsFile == "" {
		permit = nil // the metadata server's address is not the entry's choice
	}
	return newToken("google_id_token", o.Audience, o.Proxy, permit, func(ctx context.Context, w *wire) (string, time.Time, error) {
		token, err := o.fetch(ctx, w.client())
		if err != nil {
			return "", time.Time{}, err
		}
		expires, err := jwtExpiry(token)
		return token, expires, err
	}), nil
}

func (o GoogleIDTokenOptions) fetch(ctx context.Context, client *http.Client) (string, error) {
	if o.CredentialsFile == "" {
		question := url.Values{"audience": {o.Audience}, "format": {"full"}}
		token, err := metadata.NewClient(client).GetWithContext(ctx, "instance/service-accounts/default/identity?"+question.Encode())
		return strings.TrimSpace(token), err
	}
	file, err := readGoogleFile(o.CredentialsFile)
	if err != nil {
		return "", err
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	switch file.Type {
	case string(google.ServiceAccount):
		return file.ownIDToken(ctx, o.Audience)
	case string(google.ExternalAccount):
		return file.impersonatedIDToken(ctx, client, o.Audience)
	default:
		return "", file.unusable("its type is neither service_account nor external_account: other types cannot issue ID tokens for services")
	}
}

// googleFile is a credentials file in the format of Google's console and gcloud.
type googleFile struct {
	path string
	all  []byte

	Type             string `json:"type"`
	ClientEmail      string `json:"client_email"`
	PrivateKeyID     string `json:"private_key_id"`
	PrivateKey       string `json:"private_key"`
	TokenURI         string `json:"token_uri"`
	ImpersonationURL string `json:"service_account_impersonation_url"`
}

// readGoogleFile reads the file again for each token, because it may be rotated.
func readGoogleFile(name string) (*googleFile, error) {
	all, err := os.ReadFile(name) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	f := &googleFile{path: name, all: all}
	if json.Unmarshal(all, f) != nil {
		return nil, f.unusable("it is not a JSON credentials file")
	}
	return f, nil
}

func (f *googleFile) unusable(why string) error {
	return plain(fmt.Sprintf("credentials file %s: %s", f.path, why))
}

// ownIDToken exchanges a JWT signed by the account's key for an ID token of the
// account.
func (f *googleFile) ownIDToken(ctx context.Context, audience string) (string, error) {
	block, _ := pem.Decode([]byte(f.PrivateKey))
	if f.ClientEmail == "" || block == nil {
		return "", f.unusable("it has no client_email, or no private_key in PEM format")
	}
	exchange := &jwt.Config{
		Email: f.ClientEmail, PrivateKey: []byte(f.PrivateKey), PrivateKeyID: f.PrivateKeyID, TokenURL: f.TokenURI,
		PrivateClaims: map[string]any{"target_audience": audience}, UseIDToken: true,
	}
	if exchange.TokenURL == "" {
		exchange.TokenURL = google.JWTTokenURL
	}
	token, err := exchange.TokenSource(ctx).Token()
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil // with UseIDToken this is the ID token
}

const (
	cloudPlatform       = "https://www.googleapis.com/auth/cloud-platform"
	generateAccessToken = ":generateAccessToken"
	generateIDToken     = ":generateIdToken"
)

// impersonatedIDToken exchanges the identity of another platform for a Google
// access token, and that for an ID token of the impersonated account.
func (f *googleFile) impersonatedIDToken(ctx context.Context, client *http.Client, audience string) (string, error) {
	account, ok := strings.CutSuffix(f.ImpersonationURL, generateAccessToken)
	if !ok || path.Base(account) == "." {
		return "", f.unusable("it has no service_account_impersonation_url that ends in " + generateAccessToken + ", which is needed because only a service account has ID tokens")
	}
	own, err := f.withoutImpersonation()
	if err != nil {
		return "", err
	}
	credentials, err := google.CredentialsFromJSONWithType(ctx, own, google.ExternalAccount, cloudPlatform)
	if err != nil {
		return "", err
	}
	access, err := credentials.TokenSource.Token()
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]any{"audience": audience, "includeEmail": true})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, account+generateIDToken, bytes.NewReader(body))
	if err != nil {
		return "", f.unusable("its service_account_impersonation_url is not a valid URL")
	}
	r.Header.Set("Content-Type", "application/json")
	access.SetAuthHeader(r)
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // what was read is judged; the connection is not kept
	var issued struct {
		Token string `json:"token"`
	}
	switch err := json.NewDecoder(response.Body).Decode(&issued); {
	case response.StatusCode != http.StatusOK:
		return "", plain("no ID token was issued for the impersonated account")
	case err != nil:
		return "", err
	}
	return issued.Token, nil
}

// withoutImpersonation returns the file's content for the impersonating
// identity.
func (f *googleFile) withoutImpersonation() ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(f.all, &fields); err != nil {
		return nil, err
	}
	delete(fields, "service_account_impersonation_url")
	return json.Marshal(fields)
}

// jwtExpiry reads the expiry of a JWT without verifying it, which is for the
// audience to do.
func jwtExpiry(token string) (time.Time, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, plain("the issued token is not a JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Expires *int64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Expires == nil {
		return time.Time{}, plain("the issued token is not a JWT with an expiry time")
	}
	return time.Unix(*claims.Expires, 0), nil
}
