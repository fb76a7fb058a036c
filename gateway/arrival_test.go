package gateway

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// piped is an in-memory listener.
type piped struct {
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

func newPiped() *piped { return &piped{conns: make(chan net.Conn), over: make(chan struct{})} }

// Accept implements [net.Listener].
func (p *piped) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *piped) Close() error { p.once.Do(func() { close(p.over) }); return nil }

// Addr implements [net.Listener].
func (p *piped) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

func (p *piped) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

// countedArrivals returns the counts of connections that were not served, by
// reason, omitting zeros.
func countedArrivals(t *testing.T, g *Gateway) map[string]string {
	t.Helper()
	answer := httptest.NewRecorder()
	g.scrapes.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	counts := map[string]string{}
	for line := range strings.SplitSeq(answer.Body.String(), "\n") {
		series, value, _ := strings.Cut(line, " ")
		if why, ok := strings.CutPrefix(series, `hookgate_http_unserved_connections_total{why="`); ok && value != "0" {
			counts[strings.TrimSuffix(why, `"}`)] = value
		}
	}
	return counts
}

func TestG13_WhatComesAndIsNoRequestIsCounted(t *testing.T) {
	const (
		good    = "GET /openapi.yaml HTTP/1.1\r\nHost: localhost\r\n\r\n"
		started = "POST /v1/decide HTTP/1.1\r\nHost: loc"
	)
	for name, tc := range map[string]struct {
		says    string
		hangsUp bool   // at once, rather than when the server does
		answer  string // the beginning of the last response
		want    string // empty if nothing is counted
	}{
		"a request":                        {good, false, "HTTP/1.1 200", ""},
		"a request that is refused":        {"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n", false, "HTTP/1.1 404", ""},
		"a request of the server itself":   {"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", false, "HTTP/1.1 404", ""},
		"a request without its body":       {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", false, "HTTP/1.1 408", ""},
		"nothing":                          {"", true, "", "silent"},
		"nothing, and it stays":            {"", false, "", "silent"},
		"no HTTP":                          {"hello?\r\n\r\n", false, "HTTP/1.1 400", "malformed"},
		"no HTTP, behind a request":        {good + "hello?\r\n\r\n", false, "HTTP/1.1 400", "malformed"},
		"headers that are too large":       {"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 2*maxHeaderBytes), false, "HTTP/1.1 431", "malformed"},
		"a coding that nobody knows":       {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: odd\r\n\r\n", false, "HTTP/1.1 501", "malformed"},
		"an expectation that nobody knows": {"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: more\r\n\r\n", false, "HTTP/1.1 417", "malformed"},
		"half of a request":                {started, true, "", "malformed"},
		"half of a request behind another": {good + started, true, "", "malformed"},
		"half of a request, and it waits":  {started, false, "", "timeout"},
		"large headers, behind a request":  {good + started + strings.Repeat("x", 2*maxHeaderBytes), false, "HTTP/1.1 431", "malformed"},
		"two requests":                     {good + good, false, "HTTP/1.1 200", ""},
		"two requests, and it hangs up":    {good + good, true, "", ""},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, over TLS: %v", name, secure), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := arriving(t, secure)
					conn := a.listener.dial()
					if secure {
						client := tls.Client(conn, a.trust)
						if err := client.HandshakeContext(t.Context()); err != nil {
							t.Fatal(err)
						}
						conn = client
					}
					var answer bytes.Buffer
					read := make(chan struct{})
					go func() {
						defer close(read)
						_, _ = io.Copy(&answer, conn) // it ends with the connection
					}()
					_, _ = io.WriteString(conn, tc.says) // the server may have heard enough before
					synctest.Wait()
					if tc.hangsUp {
						_ = conn.Close()
					}
					time.Sleep(2 * idlePatience)
					_ = conn.Close()
					<-read
					synctest.Wait()
					want := map[string]string{}
					if tc.want != "" {
						want[tc.want] = "1"
					}
					if diff := cmp.Diff(want, countedArrivals(t, a.gateway)); diff != "" {
						t.Errorf("counted (-want +got):\n%s", diff)
					}
					last := answer.String()[max(strings.LastIndex(answer.String(), "HTTP/1.1 "), 0):]
					if !strings.HasPrefix(last, tc.answer) {
						t.Errorf("it is answered %.300q, want %s", last, tc.answer)
					}
				})
			})
		}
	}
}

