package transport

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// ways are the senders for plain HTTP. Each modifies the options of a webhook.
func ways() map[string]func(WebhookOptions) WebhookOptions {
	return map[string]func(WebhookOptions) WebhookOptions{
		"on the caller's goroutine": func(o WebhookOptions) WebhookOptions { return o },
		"over net_http": func(o WebhookOptions) WebhookOptions {
			o.Proxy = http.ProxyURL(nil) // a proxy function that names none
			return o
		},
	}
}

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

// ask makes a pre_tool_use call.
func ask(t *testing.T, w *Webhook) chain.Answer {
	t.Helper()
	return within(t.Context(), t, w, chain.PreToolUse, plenty)
}

// sized is a call whose input has at least that many bytes.
func sized(t *testing.T, size int) chain.Call {
	t.Helper()
	return call(request(t, chain.PreToolUse, `"`+strings.Repeat("x", size)+`"`), plenty)
}

// failure is the part of a failure that the model and the dashboards see.
func failure(cause chain.Cause, text string) chain.Answer { return chain.Fail(cause, text, "") }

// public removes the detail of a failure, which contains ports and addresses,
// after checking that none of it is in the text.
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

const lost = "closed the connection before its answer was complete"

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
			}, failure(chain.Malformed, "did not answer with valid HTTP"),
		},
		"another protocol": {
			func(c *hookConn) { c.say("220 mail.example ready\r\n"); c.finish() }, failure(chain.Malformed, "did not answer with valid HTTP"),
		},
		"two lengths": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\nContent-Length: 21\r\n\r\n{\"decision\":\"allow\"}")
				c.finish()
			}, failure(chain.Malformed, "did not answer with valid HTTP"),
		},
		"the same length twice": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\nContent-Length: 20\r\n\r\n{\"decision\":\"allow\"}")
				c.wait()
			}, allowing(),
		},
		"a list of lengths": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nContent-Length: 20, 20\r\n\r\n{\"decision\":\"allow\"}")
				c.finish()
			}, failure(chain.Malformed, "did not answer with valid HTTP"),
		},
		"a length with a sign": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nContent-Length: +20\r\n\r\n{\"decision\":\"allow\"}")
				c.finish()
			}, failure(chain.Malformed, "did not answer with valid HTTP"),
		},
		"an encoding on the way that nobody knows": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n0\r\n\r\n")
				c.finish()
			}, failure(chain.Malformed, "did not answer with valid HTTP"),
		},
		"chunks before there were chunks": {
			func(c *hookConn) {
				c.say("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n0\r\n\r\n")
				c.finish()
			}, failure(chain.Malformed, "did not answer with one decision object"),
		},
		// A reader that trusted the length would find no decision in the body.
		"chunks and a length that is shorter": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n0\r\n\r\n")
				c.wait()
			}, allowing(),
		},
		"chunks and a length that is longer": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nContent-Length: 500\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n0\r\n\r\n")
				c.wait()
			}, allowing(),
		},
		"no chunks, but a length, where chunks are promised": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\nTransfer-Encoding: chunked\r\n\r\n{\"decision\":\"allow\"}")
				c.finish()
			}, failure(chain.Reset, lost),
		},
		"trailers": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n0\r\nX-A: b\r\n\r\n")
				c.wait()
			}, allowing(),
		},
		"trailers without end": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n0\r\nX-A: ")
				_, _ = io.Copy(c, endless{})
			}, failure(chain.Malformed, "did not answer with valid HTTP"),
		},
		"a header with a NUL": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nX-A: a\x00b\r\nContent-Length: 20\r\n\r\n{\"decision\":\"allow\"}")
				c.finish()
			}, failure(chain.Malformed, "did not answer with valid HTTP"),
		},
		"a header that begins with a blank": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\n X-A: b\r\nContent-Length: 20\r\n\r\n{\"decision\":\"allow\"}")
				c.finish()
			}, failure(chain.Malformed, "did not answer with valid HTTP"),
		},
		"an encoding folded over two lines": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\nContent-Encoding: identity,\r\n gzip\r\nContent-Length: 20\r\n\r\n{\"decision\":\"allow\"}")
				c.wait()
			}, failure(chain.Malformed, "answered with a Content-Encoding that was not requested"),
		},
		"a protocol of another name": {
			func(c *hookConn) { c.say("ICY" + strings.TrimPrefix(allowed, "HTTP/1.1")); c.finish() },
			failure(chain.Malformed, "did not answer with valid HTTP"),
		},
		"a status of four digits": {
			func(c *hookConn) { c.say(strings.Replace(allowed, "200", "2000", 1)); c.finish() },
			failure(chain.Malformed, "did not answer with valid HTTP"),
		},
		"a status without a phrase": {
			func(c *hookConn) { c.say(strings.Replace(allowed, "200 OK", "200", 1)); c.wait() }, allowing(),
		},
		"a status below 100 and then an answer": {
			func(c *hookConn) { c.say("HTTP/1.1 099 Not yet\r\nContent-Length: 0\r\n\r\n" + allowed); c.wait() },
			failure(chain.Status, "answered with status 99"),
		},
		"a status above 599": {
			func(c *hookConn) { c.say(strings.Replace(allowed, "200", "999", 1)); c.wait() },
			failure(chain.Status, "answered with status 999"),
		},
		"a head without end": {
			func(c *hookConn) {
				c.say("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Pad: "+strings.Repeat("p", 1000)+"\r\n", 100))
				c.wait()
			}, failure(chain.Oversize, "answered with more than 65536 bytes of headers"),
		},
		"a line without end": {
			func(c *hookConn) { c.say("HTTP/1.1 200 OK\r\nX-Pad: "); _, _ = io.Copy(c, endless{}) },
			failure(chain.Oversize, "answered with more than 65536 bytes of headers"),
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
		for way, by := range ways() {
			t.Run(name+" "+way, func(t *testing.T) {
				h := listen(t, nil, func(conn *hookConn) {
					if conn.next() {
						c.serve(conn)
					}
				})
				w := webhookTo(t, by(WebhookOptions{URL: h.url}))
				same(t, c.want, public(t, ask(t, w)))
				if n := len(h.heard()); n != 1 {
					t.Errorf("the question was put %d times, want once", n)
				}
			})
		}
	}
}

