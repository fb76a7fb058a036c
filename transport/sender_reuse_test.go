package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http logs to the standard logger
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func TestWebhook_KeepsConnectionsForShorterThanServersDo(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := inBubble(t, by(WebhookOptions{URL: "http://hook.test"}), nil, allowsAll)
				for _, pause := range []time.Duration{0, 3 * time.Second, 4100 * time.Millisecond} {
					time.Sleep(pause)
					if got := summary(ask(t, w)); got != "allow" {
						t.Errorf("after %v got %s, want allow", pause, got)
					}
				}
				if h.dials() != 2 {
					t.Errorf("%d connections, want one for the first two calls and a fresh one for the third", h.dials())
				}
			})
		})
	}
}

func TestWebhook_PutsAnotherQuestionOnlyBehindAWholeResponse(t *testing.T) {
	const denied = "HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n" + `{"decision":"deny"}`
	for name, c := range map[string]struct {
		said   string
		want   string
		reused bool
	}{
		"with a length":                   {allowed, "allow", true},
		"without a body":                  {response("200 OK", "", ""), "empty", true},
		"in chunks":                       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n0\r\n\r\n", "allow", true},
		"in chunks with a trailer":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n0\r\nX-A: b\r\n\r\n", "allow", true},
		"after an interim one":            {"HTTP/1.1 100 Continue\r\n\r\n" + allowed, "allow", true},
		"that is no decision":             {response("200 OK", "", "allow"), "malformed", true},
		"of an error":                     {response("503 Busy", "", "busy"), "status", true},
		"of an error without a body":      {"HTTP/1.1 204 No Content\r\n\r\n", "status", true},
		"that closes":                     {response("200 OK", "Connection: close\r\n", `{"decision":"allow"}`), "allow", false},
		"of an error that closes":         {response("503 Busy", "Connection: close\r\n", "busy"), "status", false},
		"of an older protocol":            {strings.Replace(allowed, "1.1", "1.0", 1), "allow", false},
		"of an error that tells too much": {response("503 Busy", "", strings.Repeat("x", 1<<20)), "status", false},
		"that is too long":                {response("200 OK", "", strings.Repeat("x", 101)), "oversize", false},
		"of another protocol":             {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "status", false},
		"and another one":                 {allowed + allowed, "allow", false},
		"and one byte":                    {allowed + "x", "allow", false},
		"and an interim one":              {allowed + "HTTP/1.1 100 Continue\r\n\r\n", "allow", false},
		"of an error and another one":     {response("503 Busy", "", "busy") + allowed, "status", false},
		"without a body that has one":     {"HTTP/1.1 204 No Content\r\nContent-Length: 20\r\n\r\n" + `{"decision":"allow"}`, "status", false},
		"in chunks and another one":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n0\r\n\r\n" + allowed, "allow", false},
		"in chunks and by its length":     {"HTTP/1.1 200 OK\r\nContent-Length: 35\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + `          {"decision":"allow"}`, "empty", false},
	} {
		for way, by := range ways() {
			t.Run(name+" "+way, func(t *testing.T) {
				quietly(t)
				synctest.Test(t, func(t *testing.T) {
					w, h := inBubble(t, by(WebhookOptions{URL: "http://hook.test", MaxResponseBytes: 100}), nil, func(conn *hookConn) {
						for nth := 0; conn.next(); nth++ {
							if conn.number == 0 && nth == 0 {
								conn.say(c.said)
							} else {
								conn.say(denied)
							}
						}
					})
					got := []string{summary(ask(t, w))}
					synctest.Wait()
					got = append(got, summary(ask(t, w)))
					if diff := cmp.Diff([]string{c.want, "deny"}, got); diff != "" {
						t.Errorf("answers (-want +got):\n%s", diff)
					}
					if reused := h.dials() == 1; reused != c.reused {
						t.Errorf("%d connections for two questions", h.dials())
					}
				})
			})
		}
	}
}

func TestWebhook_WhatComesWhileNobodyAsksEndsTheConnection(t *testing.T) {
	for name, meanwhile := range map[string]func(c net.Conn){
		"an answer": func(c net.Conn) { _, _ = io.WriteString(c, allowed) },
		"a byte":    func(c net.Conn) { _, _ = io.WriteString(c, "x") },
		"the end":   func(c net.Conn) { _ = c.Close() },
	} {
		for way, by := range ways() {
			t.Run(name+" "+way, func(t *testing.T) {
				quietly(t)
				synctest.Test(t, func(t *testing.T) {
					w, h := inBubble(t, by(WebhookOptions{URL: "http://hook.test"}), nil, func(c *hookConn) {
						for c.next() {
							c.say(response("200 OK", "", `{"decision":"deny"}`))
						}
					})
					ask(t, w)
					meanwhile(h.accepted[0])
					synctest.Wait()
					if got := summary(ask(t, w)); got != "deny" {
						t.Errorf("got %s, want deny", got)
					}
					if n := len(h.heard()); n != 2 || h.dials() != 2 {
						t.Errorf("two questions were put %d times on %d connections, want twice on two", n, h.dials())
					}
				})
			})
		}
	}
}

func TestWebhook_AConnectionThatNobodyUsesIsClosed(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed := make(chan time.Duration, 1)
				began := time.Now()
				w, _ := inBubble(t, by(WebhookOptions{URL: "http://hook.test"}), nil, func(c *hookConn) {
					for c.next() {
						c.say(allowed)
					}
					closed <- time.Since(began)
				})
				ask(t, w)
				if took := <-closed; took != idlePatience {
					t.Errorf("it was closed after %v, want %v", took, idlePatience)
				}
			})
		})
	}
}

