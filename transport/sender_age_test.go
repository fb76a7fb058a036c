package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// secureWays are the ways to reach an endpoint, including TLS: how each
// modifies the options, and how the endpoint speaks.
func secureWays(t *testing.T) map[string]struct {
	by     func(WebhookOptions) WebhookOptions
	secure *tls.Config
	serve  func(c *hookConn)
} {
	t.Helper()
	type way = struct {
		by     func(WebhookOptions) WebhookOptions
		secure *tls.Config
		serve  func(c *hookConn)
	}
	ca := newAuthority(t)
	over := func(o WebhookOptions) WebhookOptions {
		o.URL, o.TLS = "https://127.0.0.1", &tls.Config{RootCAs: ca.pool}
		return o
	}
	all := map[string]way{
		"over HTTP/1.1 and TLS": {over, ca.serving(t, "http/1.1"), allowsAll},
		"over HTTP/2": {over, ca.serving(t, "h2"), func(c *hookConn) {
			c.serveOver2(func(stream uint32, _ int) bool { c.allowOver2(stream); return true })
		}},
	}
	for name, by := range ways() {
		all[name] = way{by, nil, allowsAll}
	}
	return all
}

func TestWebhook_NoConnectionIsUsedForLongerThanItsAge(t *testing.T) {
	for _, name := range []string{"on the caller's goroutine", "over net_http", "over HTTP/1.1 and TLS", "over HTTP/2"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				way := secureWays(t)[name]
				w, h := inBubble(t, way.by(WebhookOptions{URL: "http://hook.test", MaxConnAge: time.Minute}), way.secure, way.serve)
				began := time.Now()
				for time.Since(began) < 10*time.Minute {
					same(t, allowing(), ask(t, w))
					time.Sleep(time.Second)
				}
				// Each connection is used for 54 to 60 s. The next call opens a new one.
				if n := h.dials(); n < 10 || n > 12 {
					t.Errorf("%d connections in ten minutes, want one a minute", n)
				}
			})
		})
	}
}

func TestWebhook_AConnectionOfAgeServesTheQuestionThatItCarries(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := inBubble(t, by(WebhookOptions{URL: "http://hook.test", MaxConnAge: time.Second}), nil, func(c *hookConn) {
					for c.next() {
						time.Sleep(10 * time.Second)
						c.say(allowed)
					}
				})
				for range 2 {
					same(t, allowing(), ask(t, w))
				}
				synctest.Wait()
				if h.dials() != 2 {
					t.Errorf("%d connections, want another one for the second question", h.dials())
				}
			})
		})
	}
}

func TestWebhook_BehindABreakerThatHasOpenedNoOldConnectionIsUsed(t *testing.T) {
	for _, name := range []string{"on the caller's goroutine", "over net_http", "over HTTP/1.1 and TLS", "over HTTP/2"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				way := secureWays(t)[name]
				asked := make(chan struct{}, 1)
				release := make(chan struct{})
				hold := func(c *hookConn) { // holds the first request until the breaker has opened
					select {
					case asked <- struct{}{}:
						<-release
					default:
					}
				}
				serve := func(c *hookConn) {
					for c.next() {
						hold(c)
						c.say(allowed)
					}
				}
				if name == "over HTTP/2" {
					serve = func(c *hookConn) {
						c.serveOver2(func(stream uint32, _ int) bool { hold(c); c.allowOver2(stream); return true })
					}
				}
				w, h := inBubble(t, way.by(WebhookOptions{URL: "http://hook.test", Breaker: BreakerOptions{ConsecutiveFailures: 1, Open: time.Second}}), way.secure, serve)
				var slow sync.WaitGroup
				slow.Go(func() { same(t, allowing(), ask(t, w)) })
				synctest.Wait()
				real := w.reach.Load()
				w.reach.Store(&reach{sender: failing{real.sender}, refused: real.refused})
				tryOnce(t, w) // opens the breaker
				w.reach.Store(real)
				close(release)
				slow.Wait()
				time.Sleep(time.Second + time.Millisecond)
				same(t, allowing(), ask(t, w))
				if h.dials() != 2 {
					t.Errorf("%d connections, want another one for the probe", h.dials())
				}
			})
		})
	}
}

// failing is a sender that always fails to connect.
type failing struct{ sender }

func (failing) send(context.Context, question) (reply, *sendFailure) {
	return reply{}, &sendFailure{cause: chain.Connect, text: "failed", err: errors.New("so")}
}

