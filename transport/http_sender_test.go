package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log" //nolint:depguard // net/http speaks to the standard logger
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
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

// webhookTo returns a webhook that is closed when the test ends.
func webhookTo(t *testing.T, o WebhookOptions) *Webhook {
	t.Helper()
	w, err := NewWebhook(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// ask asks one call before the tool runs.
func ask(t *testing.T, w *Webhook) chain.Answer {
	t.Helper()
	return within(t.Context(), t, w, chain.PreToolUse, plenty)
}

// failure is what of a failure the model and the dashboards see.
func failure(cause chain.Cause, text string) chain.Answer { return chain.Fail(cause, text, "") }

// public leaves the detail of a failure out, which names ports and addresses,
// after having made sure that nothing of it is in the text.
func public(t *testing.T, a chain.Answer) chain.Answer {
	t.Helper()
	if a.Failure == nil {
		return a
	}
	for _, private := range []string{"127.0.0.1", "CANARY", "/hook"} {
		if strings.Contains(a.Failure.Text, private) {
			t.Errorf("T4: the text %q carries %s", a.Failure.Text, private)
		}
	}
	return failure(a.Failure.Cause, a.Failure.Text)
}

const lost = "closed the connection before a whole answer"

func TestWebhook_WhatOneConnectionDoesIsOneCause(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(c *hookConn)
		want  chain.Answer
	}{
		"an answer in chunks": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
				for _, b := range []byte(`{"decision":"allow"}`) {
					c.say("1\r\n" + string(b) + "\r\n")
				}
				c.say("0\r\n\r\n")
			}, allowing(),
		},
		"an answer that the end of the connection ends": {
			func(c *hookConn) { c.say("HTTP/1.0 200 OK\r\n\r\n" + `{"decision":"allow"}`); c.finish() }, allowing(),
		},
		"early hints and then an answer": {
			func(c *hookConn) {
				c.say(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n", 3) + allowed)
				c.wait()
			}, allowing(),
		},
		"a reset instead of an answer": {
			func(c *hookConn) { c.reset() }, failure(chain.Reset, lost),
		},
		"a close instead of an answer": {
			func(*hookConn) {}, failure(chain.Reset, lost),
		},
		"half a head": {
			func(c *hookConn) { c.say("HTTP/1.1 200 OK\r\nContent-Ty"); c.finish() }, failure(chain.Reset, lost),
		},
		"half a body": {
			func(c *hookConn) { c.say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"decision\":"); c.finish() },
			failure(chain.Reset, lost),
		},
		"a whole decision in a body that should be longer": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"decision\":\"allow\"}")
				c.finish()
			},
			failure(chain.Reset, lost),
		},
		"a whole decision in chunks without the last": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n")
				c.finish()
			}, failure(chain.Reset, lost),
		},
		"half a decision that the end of the connection ends": {
			func(c *hookConn) { c.say("HTTP/1.0 200 OK\r\n\r\n" + `{"decision":"allow"`); c.finish() },
			failure(chain.Malformed, "did not answer with one decision object"),
		},
		"a decision in a body that is shorter": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\n{\"decision\":\"allow\"}")
				c.finish()
			},
			failure(chain.Malformed, "did not answer with one decision object"),
		},
		"a chunk whose size is no number": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{\"decision\":\"allow\"}\r\n0\r\n\r\n")
				c.finish()
			}, failure(chain.Malformed, "did not answer in HTTP"),
		},
		"another protocol": {
			func(c *hookConn) { c.say("220 mail.example ready\r\n"); c.finish() }, failure(chain.Malformed, "did not answer in HTTP"),
		},
		"two lengths": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\nContent-Length: 21\r\n\r\n{\"decision\":\"allow\"}")
				c.finish()
			}, failure(chain.Malformed, "did not answer in HTTP"),
		},
		"a head without end": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Pad: "+strings.Repeat("p", 1000)+"\r\n", 100))
				c.wait()
			}, failure(chain.Oversize, "answered with more than 65536 bytes of headers"),
		},
		"interim responses without end": {
			func(c *hookConn) { c.say(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 10000)); c.wait() },
			failure(chain.Oversize, "answered with more than 65536 bytes of headers"),
		},
		"another protocol that was not asked for": {
			func(c *hookConn) {
				c.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n{\"decision\":\"allow\"}")
				c.wait()
			}, failure(chain.Status, "answered with status 101"),
		},
		"a length beyond the limit and then silence": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nContent-Length: 10995116277760\r\n\r\n{\"decision\":\"allow\"}")
				c.wait()
			}, failure(chain.Oversize, "answered with more than 1048576 bytes"),
		},
		"a body without end": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\n\r\n{\"decision\":\"allow\"}")
				_, _ = io.Copy(c, endless{})
			}, failure(chain.Oversize, "answered with more than 1048576 bytes"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := listen(t, nil, func(conn *hookConn) {
				if conn.next() {
					c.serve(conn)
				}
			})
			w := webhookTo(t, WebhookOptions{URL: h.url})
			same(t, c.want, public(t, ask(t, w)))
			if n := len(h.heard()); n != 1 {
				t.Errorf("the question was put %d times, want once", n)
			}
		})
	}
}