func TestWebhook_AStaleConnectionCostsOneRepeatAndNoCall(t *testing.T) {
	for name, size := range map[string]int{"a small question": 1, "a large question": writtenAside} {
		for way, by := range ways() {
			t.Run(name+" "+way, func(t *testing.T) {
				h := listen(t, nil, func(c *hookConn) {
					for nth := 0; c.next(); nth++ {
						if c.number == 0 && nth == 1 {
							c.reset()
							return
						}
						c.say(allowed)
					}
				})
				w := webhookTo(t, by(WebhookOptions{URL: h.url}))
				for range 2 {
					same(t, allowing(), w.Ask(t.Context(), sized(t, size)))
				}
				heard := h.heard()
				if len(heard) != 3 || heard[1].conn != 0 || heard[2].conn != 1 {
					t.Fatalf("heard %d requests, want three: an answered one, one that met a dead connection, and its repeat on a fresh one", len(heard))
				}
				first, repeat := heard[1].header.Get("Idempotency-Key"), heard[2].header.Get("Idempotency-Key")
				if first == "" || first != repeat || first == heard[0].header.Get("Idempotency-Key") {
					t.Errorf("keys %q, then %q and again %q: want one key for a question, the same in its repeat", heard[0].header.Get("Idempotency-Key"), first, repeat)
				}
				if !bytes.Equal(heard[1].body, heard[2].body) {
					t.Errorf("the repeat says %q, not %q", heard[2].body, heard[1].body)
				}
			})
		}
	}
}

func TestWebhook_AFreshConnectionThatDiesIsNotTriedAgain(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			h := listen(t, nil, func(c *hookConn) {
				if c.next() {
					c.reset()
				}
			})
			w := webhookTo(t, by(WebhookOptions{URL: h.url}))
			same(t, failure(chain.Reset, lost), public(t, ask(t, w)))
			if n := len(h.heard()); n != 1 {
				t.Errorf("the question was put %d times, want once", n)
			}
		})
	}
}

