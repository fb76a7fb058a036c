package gateway

import (
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
	"time"
)

// callers is what the gateway demands of whoever calls its main listener (G6,
// G7).
type callers struct {
	// hosts are the names by which it may be called; empty means any.
	hosts    []string
	maxBytes int64
	// patience is how long a caller may take to send a body.
	patience time.Duration
}

// hostsOf returns the names by which a listener at addr may be called: those
// given, or, on a loopback address, the names of the loopback. Elsewhere names
// are the business of whoever set up the network.
func hostsOf(addr string, given []string) []string {
	if len(given) > 0 || !isLoopback(addr) {
		return given
	}
	return []string{"localhost", "127.0.0.1", "::1"}
}

// isLoopback reports whether a listen address can be reached from this machine
// alone.
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

// check refuses requests that a page in a browser can make. Such a page can
// send a POST to any address of its machine, and by rebinding a name it can
// read the answer; it cannot leave out Origin, or choose Host.
func (c *callers) check(r *http.Request) *problem {
	host := hostname(r.Host)
	if len(c.hosts) > 0 && !slices.Contains(c.hosts, host) {
		return &problem{
			status: http.StatusForbidden, title: "Unknown host", closeConnection: true,
			detail: fmt.Sprintf("the gateway is not called %.100q: use its address, or name that host in HOOKGATE_ALLOWED_HOSTS", host),
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return &problem{
				status: http.StatusForbidden, title: "Cross-origin request", closeConnection: true,
				detail: fmt.Sprintf("a page of origin %.100q may not use the gateway", origin),
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

// body reads the whole body of a POST, or says what is wrong with it. The
// server bounds the time.
func (c *callers) body(r *http.Request) ([]byte, *problem) {
	if p := checkContent(r); p != nil {
		return nil, p
	}
	tooLarge := &problem{
		status: http.StatusRequestEntityTooLarge, title: "Request too large", closeConnection: true,
		detail: fmt.Sprintf("the body is over the limit of %d bytes (HOOKGATE_MAX_REQUEST_BYTES)", c.maxBytes),
	}
	if r.ContentLength > c.maxBytes {
		return nil, tooLarge
	}
	text, err := readAll(r, c.maxBytes)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, tooLarge
	case isTimeout(err):
		return nil, &problem{
			status: http.StatusRequestTimeout, title: "Request too slow", closeConnection: true,
			detail: fmt.Sprintf("the body did not arrive within %v", c.patience),
		}
	case err != nil:
		return nil, unread(err)
	}
	return text, nil
}

func unread(err error) *problem {
	return &problem{
		status: http.StatusBadRequest, title: "Request cut short", closeConnection: true,
		detail: fmt.Sprintf("the body could not be read: %.200v", err),
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

var errTooLarge = errors.New("over the limit")

// readAll reads a body of a size told beforehand into a slice of that size,
// and any other as it comes.
func readAll(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength >= 0 {
		text := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, text)
		return text, err
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if int64(len(text)) > limit {
		return nil, errTooLarge
	}
	return text, err
}

// checkContent makes sure that the body says it is plain JSON. A page in a
// browser can send a POST of text/plain anywhere without being asked, one of
// application/json only where it is invited.
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
			detail: fmt.Sprintf("the Content-Encoding is %.100q: send the body as it is", coding),
		}
	}
	return nil
}