// endless are blanks.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestT2_AnEndpointThatDawdlesIsCutAtTheDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		serve   func(c *hookConn)
		waiting string
	}{
		"no answer":   {func(*hookConn) {}, "still without the head of an answer"},
		"half a head": {func(c *hookConn) { c.say("HTTP/1.1 200 OK\r\nContent-Le") }, "still without the head of an answer"},
		"a head that drips": {func(c *hookConn) {
			for _, b := range []byte(response("200 OK", "X-Pad: "+strings.Repeat("p", 100)+"\r\n", `{"decision":"allow"}`)) {
				c.say(string(b))
				time.Sleep(20 * time.Millisecond)
			}
		}, "still without the head of an answer"},
		"half a body": {func(c *hookConn) {
			c.say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{")
		}, "still without the end of the answer"},
		"one byte short": {func(c *hookConn) {
			c.say("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{\"decision\":\"allow\"}")
		}, "still without the end of the answer"},
		"chunks without the last": {func(c *hookConn) {
			c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n")
		}, "still without the end of the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := inBubble(t, WebhookOptions{URL: "http://hook.test"}, nil, func(conn *hookConn) {
					if conn.next() {
						c.serve(conn)
					}
					conn.wait()
				})
				for range 2 {
					began := time.Now()
					got := within(t.Context(), t, w, chain.PreToolUse, 1500*time.Millisecond)
					want := chain.Fail(chain.Timeout, "timed out after 1500 ms", "POST http://hook.test: "+c.waiting+": context deadline exceeded")
					same(t, want, got)
					if took := time.Since(began); took != 1500*time.Millisecond {
						t.Errorf("it took %v, want the time allowed", took)
					}
				}
				if h.dials() != 2 {
					t.Errorf("%d connections for two calls: one that timed out is not used again", h.dials())
				}
			})
		})
	}
}

func TestT2_AnEndpointThatIsSilentOnTheWayIsCutAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := inBubble(t, WebhookOptions{URL: "https://hook.test"}, nil, func(c *hookConn) { c.wait() })
		got := within(t.Context(), t, w, chain.PreToolUse, time.Second)
		want := chain.Fail(chain.Timeout, "timed out after 1000 ms", "POST https://hook.test: still without a connection: context deadline exceeded")
		same(t, want, got)
	})
}

func TestWebhook_AnErrorPageThatNeverEndsDoesNotKeepItsFailureWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := inBubble(t, WebhookOptions{URL: "http://hook.test"}, nil, func(c *hookConn) {
			if c.next() {
				c.say("HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nCANARY")
				c.wait()
			}
		})
		began := time.Now()
		got := within(t.Context(), t, w, chain.PreToolUse, plenty)
		want := chain.Fail(chain.Status, "answered with status 503", `POST http://hook.test: "CANARY"`)
		same(t, want, got)
		if took := time.Since(began); took != excerptPatience {
			t.Errorf("it took %v, want %v", took, excerptPatience)
		}
	})
}