// endless is an endless stream of blanks.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestWebhook_AsksForWhatTheURLSays(t *testing.T) {
	type asked struct{ Address, Line, Host string }
	for url, want := range map[string]asked{
		"http://hook.test":                       {"hook.test:80", "POST / HTTP/1.1", "Host: hook.test"},
		"http://hook.test?a":                     {"hook.test:80", "POST /?a HTTP/1.1", "Host: hook.test"},
		"http://hook.test:8080/a?b=c%20d&e":      {"hook.test:8080", "POST /a?b=c%20d&e HTTP/1.1", "Host: hook.test:8080"},
		"http://hook_1.test:80/":                 {"hook_1.test:80", "POST / HTTP/1.1", "Host: hook_1.test:80"},
		"http://hook.test//evil.test/x":          {"hook.test:80", "POST //evil.test/x HTTP/1.1", "Host: hook.test"},
		"http://hook.test/a b/ü":                 {"hook.test:80", "POST /a%20b/%C3%BC HTTP/1.1", "Host: hook.test"},
		"http://hook.test/a%2Fb%0D%0AX:%20y?%0A": {"hook.test:80", "POST /a%2Fb%0D%0AX:%20y?%0A HTTP/1.1", "Host: hook.test"},
		"http://[::1]/x":                         {"[::1]:80", "POST /x HTTP/1.1", "Host: [::1]"},
		"http://[::1]:8080/x":                    {"[::1]:8080", "POST /x HTTP/1.1", "Host: [::1]:8080"},
		"http://[fe80::1%25eth0]:8080/x":         {"[fe80::1%eth0]:8080", "POST /x HTTP/1.1", "Host: [fe80::1]:8080"},
	} {
		for way, by := range ways() {
			t.Run(url+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var got asked
					w, _ := inBubble(t, by(WebhookOptions{URL: url}), nil, func(c *hookConn) {
						lines := bufio.NewScanner(c.r)
						lines.Scan()
						got.Line = lines.Text()
						lines.Scan()
						got.Host = lines.Text()
						c.say(allowed)
						c.wait()
					})
					dialer := dialerOf(t, w)
					connect := dialer.connect
					dialer.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
						got.Address = address
						return connect(ctx, network, address)
					}
					same(t, allowing(), ask(t, w))
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("asked (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

func TestWebhook_SendsHeadersAsTheOperatorWroteThem(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				given := http.Header{
					"X-Quote": {`"a\", b`}, "x-tab": {"a\tb"}, "X-Script": {"ünï→"}, "X-Nbsp": {"a\u00a0"},
					"X-Latin-1": {"\xfc"}, "X-Colon": {"a: b"}, "X-Empty": {""}, "X-Many": {"1", "2", "1"}, "X-None": nil,
				}
				w, h := inBubble(t, by(WebhookOptions{URL: "http://hook.test", Headers: given}), nil, func(c *hookConn) {
					if c.next() {
						c.say(allowed)
					}
				})
				given.Set("X-Quote", "changed afterwards")
				ask(t, w)
				got := h.heard()[0].header
				for name := range got {
					if !strings.HasPrefix(name, "X-") || name == headerTimeout {
						delete(got, name)
					}
				}
				want := http.Header{
					"X-Quote": {`"a\", b`}, "X-Tab": {"a\tb"}, "X-Script": {"ünï→"}, "X-Nbsp": {"a\u00a0"},
					"X-Latin-1": {"\xfc"}, "X-Colon": {"a: b"}, "X-Empty": {""}, "X-Many": {"1", "2", "1"},
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("headers (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestT2_AnEndpointThatDawdlesIsCutAtTheDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		serve   func(c *hookConn)
		waiting string
	}{
		"no answer":   {func(*hookConn) {}, "the deadline passed while waiting for the headers of the answer"},
		"half a head": {func(c *hookConn) { c.say("HTTP/1.1 200 OK\r\nContent-Le") }, "the deadline passed while waiting for the headers of the answer"},
		"a head that drips": {func(c *hookConn) {
			for _, b := range []byte(response("200 OK", "X-Pad: "+strings.Repeat("p", 100)+"\r\n", `{"decision":"allow"}`)) {
				c.say(string(b))
				time.Sleep(20 * time.Millisecond)
			}
		}, "the deadline passed while waiting for the headers of the answer"},
		"half a body": {func(c *hookConn) {
			c.say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{")
		}, "the deadline passed while waiting for the end of the answer"},
		"one byte short": {func(c *hookConn) {
			c.say("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{\"decision\":\"allow\"}")
		}, "the deadline passed while waiting for the end of the answer"},
		"chunks without the last": {func(c *hookConn) {
			c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n{\"decision\":\"allow\"}\r\n")
		}, "the deadline passed while waiting for the end of the answer"},
	} {
		for way, by := range ways() {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, h := inBubble(t, by(WebhookOptions{URL: "http://hook.test"}), nil, func(conn *hookConn) {
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
}

func TestWebhook_AnErrorPageThatNeverEndsDoesNotKeepItsFailureWaiting(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := inBubble(t, by(WebhookOptions{URL: "http://hook.test"}), nil, func(c *hookConn) {
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
				ask(t, w)
				if h.dials() != 2 {
					t.Errorf("%d connections for two questions, though more of the first reply may come", h.dials())
				}
			})
		})
	}
}

func TestT2_AnErrorPageThatNeverEndsIsCutAtTheDeadline(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := inBubble(t, by(WebhookOptions{URL: "http://hook.test"}), nil, func(c *hookConn) {
					if c.next() {
						c.say("HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nCANARY")
						c.wait()
					}
				})
				began := time.Now()
				got := within(t.Context(), t, w, chain.PreToolUse, excerptPatience/2)
				same(t, failure(chain.Timeout, "timed out after 50 ms"), public(t, got))
				if took := time.Since(began); took != excerptPatience/2 {
					t.Errorf("it took %v, want %v", took, excerptPatience/2)
				}
			})
		})
	}
}

func TestT2_AnEndpointThatDawdlesWhenItIsAskedAgainIsCutAtTheDeadline(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := inBubble(t, by(WebhookOptions{URL: "http://hook.test"}), nil, func(c *hookConn) {
					if c.next() {
						c.say(allowed)
						c.wait()
					}
				})
				same(t, allowing(), ask(t, w))
				want := chain.Fail(chain.Timeout, "timed out after 1000 ms",
					"POST http://hook.test: the deadline passed while waiting for the headers of the answer: context deadline exceeded")
				same(t, want, within(t.Context(), t, w, chain.PreToolUse, time.Second))
				if h.dials() != 1 {
					t.Errorf("%d connections, want one: a question that may have been read is not repeated", h.dials())
				}
			})
		})
	}
}

