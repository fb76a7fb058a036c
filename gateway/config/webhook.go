package config

import (
	"crypto/sha256"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	minConnAgeMs = 1000
	maxConnAgeMs = 24 * 60 * 60 * 1000
)

// Webhook is a remote hook.
type Webhook struct {
	// URL is absolute, http or https, with a host and without credentials.
	URL *url.URL
	// Headers are sent with every call, by canonical name; may be nil. They do
	// not include the headers that the binding itself sends.
	Headers http.Header
	// Auth is the credential for the endpoint; may be nil.
	Auth *Auth
	// SigningKeys are the keys that sign every call, each with a signature of
	// its own, in the text form of package signature; nil means no signature.
	SigningKeys []string
	// BindAnswers is how an answer must prove which call it belongs to.
	BindAnswers AnswerBinding
	// CloudEvents sends calls as CloudEvents 1.0.
	CloudEvents bool
	// Unwrap is the format that wraps the answers.
	Unwrap  Wrapping
	Breaker Breaker
	// ColdAfter is how long the endpoint must have answered nothing to count as
	// cold. Default one minute.
	ColdAfter time.Duration
	// MaxConnAge is the maximum age of a connection for another call. Default
	// five minutes.
	MaxConnAge time.Duration
	// Warmup sends pings before the first call and whenever it is cold.
	Warmup bool
	// TLS is nil if the entry has no tls section.
	TLS    *TLS
	Proxy  Proxy
	Limits Limits

	// Secrets is the hash of Headers, Auth, SigningKeys, BindAnswers and TLS,
	// which can be replaced while the binding stays.
	Secrets [sha256.Size]byte
}

// Proxy is the proxy for an endpoint. The zero Proxy is none.
type Proxy struct {
	// FromEnvironment uses the proxy that the gateway's environment names.
	FromEnvironment bool
	// URL is the proxy, with scheme http, https or socks5; nil if there is none
	// or FromEnvironment is set.
	URL *url.URL
}

// Wrapping is a format that wraps an endpoint's answers.
type Wrapping int

const (
	// Bare answers are not wrapped.
	Bare Wrapping = iota
	// LambdaInvoke is the result of a function as AWS Lambda's Invoke API
	// returns it.
	LambdaInvoke
)

func (r *reading) wrapping(v value) Wrapping {
	if _, ok := r.word(v, "lambda_invoke"); ok {
		return LambdaInvoke
	}
	return Bare
}

// webhook reads a remote hook.
func (r *reading) webhook(o object) *Webhook {
	w := &Webhook{
		Breaker: defaultBreaker(), ColdAfter: time.Minute, MaxConnAge: 5 * time.Minute,
		Limits: r.limits(o),
	}
	w.URL = r.url(o["url"])
	if v, ok := o["headers"]; ok {
		w.Headers = r.headers(v)
	}
	if v, ok := o["auth"]; ok {
		w.Auth = r.auth(v)
		r.authFits(v, w)
	}
	if v, ok := o["signing"]; ok {
		w.SigningKeys = r.signing(v)
	}
	if v, ok := o["bind_answers"]; ok {
		_, signed := o["signing"]
		unread := signed && w.SigningKeys == nil // a mistake that was already reported
		w.BindAnswers = r.bindAnswers(v, unread || slices.ContainsFunc(w.SigningKeys, IsSharedSecret))
	}
	if v, ok := o["cloudevents"]; ok {
		w.CloudEvents, _ = r.boolean(v)
	}
	if v, ok := o["unwrap"]; ok {
		w.Unwrap = r.wrapping(v)
	}
	if v, ok := o["breaker"]; ok {
		r.breaker(&w.Breaker, v)
	}
	r.warmth(w, o)
	if v, ok := o["max_connection_age_ms"]; ok {
		ms, _ := r.between(v, minConnAgeMs, maxConnAgeMs)
		w.MaxConnAge = time.Duration(ms) * time.Millisecond
	}
	if v, ok := o["tls"]; ok {
		w.TLS = r.tls(v)
		if w.URL != nil && w.URL.Scheme == "http" {
			r.failAt(v.keyAt, v.way, "applies to an https URL, and this one is http")
		}
	}
	if v, ok := o["proxy"]; ok {
		w.Proxy = r.proxy(v)
	}
	return w
}

