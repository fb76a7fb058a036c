package transport

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func TestT2_AnEndpointThatIsSilentOnTheWayIsCutAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := inBubble(t, WebhookOptions{URL: "https://hook.test"}, nil, func(c *hookConn) { c.wait() })
		got := within(t.Context(), t, w, chain.PreToolUse, time.Second)
		want := chain.Fail(chain.Timeout, "timed out after 1000 ms", "POST https://hook.test: the deadline passed while waiting for a connection: context deadline exceeded")
		same(t, want, got)
	})
}

func TestWebhook_UsesAProxyOnlyIfItIsGivenOne(t *testing.T) {
	var through []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through = append(through, r.Method+" "+r.RequestURI)
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, `{"decision":"deny","reason":"by the proxy"}`)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	h := listen(t, nil, allowsAll)

	direct := webhookTo(t, WebhookOptions{URL: "http://hook.internal/ask"})
	var dialed []string
	dialer := dialerOf(t, direct)
	connect := dialer.connect
	dialer.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed = append(dialed, address)
		return connect(ctx, network, strings.TrimSuffix(strings.TrimPrefix(h.url, "http://"), "/hook"))
	}
	if got := summary(ask(t, direct)); got != "allow" || !cmp.Equal(dialed, []string{"hook.internal:80"}) {
		t.Errorf("without a proxy: got %s from %v, want allow from the endpoint itself", got, dialed)
	}

	proxied := WebhookOptions{URL: "http://hook.internal/ask", Proxy: http.ProxyURL(at)}
	if got := ask(t, webhookTo(t, proxied)); got.Outcome.Reason != "by the proxy" {
		t.Errorf("through a proxy: got %+v", got)
	}
	proxied.URL = "https://hook.internal/ask"
	if diff := cmp.Diff(failure(chain.Connect, "could not be reached"), public(t, ask(t, webhookTo(t, proxied)))); diff != "" {
		t.Errorf("through a proxy that refuses (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"POST http://hook.internal/ask", "CONNECT hook.internal:443"}, through); diff != "" {
		t.Errorf("what the proxy saw (-want +got):\n%s", diff)
	}
}

func TestWebhook_SpeaksTLSThroughAProxyToTheEndpointItself(t *testing.T) {
	ca := newAuthority(t)
	h := listen(t, ca.serving(t), allowsAll)
	proxy := listen(t, nil, func(c *hookConn) {
		if !c.next() {
			return
		}
		there, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(h.url, "https://"), "/hook"))
		if err != nil {
			t.Error(err)
			return
		}
		c.say("HTTP/1.1 200 Connected\r\n\r\n")
		go func() {
			_, _ = io.Copy(there, c.r)
			_ = there.Close()
		}()
		_, _ = io.Copy(c, there)
	})
	at, err := url.Parse(proxy.url)
	if err != nil {
		t.Fatal(err)
	}
	w := webhookTo(t, WebhookOptions{URL: h.url, TLS: &tls.Config{RootCAs: ca.pool}, Proxy: http.ProxyURL(at)})
	for range 2 {
		same(t, allowing(), ask(t, w))
	}
	if n := len(h.heard()); n != 2 || h.dials() != 1 {
		t.Errorf("%d questions on %d connections, want two on one", n, h.dials())
	}
	w = webhookTo(t, WebhookOptions{URL: h.url, Proxy: http.ProxyURL(at)}) // without trusted roots
	same(t, failure(chain.TLS, untrusted), public(t, ask(t, w)))
}
