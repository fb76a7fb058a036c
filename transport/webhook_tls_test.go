package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

const untrusted = "could not be reached: the TLS handshake failed"

func TestWebhook_OnlyATrustedEndpointIsAsked(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	soon := time.Now().Add(time.Hour)
	with := func(c tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{c}} }
	good := ca.serving(t)
	for name, c := range map[string]struct {
		server *tls.Config
		client *tls.Config
		want   chain.Answer
	}{
		"good":              {good, nil, allowing()},
		"expired":           {with(ca.issue(t, time.Now().Add(-time.Hour))), nil, failure(chain.TLS, untrusted)},
		"another's name":    {with(ca.issue(t, soon, "other.example")), nil, failure(chain.TLS, untrusted)},
		"unknown authority": {with(other.issue(t, soon)), nil, failure(chain.TLS, untrusted)},
		"the name that was asked for": {
			with(ca.issue(t, soon, "dlp.internal")), &tls.Config{ServerName: "dlp.internal"}, allowing(),
		},
		"too old a protocol": {
			&tls.Config{Certificates: good.Certificates, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10},
			&tls.Config{MinVersion: tls.VersionTLS10},
			failure(chain.TLS, untrusted),
		},
		"no certificate where one is required": {
			&tls.Config{Certificates: good.Certificates, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool}, nil,
			failure(chain.TLS, untrusted),
		},
		"a certificate where one is required": {
			&tls.Config{Certificates: good.Certificates, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool},
			&tls.Config{Certificates: []tls.Certificate{ca.issue(t, soon)}}, allowing(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := listen(t, c.server, allowsAll)
			if c.client == nil {
				c.client = &tls.Config{}
			}
			c.client.RootCAs = ca.pool
			w := webhookTo(t, WebhookOptions{URL: h.url, TLS: c.client})
			for range 2 {
				same(t, c.want, public(t, ask(t, w)))
			}
			if n := len(h.heard()); c.want.Failure != nil && n != 0 {
				t.Errorf("the endpoint has heard %d questions, want none", n)
			}
		})
	}
}

func TestWebhook_AnEndpointWithoutTLSBehindHTTPSIsNotAsked(t *testing.T) {
	h := listen(t, nil, func(c *hookConn) {
		c.say(response("400 Bad Request", "", "this is plain HTTP"))
		c.finish()
	})
	w := webhookTo(t, WebhookOptions{URL: strings.Replace(h.url, "http", "https", 1)})
	same(t, failure(chain.TLS, untrusted), public(t, ask(t, w)))
}

func TestWebhook_AnswersNobodyAskedForAreNoAnswersUnderTLSEither(t *testing.T) {
	ca := newAuthority(t)
	denied := response("200 OK", "", `{"decision":"deny"}`)
	h := listen(t, ca.serving(t), func(c *hookConn) {
		if c.next() {
			c.say(denied + allowed)
			c.wait()
		}
	})
	w := webhookTo(t, WebhookOptions{URL: h.url, TLS: &tls.Config{RootCAs: ca.pool}})
	quietly(t)
	for range 50 {
		if got := summary(ask(t, w)); got != "deny" {
			t.Errorf("got %s, want deny", got)
		}
	}
}

// over2 starts a hook that speaks HTTP/2, and returns a webhook for it.
func over2(t *testing.T, serve func(c *hookConn)) (*Webhook, *hook) {
	t.Helper()
	ca := newAuthority(t)
	h := listen(t, ca.serving(t, "h2"), serve)
	return webhookTo(t, WebhookOptions{URL: h.url, TLS: &tls.Config{RootCAs: ca.pool}}), h
}

func TestWebhook_ManyCallsShareAConnectionOverHTTP2(t *testing.T) {
	w, h := over2(t, func(c *hookConn) {
		c.serveOver2(func(stream uint32, _ int) bool { c.allowOver2(stream); return true })
	})
	ask(t, w)
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			if got := summary(within(t.Context(), t, w, chain.PreToolUse, plenty)); got != "allow" {
				t.Errorf("got %s, want allow", got)
			}
		})
	}
	callers.Wait()
	if n := len(h.heard()); n != 51 || h.dials() != 1 {
		t.Errorf("%d questions on %d connections, want 51 on one", n, h.dials())
	}
}