func TestG13_WhatIsNoHandshakeIsCounted(t *testing.T) {
	for name, tc := range map[string]struct{ says, want string }{
		"plain HTTP":          {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "handshake"},
		"something else":      {"\x00\x01\x02\x03\x04\x05\x06\x07", "handshake"},
		"a part of it":        {"\x16\x03\x01", "handshake"},
		"nothing":             {"", "silent"},
		"one it cannot trust": {"trust", "handshake"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := arriving(t, true)
				conn := a.listener.dial()
				if tc.says == "trust" {
					if err := tls.Client(conn, &tls.Config{ServerName: "localhost"}).HandshakeContext(t.Context()); err == nil {
						t.Error("it trusts a certificate that nobody signed")
					}
				} else {
					go func() { _, _ = io.Copy(io.Discard, conn) }()
					_, _ = io.WriteString(conn, tc.says) // the server may have heard enough before
				}
				time.Sleep(2 * idlePatience)
				_ = conn.Close()
				synctest.Wait()
				if diff := cmp.Diff(map[string]string{tc.want: "1"}, countedArrivals(t, a.gateway)); diff != "" {
					t.Errorf("counted (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// arrivingGateway is a gateway with an in-memory main listener.
type arrivingGateway struct {
	gateway  *Gateway
	listener *piped
	trust    *tls.Config
}

func arriving(t *testing.T, secure bool) arrivingGateway {
	t.Helper()
	o, dir := Options{}, t.TempDir()
	a := arrivingGateway{listener: newPiped()}
	if secure {
		own, _ := server(t)
		o.TLSCertFile, o.TLSKeyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
		write(t, o.TLSCertFile, own.cert)
		write(t, o.TLSKeyFile, own.key)
		a.trust = trusting(t, o.TLSCertFile)
		a.trust.ServerName = "localhost"
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	a.gateway = g
	s := g.newServer(g.mainHandler(), g.options.BodyTimeout)
	g.secure(s)
	g.watchArrivals(s)
	ended := make(chan error, 1)
	go func() { ended <- served(g.serveMain(s, arrivals{a.listener})) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		g.Close()
	})
	return a
}

// A caller that sends requests and never reads is cut off, and holds no place
// among the requests in flight.
func TestG6_WhoReadsNoResponseHoldsNoPlace(t *testing.T) {
	for name, path := range map[string]string{
		"the API":     "/openapi.yaml",
		"a listing":   "/v1/hooks",
		"a page":      "/ui/approvals",
		"a style":     "/ui/approvals.css",
		"a refusal":   "/v1/decide",
		"nothing":     "/nothing",
		"a stream":    "/v1/decisions",
		"probes":      "/healthz",
		"a scrape":    "/metrics",
		"a profile":   "/debug/pprof/goroutine",
		"admin's 404": "/debug/nothing",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, err := New(Options{Pprof: true})
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				handler := g.mainHandler()
				if name == "probes" || name == "a scrape" || name == "a profile" || name == "admin's 404" {
					handler = g.adminHandler()
				}
				s := g.newServer(handler, g.options.BodyTimeout)
				pipes := newPiped()
				ended := make(chan error, 1)
				go func() { ended <- served(s.Serve(pipes)) }()
				conn := pipes.dial()
				if err := conn.SetDeadline(time.Now().Add(g.options.BodyTimeout + 2*time.Second)); err != nil {
					t.Error(err)
				}
				go func() {
					_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n") // its end is what the test is about
				}()
				time.Sleep(g.options.BodyTimeout + time.Second)
				if _, err := conn.Write([]byte("G")); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("the connection is still open: %v", err)
				}
				if n := g.flying.Load(); n != 0 {
					t.Errorf("%d requests are in flight", n)
				}
				shut(t, conn)
				shut(t, s)
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