func TestWebhook_WhatHasBegunToBeAnsweredIsNotRepeated(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			h := listen(t, nil, func(c *hookConn) {
				if !c.next() {
					return
				}
				c.say(allowed)
				if c.next() {
					c.say("H")
					c.finish()
				}
			})
			w := webhookTo(t, by(WebhookOptions{URL: h.url}))
			ask(t, w)
			same(t, failure(chain.Reset, lost), public(t, ask(t, w)))
			if n := len(h.heard()); n != 2 || h.dials() != 1 {
				t.Errorf("two questions were put %d times on %d connections, want twice on one", n, h.dials())
			}
		})
	}
}

func TestWebhook_AQuestionIsPutTwiceAtMostHoweverManyConnectionsAreStale(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			const pooled = 3
			var together sync.WaitGroup // until all of the first calls are in flight
			together.Add(pooled)
			h := listen(t, nil, func(c *hookConn) {
				if !c.next() {
					return
				}
				if c.number < pooled {
					together.Done()
					together.Wait()
					c.say(allowed)
					if !c.next() {
						return
					}
				}
				c.reset()
			})
			w := webhookTo(t, by(WebhookOptions{URL: h.url}))
			var calls sync.WaitGroup
			for range pooled {
				calls.Go(func() {
					if got := summary(within(t.Context(), t, w, chain.PreToolUse, plenty)); got != "allow" {
						t.Errorf("one of the first calls got %s", got)
					}
				})
			}
			calls.Wait()
			same(t, failure(chain.Reset, lost), public(t, ask(t, w)))
			heard := h.heard()[pooled:]
			if len(heard) != 2 {
				t.Fatalf("the question was put %d times, want twice", len(heard))
			}
			if heard[1].conn < pooled {
				t.Errorf("the repeat went over another stale connection")
			}
			ask(t, w)
			if n := len(h.heard()[pooled:]); n != 3 {
				t.Errorf("the next question was put %d times, want once: the other stale connections are given up", n-2)
			}
		})
	}
}

// quietly discards what net/http writes to the standard logger: a line for each
// unsolicited response.
func quietly(t *testing.T) {
	t.Helper()
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
}

func TestWebhook_AnAnswerNobodyAskedForIsNeverTheNextOnes(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			quietly(t)
			denied := response("200 OK", "", `{"decision":"deny"}`)
			h := listen(t, nil, func(c *hookConn) {
				if c.next() {
					c.say(denied + allowed)
					c.wait()
				}
			})
			w := webhookTo(t, by(WebhookOptions{URL: h.url, Breaker: BreakerOptions{ConsecutiveFailures: 1 << 20}}))
			var callers sync.WaitGroup
			for range 8 {
				callers.Go(func() {
					for range 100 {
						if got := summary(within(t.Context(), t, w, chain.PreToolUse, plenty)); got != "deny" {
							t.Errorf("got %s, want deny", got)
						}
					}
				})
			}
			callers.Wait()
		})
	}
}

func TestWebhook_ALargeQuestionThatWasReadLeavesItsConnectionToOthers(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			h := listen(t, nil, allowsAll)
			w := webhookTo(t, by(WebhookOptions{URL: h.url}))
			for range 5 {
				same(t, allowing(), w.Ask(t.Context(), sized(t, 1<<20)))
			}
			if h.dials() != 1 {
				t.Errorf("%d connections for one question after another", h.dials())
			}
		})
	}
}

