package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// callers holds the requirements for requests to a listener (G6, G7).
type callers struct {
	// hosts are the accepted Host names; empty accepts any.
	hosts    []string
	maxBytes int64
	// maxHeld limits the total memory of all request bodies, and held is how much
	// they use now.
	maxHeld int64
	held    atomic.Int64
	// patience is how long a caller may take to send a body. It is named in the
	// error; the server enforces it.
	patience time.Duration
	// turns holds one token for each large body that is being parsed.
	turns chan struct{}
}

// hostsOf returns the accepted Host names of a listener at addr: those given, or,
// on a loopback address, that address and the loopback's names. Elsewhere any
// name is accepted, because names there are set up by whoever runs the network.
func hostsOf(addr string, given []string) []string {
	if len(given) == 0 && isLoopback(addr) {
		given = []string{"localhost", "127.0.0.1", "::1", hostname(addr)}
	}
	names := make([]string, len(given))
	for i, name := range given {
		names[i] = strings.ToLower(name)
	}
	return names
}

// isLoopback reports whether a listen address is reachable only from this
// machine.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// check refuses requests that a page in a browser could send. Such a page can
// POST to any address of its machine and, by DNS rebinding, read the response;
// but it can neither omit Origin nor choose Host.
func (c *callers) check(r *http.Request) *problem {
	host := hostname(r.Host)
	if len(c.hosts) > 0 && !slices.Contains(c.hosts, host) {
		return &problem{
			status: http.StatusForbidden, title: "Unknown host", closeConnection: true,
			detail: fmt.Sprintf("%.100q is not a host name of this gateway: use its address, or add that host to HOOKGATE_ALLOWED_HOSTS", host),
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return &problem{
				status: http.StatusForbidden, title: "Cross-origin request", closeConnection: true,
				detail: fmt.Sprintf("pages from the origin %.100q may not use the gateway", origin),
			}
		}
	}
	return nil
}

func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return strings.ToLower(host)
}

// body reads the whole request body, or returns the problem with it. The server's
// read deadline bounds the time. If body returns text, the caller must call
// release with it.
func (c *callers) body(r *http.Request) (text []byte, refusal *problem) {
	if p := checkContent(r); p != nil {
		return nil, p
	}
	if r.ContentLength > c.maxBytes {
		return nil, c.tooLarge()
	}
	text, err := c.readAll(r)
	if err == nil {
		return text, nil
	}
	c.release(text)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, c.tooLarge()
	case errors.Is(err, errNoRoom):
		return nil, &problem{
			status: http.StatusServiceUnavailable, title: "Overloaded", retryAfter: 1, closeConnection: true,
			detail: fmt.Sprintf("the bodies of all requests in flight are at the limit of %d bytes: try again later", c.maxHeld),
		}
	case isTimeout(err):
		return nil, &problem{
			status: http.StatusRequestTimeout, title: "Request too slow", closeConnection: true,
			detail: fmt.Sprintf("the body did not arrive within %v", c.patience),
		}
	}
	return nil, unread(err)
}

func (c *callers) tooLarge() *problem {
	return &problem{
		status: http.StatusRequestEntityTooLarge, title: "Request too large", closeConnection: true,
		detail: fmt.Sprintf("the body is longer than %d bytes, the limit (HOOKGATE_MAX_REQUEST_BYTES)", c.maxBytes),
	}
}

func unread(err error) *problem {
	return &problem{
		status: http.StatusBadRequest, title: "Request cut short", closeConnection: true,
		detail: fmt.Sprintf("the body did not arrive completely: %.200v", err),
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

var (
	errTooLarge = errors.New("over the limit")
	errNoRoom   = errors.New("no room for another body")
)

// grant is the memory reserved for a body before its first byte arrives, in
// bytes. More is reserved only as bytes arrive.
const grant = 8 << 10

// readAll reads a body, growing the buffer as bytes arrive. The returned buffer
// counts against the limit even if err is not nil: the caller must release it.
func (c *callers) readAll(r *http.Request) ([]byte, error) {
	first := int64(grant)
	if r.ContentLength >= 0 {
		first = min(first, r.ContentLength+1) // one extra byte, so that EOF is found without growing
	}
	c.held.Add(first)
	text := make([]byte, 0, first)
	for {
		n, err := r.Body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case int64(len(text)) > c.maxBytes:
			return text, errTooLarge
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return text, err
		case len(text) < cap(text):
			continue
		}
		size := 4 * int64(cap(text))
		if r.ContentLength >= 0 {
			size = min(size, r.ContentLength+1)
		}
		if c.held.Add(size-int64(cap(text))) > c.maxHeld {
			c.held.Add(int64(cap(text)) - size)
			return text, errNoRoom
		}
		text = append(make([]byte, 0, size), text...)
	}
}

// release returns the memory of a body to the limit.
func (c *callers) release(text []byte) { c.held.Add(-int64(cap(text))) }

// large is the smallest body that waits for its turn to be parsed, in bytes.
const large = 1 << 20

// inTurn parses a body, waiting for a free slot if the body is large. Parsing
// takes several times the size of the body in memory, and parsing more of them at
// once than there are processors would be no faster.
//
// It returns by until, with an error if the body has not been parsed by then.
// Parsing cannot be interrupted: it keeps its slot, and the body, until it ends.
func inTurn[T any](ctx context.Context, c *callers, until time.Time, text []byte, read func(text []byte) (T, error)) (T, error) {
	if len(text) < large {
		return read(text)
	}
	var none T
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case c.turns <- struct{}{}:
	case <-late.C:
		return none, errReadLate
	case <-ctx.Done():
		return none, fmt.Errorf("it was not parsed before the caller disconnected: %w", context.Cause(ctx))
	}
	done := make(chan parsed[T], 1)
	go func() {
		var p parsed[T]
		defer func() {
			p.fault = recover()
			<-c.turns
			done <- p
		}()
		p.value, p.err = read(text)
	}()
	select {
	case p := <-done:
		if p.fault != nil {
			panic(p.fault)
		}
		return p.value, p.err
	case <-late.C:
		return none, errReadLate
	}
}

// parsed is the outcome of parsing a body.
type parsed[T any] struct {
	value T
	err   error
	fault any // what it panicked with
}

var errReadLate = errors.New("the body was not parsed in time")

// unreadable is the refusal of a body that could not be parsed.
func unreadable(err error) *problem {
	if errors.Is(err, errReadLate) {
		return &problem{
			status: http.StatusServiceUnavailable, title: "Overloaded", retryAfter: 1,
			detail: "the body could not be parsed within the budget of the chain: it is large, and others are parsed before it",
		}
	}
	return malformedRequest(err)
}

// checkContent requires the Content-Type application/json. A page in a browser
// can POST text/plain to any origin without a preflight request, but
// application/json only where CORS permits it.
func checkContent(r *http.Request) *problem {
	if r.Header.Get("Content-Type") != "application/json" { // most callers, without parsing
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || kind != "application/json" {
			return &problem{
				status: http.StatusUnsupportedMediaType, title: "Not JSON", closeConnection: true,
				detail: fmt.Sprintf("the Content-Type is %.100q: send application/json", r.Header.Get("Content-Type")),
			}
		}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return &problem{
			status: http.StatusUnsupportedMediaType, title: "Encoded body", closeConnection: true,
			detail: fmt.Sprintf("the Content-Encoding is %.100q: send the body without an encoding", coding),
		}
	}
	return nil
}