func TestWebhook_OverHTTP2TooAQuestionIsRepeatedOnceAndOnlyAfterAReusedConnectionDied(t *testing.T) {
	goAway := func(c *hookConn, last byte) {
		c.sayFrame(frame{kind: frameGoAway, payload: []byte{0, 0, 0, last, 0, 0, 0, 0}})
	}
	refuse := func(c *hookConn, stream uint32) {
		c.sayFrame(frame{kind: frameReset, stream: stream, payload: []byte{0, 0, 0, 7}})
	}
	for name, c := range map[string]struct {
		// meet handles the nth request on a connection. It returns whether the
		// connection continues.
		meet  func(c *hookConn, stream uint32, nth int) bool
		want  []string
		heard int
	}{
		"goes away on its first question": {
			func(c *hookConn, _ uint32, _ int) bool { goAway(c, 0); c.wait(); return false },
			[]string{"reset"},
			1,
		},
		"refuses its first question": {
			func(c *hookConn, stream uint32, _ int) bool { refuse(c, stream); return true },
			[]string{"reset"},
			1,
		},
		"closes on its first question": {
			func(*hookConn, uint32, int) bool { return false },
			[]string{"reset"},
			1,
		},
		"goes away when it is used again": {
			func(c *hookConn, stream uint32, nth int) bool {
				if nth == 0 {
					c.allowOver2(stream)
					return true
				}
				goAway(c, 1)
				c.wait()
				return false
			},
			[]string{"allow", "allow"},
			3,
		},
		"closes when it is used again": {
			func(c *hookConn, stream uint32, nth int) bool {
				if nth == 0 {
					c.allowOver2(stream)
				}
				return nth == 0
			},
			[]string{"allow", "allow"},
			3,
		},
		"refuses all but its first question": {
			func(c *hookConn, stream uint32, nth int) bool {
				if nth == 0 {
					c.allowOver2(stream)
				} else {
					refuse(c, stream)
				}
				return true
			},
			[]string{"allow", "allow"},
			3,
		},
		"closes in the middle of an answer": {
			func(c *hookConn, stream uint32, nth int) bool {
				if nth == 0 {
					c.allowOver2(stream)
					return true
				}
				c.sayFrame(frame{kind: frameHeaders, flags: flagHeaders, stream: stream, payload: []byte{0x88}})
				return false
			},
			[]string{"allow", "reset"},
			2,
		},
		"ends one stream in the middle": {
			func(c *hookConn, stream uint32, _ int) bool {
				c.sayFrame(frame{kind: frameReset, stream: stream, payload: []byte{0, 0, 0, 2}})
				return true
			},
			[]string{"reset", "reset"},
			2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, h := over2(t, func(conn *hookConn) {
				conn.serveOver2(func(stream uint32, nth int) bool { return c.meet(conn, stream, nth) })
			})
			var got []string
			for range c.want {
				got = append(got, summary(ask(t, w)))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			heard := h.heard()
			if len(heard) != c.heard {
				t.Errorf("questions were put %d times, want %d", len(heard), c.heard)
			}
			for _, q := range heard {
				if !bytes.Equal(q.body, heard[0].body) {
					t.Errorf("the endpoint heard %q", q.body)
				}
			}
		})
	}
}

func TestWebhook_AnHTTP2ConnectionThatTimedOutIsNotUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		w, h := inBubble(t, WebhookOptions{URL: "https://127.0.0.1", TLS: &tls.Config{RootCAs: ca.pool}}, ca.serving(t, "h2"),
			func(c *hookConn) {
				c.serveOver2(func(stream uint32, nth int) bool {
					if nth == 0 {
						c.allowOver2(stream)
						return true
					}
					c.wait() // dead: not even a ping is answered
					return false
				})
			})
		for call, want := range []string{"allow", "timeout", "allow", "timeout"} {
			if got := summary(within(t.Context(), t, w, chain.PreToolUse, time.Second)); got != want {
				t.Errorf("call %d got %s, want %s", call, got, want)
			}
		}
		if h.dials() != 2 {
			t.Errorf("%d connections, want another one after the time-out", h.dials())
		}
	})
}

func TestWebhook_AnHTTP2ConnectionThatDiedIsNoticedThoughEveryCallerHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		w, h := inBubble(t, WebhookOptions{URL: "https://127.0.0.1", TLS: &tls.Config{RootCAs: ca.pool}}, ca.serving(t, "h2"),
			func(c *hookConn) {
				c.serveOver2(func(stream uint32, nth int) bool {
					if nth == 0 {
						c.allowOver2(stream)
						return true
					}
					c.wait()
					return false
				})
			})
		ask(t, w)
		for range 10 {
			ctx, hangUp := context.WithTimeout(t.Context(), 2*time.Second)
			within(ctx, t, w, chain.PreToolUse, plenty)
			hangUp()
		}
		if h.dials() < 2 {
			t.Errorf("%d connections: the dead one is still in use after 20 s", h.dials())
		}
	})
}