func TestWebhook_KeepsConnectionsForShorterThanServersDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := inBubble(t, WebhookOptions{URL: "http://hook.test"}, nil, func(c *hookConn) {
			for c.next() {
				c.say(allowed)
			}
		})
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
}

func TestWebhook_AStaleConnectionCostsOneRepeatAndNoCall(t *testing.T) {
	h := listen(t, nil, func(c *hookConn) {
		for nth := 0; c.next(); nth++ {
			if c.number == 0 && nth == 1 {
				c.reset()
				return
			}
			c.say(allowed)
		}
	})
	w := webhookTo(t, WebhookOptions{URL: h.url})
	for range 2 {
		same(t, allowing(), ask(t, w))
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
}

func TestWebhook_AFreshConnectionThatDiesIsNotTriedAgain(t *testing.T) {
	h := listen(t, nil, func(c *hookConn) {
		if c.next() {
			c.reset()
		}
	})
	w := webhookTo(t, WebhookOptions{URL: h.url})
	same(t, failure(chain.Reset, lost), public(t, ask(t, w)))
	if n := len(h.heard()); n != 1 {
		t.Errorf("the question was put %d times, want once", n)
	}
}

func TestWebhook_WhatHasBegunToBeAnsweredIsNotRepeated(t *testing.T) {
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
	w := webhookTo(t, WebhookOptions{URL: h.url})
	ask(t, w)
	same(t, failure(chain.Reset, lost), public(t, ask(t, w)))
	if n := len(h.heard()); n != 2 || h.dials() != 1 {
		t.Errorf("two questions were put %d times on %d connections, want twice on one", n, h.dials())
	}
}

func TestWebhook_AQuestionIsPutTwiceAtMostHoweverManyConnectionsAreStale(t *testing.T) {
	const pooled = 3
	var together sync.WaitGroup // all of the first calls are under way
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
	w := webhookTo(t, WebhookOptions{URL: h.url})
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
}

// quietly keeps from the test's output what net/http tells the standard
// logger: each answer that nobody asked for.
func quietly(t *testing.T) {
	t.Helper()
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
}

func TestWebhook_AnAnswerNobodyAskedForIsNeverTheNextOnes(t *testing.T) {
	quietly(t)
	denied := response("200 OK", "", `{"decision":"deny"}`)
	h := listen(t, nil, func(c *hookConn) {
		if c.next() {
			c.say(denied + allowed)
			c.wait()
		}
	})
	w := webhookTo(t, WebhookOptions{URL: h.url, Breaker: BreakerOptions{ConsecutiveFailures: 1 << 20}})
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
}

func TestWebhook_AnAnswerBeforeTheQuestionWasReadDoesNotHang(t *testing.T) {
	released := make(chan struct{})
	h := listen(t, nil, func(c *hookConn) {
		if _, err := c.r.ReadString('\n'); err != nil {
			return
		}
		c.say(strings.Replace(allowed, "\r\n", "\r\nConnection: close\r\n", 1))
		<-released // reading nothing more
	})
	w := webhookTo(t, WebhookOptions{URL: h.url})
	defer close(released)
	same(t, allowing(), w.Ask(t.Context(), large(t, plenty)))
}

func TestWebhook_AnUnreachableEndpointIsAConnectFailure(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	w := webhookTo(t, WebhookOptions{URL: "http://" + l.Addr().String()})
	same(t, failure(chain.Connect, "could not be reached"), public(t, ask(t, w)))
}

func TestWebhook_ABurstOnAColdEndpointDialsFewAtATimeAndFailsNobody(t *testing.T) {
	h := listen(t, nil, func(c *hookConn) {
		for c.next() {
			c.say(allowed)
		}
	})
	w := webhookTo(t, WebhookOptions{URL: h.url})
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
}

func TestDialer_GivesADialUpThatNobodyWaitsForAnyLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialer()
		d.connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		failed := make(chan error)
		for range parallelDials + 1 { // the last finds no slot
			go func() {
				_, err := d.dial(context.WithoutCancel(t.Context()), "tcp", "192.0.2.1:80")
				failed <- err
			}()
		}
		began := time.Now()
		for range parallelDials + 1 {
			err := <-failed
			if _, ok := errors.AsType[*dialError](err); !ok || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a dial without end failed with %v, want a dial error by the deadline", err)
			}
		}
		if took := time.Since(began); took != dialPatience {
			t.Errorf("it took %v, want %v", took, dialPatience)
		}
	})
}

