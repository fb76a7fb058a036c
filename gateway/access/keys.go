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
	// keysFresh is how long keys are used without fetching them again.
	keysFresh = 5 * time.Minute
	// keysGood is how long keys are used while their issuer cannot be reached
	// (A5).
	keysGood = 24 * time.Hour
	// keysPause is the minimum interval between two fetches (A6).
	keysPause = 10 * time.Second
	// keysPatience is the deadline of a fetch.
	keysPatience = 5 * time.Second
	// keysLargest is the maximum size of an issuer's response in bytes, keysMost
	// the maximum number of keys in it.
	keysLargest = 1 << 20
	keysMost    = 64
)

// keys caches the public keys that an issuer publishes.
type keys struct {
	issued Issued
	client *http.Client
	life   *life
	log    *slog.Logger

	mu      sync.Mutex
	have    []jose.JSONWebKey
	fetched time.Time     // when have was fetched
	tried   time.Time     // when the last fetch started
	asking  chan struct{} // closed when the fetch in progress ends; nil if there is none
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

var errUnavailable = errors.New("the issuer's keys are not available")

// find returns the keys with the given key id, none if the issuer has no such
// key. Keys that are known are returned without waiting; otherwise find waits
// for a fetch.
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

// look returns the keys with the given id, whether any keys are known at all,
// and a channel that is closed when the current fetch ends (nil if there is
// none). It starts a fetch if one is due.
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

// ask fetches the issuer's keys and stores them.
func (k *keys) ask() {
	ctx, cancel := context.WithTimeout(k.life.ctx, keysPatience)
	defer cancel()
	have, err := k.fetch(ctx)
	if err != nil && k.life.ctx.Err() == nil {
		k.log.LogAttrs(ctx, slog.LevelError, "the keys of a token issuer cannot be fetched: keys that were fetched before are used for up to a day",
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

// discoveryURL returns the URL of the issuer's discovery document.
func (i Issued) discoveryURL() string {
	if i.Discovery != nil {
		return i.Discovery.String()
	}
	return strings.TrimSuffix(i.URL, "/") + "/.well-known/openid-configuration"
}

// fetch reads the issuer's discovery document and then its keys.
func (k *keys) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	var said struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := k.get(ctx, k.issued.discoveryURL(), &said); err != nil {
		return nil, err
	}
	if said.Issuer != k.issued.URL {
		return nil, fmt.Errorf("%s names the issuer %.200q instead of %q", k.issued.discoveryURL(), said.Issuer, k.issued.URL)
	}
	if err := safeURL(said.JWKSURI); err != nil {
		return nil, fmt.Errorf("%s has a jwks_uri that cannot be used: %w", k.issued.discoveryURL(), err)
	}
	var set jose.JSONWebKeySet
	if err := k.get(ctx, said.JWKSURI, &set); err != nil {
		return nil, err
	}
	usable := slices.DeleteFunc(set.Keys, func(key jose.JSONWebKey) bool {
		return !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig"
	})
	if len(usable) == 0 || len(usable) > keysMost {
		return nil, fmt.Errorf("%s has %d keys for signatures: want 1 to %d", said.JWKSURI, len(usable), keysMost)
	}
	return usable, nil
}

// get reads a JSON object from a URL.
func (k *keys) get(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	// A Kubernetes API server serves its keys as application/jwk-set+json, and
	// only to clients that accept that type.
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
		return fmt.Errorf("%s did not answer with the expected JSON: %w", address, err)
	}
	return nil
}

// safeURL returns an error if keys must not be fetched from an address, because
// they decide who is authenticated.
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