func TestWebhook_QuotesLittleOfWhatItCouldNotRead(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			h := listen(t, nil, func(c *hookConn) {
				if c.next() {
					c.say("HTTP/1.1 200 OK\r\n" + strings.Repeat("CANARY", 10_000) + "\r\n\r\n")
					c.finish()
				}
			})
			got := ask(t, webhookTo(t, by(WebhookOptions{URL: h.url})))
			same(t, failure(chain.Malformed, "did not answer with valid HTTP"), public(t, got))
			if n := len(got.Failure.Detail); n > 2048 || !strings.Contains(got.Failure.Detail, "CANARY") {
				t.Errorf("%d bytes of detail: %.100s", n, got.Failure.Detail)
			}
		})
	}
}

func TestWebhook_AnEndpointThatDoesNotReadTheQuestionIsNotWaitedFor(t *testing.T) {
	question := large(t, plenty).Request
	for name, c := range map[string]struct {
		said string
		want chain.Answer
	}{
		"an answer":              {strings.Replace(allowed, "\r\n", "\r\nConnection: close\r\n", 1), allowing()},
		"an answer, and goes on": {allowed, allowing()},
		"an error":               {response("413 Too Large", "", ""), failure(chain.Status, "answered with status 413")},
		"nothing":                {"", failure(chain.Reset, lost)},
		"half an answer":         {"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{", failure(chain.Reset, lost)},
	} {
		for way, by := range ways() {
			t.Run("but says "+name+" "+way, func(t *testing.T) {
				released := make(chan struct{})
				h := listen(t, nil, func(conn *hookConn) {
					if conn.number > 0 {
						conn.next()
						conn.say(allowed)
						return
					}
					if _, err := conn.r.ReadString('\n'); err != nil {
						return
					}
					conn.say(c.said)
					if c.want.Failure != nil && c.want.Failure.Cause == chain.Reset {
						conn.endHalf()
					}
					<-released // reads nothing more
				})
				w := webhookTo(t, by(WebhookOptions{URL: h.url}))
				defer close(released)
				same(t, c.want, public(t, w.Ask(t.Context(), call(question, plenty))))
				same(t, allowing(), ask(t, w))
				if h.dials() != 2 {
					t.Errorf("%d connections for two questions, one of which was not read", h.dials())
				}
			})
		}
	}
}

