package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// actingConn is a connection with hooks that run before its methods. If a hook
// fails, the method fails.
type actingConn struct {
	net.Conn
	onRead         func() error
	onDeadline     func(at time.Time) error
	onReadDeadline func()
	closed         atomic.Bool
}

func (c *actingConn) Read(p []byte) (int, error) {
	if c.onRead != nil {
		if err := c.onRead(); err != nil {
			return 0, err
		}
	}
	return c.Conn.Read(p)
}

func (c *actingConn) SetDeadline(at time.Time) error {
	if c.onDeadline != nil {
		if err := c.onDeadline(at); err != nil {
			return err
		}
	}
	return c.Conn.SetDeadline(at)
}

func (c *actingConn) SetReadDeadline(at time.Time) error {
	if c.onReadDeadline != nil {
		c.onReadDeadline()
	}
	return c.Conn.SetReadDeadline(at)
}

func (c *actingConn) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}

// acting wraps every connection of a webhook. nth counts them from 0.
func acting(t *testing.T, w *Webhook, act func(nth int, c *actingConn)) {
	t.Helper()
	d := dialerOf(t, w)
	connect, dials := d.connect, 0
	d.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := connect(ctx, network, address)
		a := &actingConn{Conn: c}
		act(dials, a)
		dials++
		return a, err
	}
}

func TestPlainConn_AHangUpIsNotLostBetweenTwoDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := inBubble(t, WebhookOptions{URL: "http://hook.test"}, nil, func(c *hookConn) {
			if c.next() {
				c.say("HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\n")
				c.wait()
			}
		})
		ctx, hangUp := context.WithCancel(t.Context())
		acting(t, w, func(_ int, c *actingConn) {
			c.onReadDeadline = func() { // for the body; it overwrites the deadline that the hang-up has set
				hangUp()
				synctest.Wait()
			}
		})
		began := time.Now()
		within(ctx, t, w, chain.PreToolUse, plenty)
		if took := time.Since(began); took != 0 {
			t.Errorf("a caller that hung up was kept for %v", took)
		}
	})
}

func TestPlainConn_AHangUpThatComesLateReachesNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := inBubble(t, WebhookOptions{URL: "http://hook.test"}, nil, allowsAll)
		ctx, hangUp := context.WithCancel(t.Context())
		release, released := make(chan struct{}), make(chan struct{})
		acting(t, w, func(nth int, c *actingConn) {
			if nth > 0 {
				return
			}
			c.onRead = func() error { hangUp(); return nil }
			c.onDeadline = func(at time.Time) error {
				if at.Before(time.Now()) { // set by the hang-up, which is slow
					<-release
					defer close(released)
				}
				return nil
			}
		})
		within(ctx, t, w, chain.PreToolUse, plenty) // answered, but the caller is gone
		same(t, allowing(), ask(t, w))
		close(release)
		<-released
		same(t, allowing(), ask(t, w))
		if h.dials() != 2 {
			t.Errorf("%d connections, want another one after the hang-up and that again", h.dials())
		}
		if n := w.Status().Breaker.ConsecutiveFailures; n != 0 {
			t.Errorf("%d failures were counted", n)
		}
	})
}

func TestPlainConn_WithoutADeadlineNothingIsAsked(t *testing.T) {
	broken := errors.New("no such connection")
	for name, c := range map[string]struct {
		fails func(nth, exchange int) bool
		want  []string
		heard int
	}{
		"on a fresh one":                {func(nth, _ int) bool { return nth == 0 }, []string{"reset", "allow"}, 1},
		"on one that idled":             {func(_, exchange int) bool { return exchange == 1 }, []string{"allow", "allow"}, 2},
		"on one that idled and another": {func(nth, exchange int) bool { return nth == 1 || exchange == 1 }, []string{"allow", "reset"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := inBubble(t, WebhookOptions{URL: "http://hook.test"}, nil, allowsAll)
				acting(t, w, func(nth int, conn *actingConn) {
					exchange := 0
					conn.onDeadline = func(time.Time) error {
						defer func() { exchange++ }()
						if c.fails(nth, exchange) {
							return broken
						}
						return nil
					}
				})
				var got []string
				for range c.want {
					got = append(got, summary(ask(t, w)))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("answers (-want +got):\n%s", diff)
				}
				if n := len(h.heard()); n != c.heard {
					t.Errorf("the endpoint heard %d questions, want %d", n, c.heard)
				}
			})
		})
	}
}

func TestPlainConn_IsClosedWhereAPanicEndsTheExchange(t *testing.T) {
	for name, size := range map[string]int{"of a small question": 1, "of a large question": writtenAside} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := inBubble(t, WebhookOptions{URL: "http://hook.test"}, nil, allowsAll)
				var conn *actingConn
				acting(t, w, func(_ int, c *actingConn) {
					conn = c
					c.onRead = func() error { panic("a fault of the parser") }
				})
				func() {
					defer func() {
						if recover() == nil {
							t.Error("there was no panic")
						}
					}()
					w.Ask(t.Context(), sized(t, size))
				}()
				if !conn.closed.Load() {
					t.Error("its connection is open")
				}
				if got := w.Status(); got.InFlight != 0 || got.Breaker.ConsecutiveFailures != 1 {
					t.Errorf("status %+v", got)
				}
			})
		})
	}
}

func TestPlainConn_AQuestionIsNotRepeatedForACallerThatHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := inBubble(t, WebhookOptions{URL: "http://hook.test"}, nil, allowsAll)
		ctx, hangUp := context.WithCancel(t.Context())
		acting(t, w, func(_ int, c *actingConn) {
			exchanges := 0
			c.onDeadline = func(at time.Time) error {
				if at.After(time.Now()) { // starts an exchange
					exchanges++
				}
				return nil
			}
			c.onRead = func() error {
				if exchanges < 2 {
					return nil
				}
				hangUp()
				return io.EOF
			}
		})
		same(t, allowing(), within(ctx, t, w, chain.PreToolUse, plenty))
		within(ctx, t, w, chain.PreToolUse, plenty)
		if h.dials() != 1 {
			t.Errorf("%d connections, want that which died alone", h.dials())
		}
	})
}

func TestPlainConn_LeavesNothingInTheContextOfItsCaller(t *testing.T) {
	for name, said := range map[string]string{"an answer": allowed, "half an answer": allowed[:40]} {
		t.Run("after "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := inBubble(t, WebhookOptions{URL: "http://hook.test"}, nil, func(c *hookConn) {
					if c.next() {
						c.say(said)
					}
				})
				var touched atomic.Int64
				acting(t, w, func(_ int, c *actingConn) {
					c.onDeadline = func(time.Time) error { touched.Add(1); return nil }
				})
				ctx, end := context.WithCancel(t.Context())
				within(ctx, t, w, chain.PreToolUse, plenty)
				before := touched.Load()
				end()
				synctest.Wait()
				if touched.Load() != before {
					t.Error("the end of the context still reaches the connection")
				}
			})
		})
	}
}

func TestPlainConn_IsNotUsedAgainWhereAnOlderProtocolOffersThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := inBubble(t, WebhookOptions{URL: "http://hook.test"}, nil, func(c *hookConn) {
			for c.next() {
				c.say("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 20\r\n\r\n" + `{"decision":"allow"}`)
			}
		})
		for range 2 {
			same(t, allowing(), ask(t, w))
		}
		if h.dials() != 2 {
			t.Errorf("%d connections for two questions", h.dials())
		}
	})
}