// TestWebhook_EveryAnswerIsThatOfItsOwnQuestion has callers hang up and
// endpoints break off at any time. No answer may reach another request than its
// own.
func TestWebhook_EveryAnswerIsThatOfItsOwnQuestion(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			h := listen(t, nil, func(c *hookConn) {
				for c.next() {
					asked, err := chain.ParseRequest(c.body)
					if err != nil {
						t.Error(err)
						return
					}
					said := `{"decision":"deny","reason":"` + asked.ToolCallID() + `"}`
					switch rand.N(8) {
					case 0:
						return
					case 1:
						c.reset()
						return
					case 2:
						c.say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + said[:5])
						return
					case 3:
						c.say(response("200 OK", "Connection: close\r\n", said))
						return
					case 4:
						c.say(response("503 Busy", "", said))
					case 5:
						c.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(said), said))
					default:
						time.Sleep(rand.N(time.Millisecond))
						c.say("HTTP/1.1 103 Early Hints\r\n\r\n" + response("200 OK", "", said))
					}
				}
			})
			w := webhookTo(t, by(WebhookOptions{URL: h.url, Breaker: BreakerOptions{ConsecutiveFailures: 1 << 20}}))
			var answered atomic.Int64
			var callers sync.WaitGroup
			for caller := range 8 {
				callers.Go(func() {
					for nth := range 100 {
						id := fmt.Sprint(caller, ".", nth)
						patience := plenty
						if nth%2 == 0 {
							patience = rand.N(4 * time.Millisecond)
						}
						ctx, hangUp := context.WithTimeout(t.Context(), patience)
						got := w.Ask(ctx, call(named(t, id), plenty))
						hangUp()
						if got.Failure == nil {
							answered.Add(1)
							if got.Outcome.Reason != id {
								t.Errorf("question %s got the answer to %s", id, got.Outcome.Reason)
							}
						}
					}
				})
			}
			callers.Wait()
			if answered.Load() == 0 {
				t.Error("no question was answered")
			}
		})
	}
}

// named is a request for the tool call with this id.
func named(t *testing.T, id string) *chain.Request {
	t.Helper()
	r, err := chain.ParseRequest([]byte(`{"hook_schema":1,"event":"pre_tool_use","workspace":"","agent_id":"","tool_call_id":"` + id + `","tool_name":"shell","input":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWebhook_ABurstOnAColdEndpointDialsFewAtATimeAndFailsNobody(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			h := listen(t, nil, allowsAll)
			w := webhookTo(t, by(WebhookOptions{URL: h.url}))
			dialer := dialerOf(t, w)
			connect := dialer.connect
			var dialing, most atomic.Int64
			dialer.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
				defer dialing.Add(-1)
				for now := dialing.Add(1); ; {
					if seen := most.Load(); now <= seen || most.CompareAndSwap(seen, now) {
						break
					}
				}
				return connect(ctx, network, address)
			}
			var callers sync.WaitGroup
			for range 1000 {
				callers.Go(func() {
					if got := summary(within(t.Context(), t, w, chain.PreToolUse, plenty)); got != "allow" {
						t.Errorf("got %s, want allow", got)
					}
				})
			}
			callers.Wait()
			if most.Load() > 64 {
				t.Errorf("%d dials at a time, want 64 at most", most.Load())
			}
		})
	}
}

func TestT7_CloseLeavesNoConnectionAndLetsCallsEnd(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			asked, release := make(chan struct{}), make(chan struct{})
			gone := make(chan int, 2)
			h := listen(t, nil, func(c *hookConn) {
				for nth := 0; c.next(); nth++ {
					if c.number == 1 && nth == 0 {
						close(asked)
						<-release
					}
					c.say(allowed)
				}
				gone <- c.number
			})
			w, err := NewWebhook(by(WebhookOptions{URL: h.url}))
			if err != nil {
				t.Fatal(err)
			}
			ask(t, w)
			w.reach.Load().sender.dropIdle() // so that the next call dials
			if n := <-gone; n != 0 {
				t.Errorf("connection %d was dropped, want the idle one", n)
			}
			answer := make(chan chain.Answer)
			go func() { answer <- within(t.Context(), t, w, chain.PreToolUse, plenty) }()
			<-asked
			w.Close()
			close(release)
			if diff := cmp.Diff(allowing(), <-answer); diff != "" {
				t.Errorf("the call in flight (-want +got):\n%s", diff)
			}
			if n := <-gone; n != 1 {
				t.Errorf("connection %d was closed, want that of the last call", n)
			}
			if got := w.Status().InFlight; got != 0 {
				t.Errorf("%d in flight, want none", got)
			}
		})
	}
}
