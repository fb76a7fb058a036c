package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

const noPlace = "could not be reached: the gateway's operator does not allow hooks to connect to its address"

// noLoopback permits every address except loopback, and checks the host.
func noLoopback(t *testing.T) Permit {
	t.Helper()
	return func(host string, addr netip.Addr) error {
		if host != "localhost" && host != "127.0.0.1" {
			t.Errorf("it was asked about the host %q", host)
		}
		if addr.Unmap().IsLoopback() {
			return errors.New(addr.String() + " is refused")
		}
		return nil
	}
}

// counting counts the connections that a server accepts.
func counting(s *httptest.Server) *atomic.Int64 {
	var n atomic.Int64
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			n.Add(1)
		}
	}
	return &n
}

func TestWebhook_NoConnectionIsMadeToAnAddressThatIsNotPermittedWhateverItsName(t *testing.T) {
	allow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"decision":"allow"}`)) })
	plain := httptest.NewUnstartedServer(allow)
	taken := counting(plain)
	plain.Start()
	defer plain.Close()
	secure := httptest.NewUnstartedServer(allow)
	takenSecure := counting(secure)
	secure.StartTLS()
	defer secure.Close()

	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())

	named := func(u string) string { return strings.Replace(u, "127.0.0.1", "localhost", 1) }
	for name, o := range map[string]WebhookOptions{
		"plain, an address": {URL: plain.URL},
		"plain, a name":     {URL: named(plain.URL)},
		"TLS, an address":   {URL: secure.URL, TLS: &tls.Config{RootCAs: roots}},
		"TLS, a name":       {URL: named(secure.URL)},
	} {
		for way, as := range ways() {
			t.Run(name+"/"+way, func(t *testing.T) {
				o := as(o)
				o.Permit = noLoopback(t)
				w := webhookTo(t, o)
				got := ask(t, w)
				if diff := cmp.Diff(failure(chain.Connect, noPlace), public(t, got)); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
				if got.Failure != nil && !strings.Contains(got.Failure.Detail, "is refused") {
					t.Errorf("the detail is %q", got.Failure.Detail)
				}
			})
		}
	}
	if n, m := taken.Load(), takenSecure.Load(); n+m > 0 {
		t.Errorf("there were %d and %d connections", n, m)
	}
	permitted := webhookTo(t, WebhookOptions{URL: named(plain.URL), Permit: func(string, netip.Addr) error { return nil }})
	if diff := cmp.Diff(allowing(), ask(t, permitted)); diff != "" || taken.Load() != 1 {
		t.Errorf("where it is permitted: %d connections, answer (-want +got):\n%s", taken.Load(), diff)
	}
}

func TestWebhook_AProxyIsConnectedToWhereThatIsPermitted(t *testing.T) {
	proxy := httptest.NewUnstartedServer(http.NotFoundHandler())
	taken := counting(proxy)
	proxy.Start()
	defer proxy.Close()
	u, err := http.NewRequestWithContext(t.Context(), http.MethodGet, proxy.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"http://hooks.example.com/", "https://hooks.example.com/"} {
		w := webhookTo(t, WebhookOptions{URL: url, Proxy: http.ProxyURL(u.URL), Permit: noLoopback(t)})
		if diff := cmp.Diff(failure(chain.Connect, noPlace), public(t, ask(t, w))); diff != "" || taken.Load() > 0 {
			t.Errorf("%s: %d connections, answer (-want +got):\n%s", url, taken.Load(), diff)
		}
	}
}

func TestWebhook_ANameIsAskedAboutEachTimeItIsConnectedTo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		_, _ = w.Write([]byte(`{"decision":"allow"}`))
	}))
	defer server.Close()
	var moved atomic.Bool // the name resolves to another address the second time
	w := webhookTo(t, WebhookOptions{URL: server.URL, Permit: func(string, netip.Addr) error {
		if moved.Load() {
			return errors.New("it is refused")
		}
		return nil
	}})
	if diff := cmp.Diff(allowing(), ask(t, w)); diff != "" {
		t.Errorf("the first time (-want +got):\n%s", diff)
	}
	moved.Store(true)
	if diff := cmp.Diff(failure(chain.Connect, noPlace), public(t, ask(t, w))); diff != "" {
		t.Errorf("the second time (-want +got):\n%s", diff)
	}
}