func (r *reading) url(v value) *url.URL {
	s, ok := r.literal(v)
	if !ok {
		return nil
	}
	u, ok := r.absoluteURL(v, s, "http", "https")
	switch {
	case !ok:
		return nil
	case u.User != nil:
		r.fail(v, "contains credentials, which would end up in logs: use auth")
		return nil
	case strings.Contains(s, "#"):
		r.fail(v, "has a fragment, which is not sent")
		return nil
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		r.warn(v, "calls and answers are sent to %s in plain text: anyone on the network path can read and change them", u.Hostname())
	}
	return u
}

// absoluteURL reads a URL with a host. Messages quote it without credentials.
func (r *reading) absoluteURL(v value, s string, schemes ...string) (*url.URL, bool) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		r.fail(v, "is not a URL")
	case !slices.Contains(schemes, u.Scheme):
		r.fail(v, "want a URL with scheme %s", listed(schemes, "or"))
	case u.Hostname() == "":
		r.fail(v, "has no host")
	case !isPort(u.Port()):
		r.fail(v, "port %s is not between 1 and 65535", u.Port())
	default:
		return u, true
	}
	return nil, false
}

func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return s == "" || err == nil && n >= 1 && n <= 65535
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// headers reads the headers that are sent with every call.
func (r *reading) headers(v value) http.Header {
	if v.kind != mapping {
		r.want(v, "a mapping of header names to strings")
		return nil
	}
	all := http.Header{}
	first := map[string]value{}
	for _, m := range r.unique(v) {
		name := http.CanonicalHeaderKey(m.key)
		other, twice := first[name]
		switch {
		case !isToken(m.key):
			r.failAt(m.keyAt, v.way, "%s is not a valid header name", quote(m.key))
			continue
		case isOwnHeader(name):
			r.failAt(m.keyAt, v.way, "%s cannot be set here: the gateway sets it itself, or never sends it", m.key)
			continue
		case twice:
			r.failAt(m.keyAt, v.way, "%s and %s are the same header", other.key, m.key)
			continue
		}
		first[name] = m
		s, ok := r.filled(m)
		if !ok {
			continue
		}
		if strings.ContainsFunc(s, isControl) {
			r.fail(m, "the value contains a line break or another control character")
			continue
		}
		all[name] = []string{s}
	}
	return all
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// isToken reports whether s is a valid header name.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// isOwnHeader reports whether a header belongs to the protocol between the
// gateway and a hook, or to HTTP itself.
func isOwnHeader(canonical string) bool {
	switch canonical {
	case "Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect",
		"Host", "Idempotency-Key", "Keep-Alive", "Te", "Traceparent", "Tracestate", "Trailer", "Transfer-Encoding",
		"Upgrade", "User-Agent":
		return true
	}
	for _, prefix := range []string{"Ce-", "Proxy-", "Webhook-", "X-Hookgate-"} {
		if strings.HasPrefix(canonical, prefix) {
			return true
		}
	}
	return false
}

// proxy reads the proxy for an endpoint.
func (r *reading) proxy(v value) Proxy {
	s, ok := r.literal(v)
	if !ok {
		return Proxy{}
	}
	if s == "environment" {
		return Proxy{FromEnvironment: true}
	}
	if !strings.Contains(s, "://") {
		r.fail(v, "want a URL, or the word environment%s", didYouMean(s, []string{"environment"}))
		return Proxy{}
	}
	u, _ := r.absoluteURL(v, s, "http", "https", "socks5")
	return Proxy{URL: u}
}
