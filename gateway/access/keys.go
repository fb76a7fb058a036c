package access

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// keysFresh is how long keys are used without asking for new ones.
	keysFresh = 5 * time.Minute
	// keysGood is how long keys are used where their issuer cannot be asked
	// (A5).
	keysGood = 24 * time.Hour
	// keysPause is the shortest time between two times of asking (A6).
	keysPause = 10 * time.Second
	// keysPatience is how long an issuer may take.
	keysPatience = 5 * time.Second
	// keysLargest is the largest answer of an issuer, in bytes, and keysMost the
	// most keys in one.
	keysLargest = 1 << 20
	keysMost    = 64
)

// keys are the public keys of an issuer, as it publishes them.
type keys struct {
	issued Issued
	client *http.Client
	life   *life
	log    *slog.Logger

	mu      sync.Mutex
	have    []jose.JSONWebKey
	fetched time.Time     // when have was
	tried   time.Time     // when that was tried last
	asking  chan struct{} // closed once the issuer was asked; nil where it is not being asked
}

func newKeys(i Issued, l *life, log *slog.Logger) *keys {
	return &keys{
		issued: i, life: l, log: log,
		client: &http.Client{
			Transport: &http.Transport{
				TLSClientConfig:   &tls.Config{RootCAs: i.Roots, MinVersion: tls.VersionTLS12},
				DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

var errUnavailable = errors.New("the issuer's keys are not known")

// find returns the keys that a token of that key id may be signed with, which
// are none where the issuer has none. Keys that are known do not make a caller
// wait; for others the issuer is asked.
func (k *keys) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	for asked := false; ; asked = true {
		found, known, asking := k.look(id, time.Now())
		switch {
		case len(found) > 0:
			return found, nil
		case asking == nil || asked:
			if !known {
				return nil, errUnavailable
			}
			return nil, nil
		}
		select {
		case <-asking:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// look returns the keys of an id, whether any are known at all, and the end of
// the asking for new ones, which it begins where it is time.
func (k *keys) look(id string, now time.Time) (found []jose.JSONWebKey, known bool, asking <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known = !k.fetched.IsZero() && now.Sub(k.fetched) < keysGood
	if known {
		for _, key := range k.have {
			if id == "" || key.KeyID == id {
				found = append(found, key)
			}
		}
	}
	if len(found) > 0 && now.Sub(k.fetched) < keysFresh {
		return found, known, nil
	}
	if k.asking == nil && now.Sub(k.tried) >= keysPause && k.life.ctx.Err() == nil {
		k.tried, k.asking = now, make(chan struct{})
		k.life.fetches.Go(k.ask)
	}
	return found, known, k.asking
}

// ask asks the issuer for its keys.
func (k *keys) ask() {
	ctx, cancel := context.WithTimeout(k.life.ctx, keysPatience)
	defer cancel()
	have, err := k.fetch(ctx)
	if err != nil && k.life.ctx.Err() == nil {
		k.log.LogAttrs(ctx, slog.LevelError, "the keys of an issuer of tokens cannot be had; those known are used for a day",
			slog.String("issuer", k.issued.Name), slog.Any("error", err))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.have, k.fetched = have, time.Now()
	}
	close(k.asking)
	k.asking = nil
}

// discoveryURL is where an issuer says where its keys are.
func (i Issued) discoveryURL() string {
	if i.Discovery != nil {
		return i.Discovery.String()
	}
	return strings.TrimSuffix(i.URL, "/") + "/.well-known/openid-configuration"
}

// fetch asks the issuer where its keys are, and for them.
func (k *keys) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	var said struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := k.get(ctx, k.issued.discoveryURL(), &said); err != nil {
		return nil, err
	}
	if said.Issuer != k.issued.URL {
		return nil, fmt.Errorf("%s speaks for the issuer %.200q, not for %q", k.issued.discoveryURL(), said.Issuer, k.issued.URL)
	}
	if err := safeURL(said.JWKSURI); err != nil {
		return nil, fmt.Errorf("%s has an unusable jwks_uri: %w", k.issued.discoveryURL(), err)
	}
	var set jose.JSONWebKeySet
	if err := k.get(ctx, said.JWKSURI, &set); err != nil {
		return nil, err
	}
	usable := slices.DeleteFunc(set.Keys, func(key jose.JSONWebKey) bool {
		return !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig"
	})
	if len(usable) == 0 || len(usable) > keysMost {
		return nil, fmt.Errorf("%s has %d keys to verify signatures with: want 1 to %d", said.JWKSURI, len(usable), keysMost)
	}
	return usable, nil
}

// get reads a JSON object at an address.
func (k *keys) get(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	// A Kubernetes API server gives its keys as the second, and nothing to who
	// does not take that.
	req.Header.Set("Accept", "application/json, application/jwk-set+json")
	if k.issued.TokenFile != "" {
		token, err := os.ReadFile(k.issued.TokenFile)
		if err != nil {
			return fmt.Errorf("the token for the issuer: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read from
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered with status %d", address, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, keysLargest+1))
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	if len(body) > keysLargest {
		return fmt.Errorf("%s answered with more than %d bytes", address, keysLargest)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s did not answer with the JSON that was expected: %w", address, err)
	}
	return nil
}

// safeURL says why keys that decide who is let in cannot come from there.
func safeURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("it is not a URL")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Hostname() == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return errors.New("want https, or http on the loopback, without credentials")
	}
	return nil
}
