package credential

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hookgate/hookgate/transport"
)

// maxAnswerBytes limits the body of an endpoint's response.
const maxAnswerBytes = 1 << 20

// proxy returns the proxy for a request; nil means none.
type proxy func(*http.Request) (*url.URL, error)

// configure sets up a transport for token endpoints. It keeps no connections,
// because they are used about once an hour.
func (p proxy) configure(t *http.Transport) {
	t.Proxy = nil
	if p != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			if isNear(r.URL.Hostname()) {
				return nil, nil //nolint:nilnil // no proxy, and no error
			}
			return p(r)
		}
	}
	t.OnProxyConnectResponse = proxyAnswered
	t.TLSHandshakeTimeout = dialPatience
	t.MaxResponseHeaderBytes = 64 << 10
	t.DisableKeepAlives = true
}

// proxyAnswered reports only the status of a refused tunnel, because a proxy may
// echo in its response what it was sent.
func proxyAnswered(_ context.Context, _ *url.URL, _ *http.Request, response *http.Response) error {
	if response.StatusCode != http.StatusOK {
		return plain(fmt.Sprintf("the proxy answered with status %d", response.StatusCode))
	}
	return nil
}

const dialPatience = 5 * time.Second

// isNear reports whether a host is this machine or a metadata service of its
// platform. No proxy reaches these, and none must learn what is sent to them.
func isNear(host string) bool {
	if host == "localhost" || strings.HasPrefix(host, "fd00:ec2:") { // EC2's services in IPv6
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.Unmap().IsLoopback() || addr.Unmap().IsLinkLocalUnicast())
}

// wire sends the requests of one attempt, limits their responses, and records the
// result of the last one.
//
// Libraries put bodies, headers and whole URLs into their errors. So their texts
// are not passed on: errors are composed from this record instead (A5).
type wire struct {
	proxy proxy
	next  http.RoundTripper

	mu   sync.Mutex
	last string // empty before the first request
}

// wire returns the wire of one attempt, which connects only where permit allows;
// a nil permit allows all.
func (p proxy) wire(permit transport.Permit) *wire {
	dial := transport.DialPermitted(permit)
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialPatience)
			defer cancel()
			return dial(ctx, network, address)
		},
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	p.configure(t)
	return &wire{proxy: p, next: t}
}

// client returns the HTTP client for a library. It follows no redirects, because
// it sends secrets.
func (w *wire) client() *http.Client {
	return &http.Client{
		Transport: w, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(r)
	w.observe(r, response, err)
	return response, err
}

// observe records the result of a request and limits its response body.
func (w *wire) observe(r *http.Request, response *http.Response, err error) {
	where := cmp.Or(r.Method, http.MethodGet) + " " + shown(r.URL)
	if err != nil {
		w.met("%s: %s", where, cmp.Or(safeText(err), "no valid HTTP answer"))
		return
	}
	w.met("%s: answered with status %d", where, response.StatusCode)
	response.Body = &bounded{ReadCloser: response.Body, left: maxAnswerBytes, failed: func(what string) {
		w.met("%s: answered with status %d, %s", where, response.StatusCode, what)
	}}
}

func (w *wire) met(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = fmt.Sprintf(format, args...)
}

// shown returns a URL without the parts that may be secret.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// bounded is a body of limited length.
type bounded struct {
	io.ReadCloser
	left   int64
	failed func(what string)
}

var errTooLong = errors.New("the answer is too long")

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		b.failed(fmt.Sprintf("with more than %d bytes", maxAnswerBytes))
		return 0, errTooLong
	case err != nil && !errors.Is(err, io.EOF):
		b.failed("and then broke off")
	}
	return n, err
}

// explain explains why an attempt failed, in words of this package only.
func (w *wire) explain(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	why := safeText(err)
	if code := knownCode(err); code != "" {
		why = code
	}
	switch {
	case w.last == "" && why == unsaid:
		return plain(fmt.Sprintf("no request was made, because neither the environment nor files contain the necessary settings (%T)", innermost(err)))
	case w.last == "":
		return plain(why)
	case why == unsaid:
		return plain(w.last + ", but the answer contained no usable credential")
	case strings.HasSuffix(w.last, why):
		return plain(w.last)
	}
	return plain(w.last + " (" + why + ")")
}

// innermost returns the innermost wrapped error. Often only its type can be
// reported.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// plain is an error whose text was written by this package or is known to be
// harmless.
type plain string

func (p plain) Error() string { return string(p) }

// unsaid replaces the text of errors that may contain anything.
const unsaid = ""

// safeText returns the text of an error if it cannot contain a secret: only types
// whose text comes from this package, the standard library's network code or the
// operating system qualify.
func safeText(err error) string {
	if p, ok := errors.AsType[plain](err); ok {
		return string(p)
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Error()
	}
	switch {
	case isTimeout(err):
		return "no answer in time"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the connection ended before the answer was complete"
	}
	return unsaid
}

// isTimeout reports whether the attempt, or a part of it, timed out.
func isTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