func TestT2_AConnectionThatDoesNotComeIsCutAtTheDeadline(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := webhookTo(t, by(WebhookOptions{URL: "http://hook.test"}))
				dialerOf(t, w).connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				for allowed, want := range map[time.Duration]chain.Answer{
					time.Second: chain.Fail(chain.Timeout, "timed out after 1000 ms",
						"POST http://hook.test: the deadline passed while waiting for a connection: context deadline exceeded"),
					plenty: chain.Fail(chain.Connect, "could not be reached", "POST http://hook.test: context deadline exceeded"),
				} {
					began := time.Now()
					same(t, want, within(t.Context(), t, w, chain.PreToolUse, allowed))
					if took := time.Since(began); took != min(allowed, dialPatience) {
						t.Errorf("it took %v", took)
					}
				}
			})
		})
	}
}

func TestT2_AnEndpointThatDoesNotReadTheQuestionIsCutAtTheDeadline(t *testing.T) {
	question := large(t, plenty).Request
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			released := make(chan struct{})
			h := listen(t, nil, func(*hookConn) { <-released })
			defer close(released)
			w := webhookTo(t, by(WebhookOptions{URL: h.url}))
			got := w.Ask(t.Context(), call(question, 50*time.Millisecond))
			same(t, failure(chain.Timeout, "timed out after 50 ms"), public(t, got))
		})
	}
}

func TestWebhook_AnUnreachableEndpointIsAConnectFailure(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			_ = l.Close()
			w := webhookTo(t, by(WebhookOptions{URL: "http://" + l.Addr().String()}))
			same(t, failure(chain.Connect, "could not be reached"), public(t, ask(t, w)))
		})
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