// wire records what the observer is told of connections.
type wire struct {
	unobserved
	mu   sync.Mutex
	told []string
}

func (o *wire) tell(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, what)
}

func (o *wire) heard() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.told
}

func (o *wire) Connected(reused bool) { o.tell(map[bool]string{true: "reused", false: "new"}[reused]) }

func (o *wire) Repeated() { o.tell("repeated") }

func (o *wire) HandshakeFailed(why HandshakeFailure) { o.tell("handshake " + why.String()) }

func TestWebhook_SaysWhichConnectionsItUsesAndWhatItRepeats(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			seen := &wire{}
			h := listen(t, nil, func(c *hookConn) {
				if c.number == 0 { // answers once, and dies with the next request
					c.next()
					c.say(allowed)
					c.next()
					return
				}
				allowsAll(c)
			})
			w := webhookTo(t, by(WebhookOptions{URL: h.url, Observer: seen}))
			for range 3 {
				same(t, allowing(), ask(t, w))
			}
			want := []string{"new", "reused", "repeated", "new", "reused"}
			if diff := cmp.Diff(want, seen.heard()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWebhook_SaysWhyAHandshakeFailed(t *testing.T) {
	ca := newAuthority(t)
	trusting := &tls.Config{RootCAs: ca.pool}
	expired := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, time.Now().Add(-time.Hour))}}
	demanding := ca.serving(t)
	demanding.ClientAuth, demanding.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool
	old := ca.serving(t)
	old.MaxVersion = tls.VersionTLS11
	for name, c := range map[string]struct {
		secure  *tls.Config // of the endpoint
		ours    *tls.Config
		serve   func(c *hookConn)
		want    string
		timeout time.Duration
	}{
		"nobody trusts it":        {ca.serving(t), nil, allowsAll, "handshake certificate", plenty},
		"its certificate is over": {expired, trusting, allowsAll, "handshake certificate", plenty},
		"it wants another name":   {ca.serving(t), &tls.Config{RootCAs: ca.pool, ServerName: "other.test"}, allowsAll, "handshake certificate", plenty},
		"it wants a certificate":  {demanding, trusting, allowsAll, "handshake refused", plenty},
		"it speaks old TLS alone": {old, trusting, allowsAll, "handshake refused", plenty},
	} {
		t.Run(name, func(t *testing.T) {
			seen := &wire{}
			h := listen(t, c.secure, c.serve)
			w := webhookTo(t, WebhookOptions{URL: h.url, TLS: c.ours, Observer: seen})
			if got := summary(ask(t, w)); got != "tls" {
				t.Errorf("the call got %s, want tls", got)
			}
			told := seen.heard()
			if len(told) == 0 || told[len(told)-1] != c.want {
				t.Errorf("told %v, want %s", told, c.want)
			}
		})
	}
	t.Run("it speaks none", func(t *testing.T) {
		seen := &wire{}
		h := listen(t, nil, func(c *hookConn) { c.say("220 mail.test ESMTP\r\n"); c.wait() })
		w := webhookTo(t, WebhookOptions{URL: "https" + h.url[4:], Observer: seen})
		ask(t, w)
		if diff := cmp.Diff([]string{"handshake broken"}, seen.heard()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
	t.Run("it is silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			seen := &wire{}
			w, _ := inBubble(t, WebhookOptions{URL: "https://127.0.0.1", TLS: trusting, Observer: seen}, nil, func(c *hookConn) { c.wait() })
			within(t.Context(), t, w, chain.PreToolUse, time.Minute)
			if diff := cmp.Diff([]string{"handshake timeout"}, seen.heard()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	})
}

func TestHandshakeFailure_IsReadFromTypesAlone(t *testing.T) {
	for err, want := range map[error]HandshakeFailure{
		&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}:                         HandshakeCertificate,
		&net.OpError{Op: "remote error", Err: tls.AlertError(40)}:                                    HandshakeRefused,
		fmt.Errorf("wrapped: %w", &net.OpError{Op: "read", Err: context.DeadlineExceeded}):           HandshakeTimeout,
		&net.OpError{Op: "local error", Err: tls.AlertError(70)}:                                     HandshakeBroken,
		errors.New("remote error: tls: handshake failure, certificate expired, timeout, so it said"): HandshakeBroken,
	} {
		if got := handshakeFailure(err); got != want {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}