func TestWatchedConn_SettlesOnlyWhenNothingIsLeftBehind(t *testing.T) {
	for name, end := range map[string]func(w *watchedConn){
		"when its reader wants more": func(w *watchedConn) {
			go func() { _, _ = w.Read(make([]byte, 1)) }()
		},
		"when it was closed": func(w *watchedConn) { _ = w.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer func() { _ = theirs.Close() }()
				w := watch(ours)
				defer func() { _ = w.Close() }()
				go func() { _, _ = theirs.Write([]byte("x")) }()
				if _, err := w.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				var settled atomic.Bool
				go func() { w.settle(); settled.Store(true) }()
				synctest.Wait()
				if settled.Load() {
					t.Error("it settled while its reader may still hold something")
				}
				end(w)
				synctest.Wait()
				if !settled.Load() {
					t.Error("it did not settle")
				}
			})
		})
	}
}

func TestWatchedConn_TakesNothingForAnAnswerThatComesBeforeTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := memoryPipe()
		w := watch(ours)
		defer func() { _ = w.Close() }()
		type result struct {
			N   int
			Err error
		}
		read := make(chan result)
		reading := func() {
			n, err := w.Read(make([]byte, 10))
			read <- result{n, err}
		}
		go reading()
		synctest.Wait()
		w.settle()
		_, _ = io.WriteString(theirs, "early")
		if got := <-read; got != (result{0, errUnasked}) {
			t.Errorf("before the question it read %+v, want a failure", got)
		}
		go reading()
		synctest.Wait()
		w.settle()
		_, _ = io.WriteString(w, "question")
		_, _ = io.WriteString(theirs, "answer")
		if got := <-read; got != (result{6, nil}) {
			t.Errorf("after the question it read %+v, want the answer", got)
		}
	})
}

func TestWatchedConn_IsFoundUnderTLSAndNowhereElse(t *testing.T) {
	ours, theirs := memoryPipe()
	w := watch(ours)
	if got := watched(tls.Client(tls.Client(w, &tls.Config{}), &tls.Config{})); got != w {
		t.Errorf("under TLS it is %v", got)
	}
	if got := watched(theirs); got != nil {
		t.Errorf("another connection is %v", got)
	}
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
	h := listen(t, nil, func(c *hookConn) {
		for c.next() {
			c.say(allowed)
		}
	})

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
	h := listen(t, ca.serving(t), func(c *hookConn) {
		for c.next() {
			c.say(allowed)
		}
	})
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
	w = webhookTo(t, WebhookOptions{URL: h.url, Proxy: http.ProxyURL(at)}) // and trusts nobody
	same(t, failure(chain.TLS, untrusted), public(t, ask(t, w)))
}

func TestT7_CloseLeavesNoConnectionAndLetsCallsEnd(t *testing.T) {
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
	w, err := NewWebhook(WebhookOptions{URL: h.url})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, w)
	w.sender.dropIdle() // so that the next call dials
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
}

func BenchmarkWebhookAllow(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"decision":"allow"}`)
	}))
	defer server.Close()
	w, err := NewWebhook(WebhookOptions{URL: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	benchmark(b, w)
}
