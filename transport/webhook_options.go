package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Request headers that the gateway sets, in canonical form.
const (
	headerIdempotencyKey = "Idempotency-Key"
	headerTimeout        = "X-Hookgate-Timeout-Ms"
	headerTraceparent    = "Traceparent"
)

// ownHeader reports whether the gateway or the HTTP connection sets this
// header.
func ownHeader(canonical string) bool {
	switch canonical {
	case "Content-Type", "Accept", "User-Agent", headerIdempotencyKey, headerTraceparent, "Accept-Encoding",
		"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Te",
		"Trailer", "Upgrade", "Expect":
		return true
	}
	return strings.HasPrefix(canonical, "Ce-") || strings.HasPrefix(canonical, "Webhook-") || strings.HasPrefix(canonical, "X-Hookgate-")
}

// operatorHeaders validates the headers of an entry and returns them in
// canonical form. The error never contains a value, which may be a secret.
func operatorHeaders(given http.Header) (http.Header, error) {
	var errs []error
	h := make(http.Header, len(given)+7)
	for name, values := range given {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !validHeaderName(name):
			errs = append(errs, fmt.Errorf("header %q: is not a valid header name", name))
		case ownHeader(canonical):
			errs = append(errs, fmt.Errorf("header %q: is set by the gateway itself and cannot be set here", name))
		case slices.ContainsFunc(values, func(v string) bool { return !validHeaderValue(v) }):
			errs = append(errs, fmt.Errorf("header %q: its value contains a line break or another control character", name))
		case h[canonical] != nil:
			errs = append(errs, fmt.Errorf("header %q: is given twice, in two spellings", name))
		}
		h[canonical] = slices.Clone(values)
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return h, errors.Join(errs...)
}

// setFixed sets the headers that are the same in every request.
func setFixed(h http.Header, userAgent string) {
	h["Content-Type"] = []string{"application/json"}
	h["Accept"] = []string{"application/json"}
	h["Accept-Encoding"] = []string{"identity"}
	h["User-Agent"] = []string{userAgent}
}

// validHeaderName reports whether name is a token of RFC 9110.
func validHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !letterOrDigit(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// validHeaderValue reports whether value has no line break or other control
// character.
func validHeaderValue(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// validHost reports whether host can be resolved and sent in a request
// unchanged.
func validHost(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		host = address.Zone()
	}
	return !strings.ContainsFunc(host, func(r rune) bool { return !letterOrDigit(r) && !strings.ContainsRune("-._", r) })
}

func letterOrDigit(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// checkURL parses and validates the URL of an endpoint.
func checkURL(text string, withTLS bool) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, errors.New("url: is missing")
	case err != nil:
		// The error of Parse quotes the URL, which may contain a secret.
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return nil, fmt.Errorf("url: cannot be read: %w", err)
	case u.User != nil:
		return nil, errors.New("url: contains a user or password: send them in a header or with auth")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("url %q: must begin with http:// or https://", shown(u))
	case u.Hostname() == "":
		return nil, fmt.Errorf("url %q: has no host", shown(u))
	case !validHost(u.Hostname()):
		return nil, fmt.Errorf("url %q: its host is neither an address nor made of letters, digits, '-', '.' and '_'; write a name in another script in its xn-- form", shown(u))
	case u.Port() != "" && !validPort(u.Port()):
		return nil, fmt.Errorf("url %q: its port is not one of 1 to 65535", shown(u))
	case strings.ContainsFunc(u.RawQuery, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, fmt.Errorf("url %q: its query has a blank or another character that must be written as %%XX", shown(u))
	case u.Fragment != "":
		return nil, fmt.Errorf("url %q: has a fragment, which is never sent", shown(u))
	case withTLS && u.Scheme != "https":
		return nil, fmt.Errorf("url %q: has tls settings, but is not https", shown(u))
	}
	return u, nil
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// shown is the URL for logs, without the query, which may contain a secret.
func shown(u *url.URL) string {
	bare := url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if u.RawQuery != "" {
		return bare.String() + "?…"
	}
	return bare.String()
}

// secured returns the TLS configuration for u, or nil if u is not https.
func secured(u *url.URL, given *tls.Config) (*tls.Config, error) {
	if u == nil || u.Scheme != "https" {
		return nil, nil //nolint:nilnil // a plain HTTP endpoint has no TLS configuration
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if given != nil {
		c = given.Clone()
		c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
	}
	if c.MaxVersion != 0 && c.MaxVersion < c.MinVersion {
		return nil, fmt.Errorf("tls: the maximum version is %s, but the minimum is %s",
			tls.VersionName(c.MaxVersion), tls.VersionName(c.MinVersion))
	}
	return c, nil
}
