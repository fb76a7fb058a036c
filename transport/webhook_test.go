package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func TestWebhook_SendsTheEnvelopeAsItIsAndSaysWhoAsks(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := inBubble(t, by(WebhookOptions{
					URL:     "http://hook.test/ask?team=a",
					Headers: http.Header{"x-team": {"platform", "security"}, "Authorization": {"Bearer CANARY"}},
					// With a version, as main sets it.
					UserAgent: "hookgate/1.2.3",
				}), nil, func(c *hookConn) {
					for c.next() {
						c.say(response("200 OK", "Set-Cookie: sid=1; Path=/\r\n", `{"decision":"allow"}`))
					}
				})
				envelope := "{ \"hook_schema\":1, \"event\":\"pre_tool_use\",\r\n\"workspace\":\"\",\"agent_id\":\"\",\"tool_call_id\":\"\"," +
					`"tool_name":"shell","input":{"n":9007199254740993,"x":1e400,"html":"<a>&"},"grease-1":[1.0]}` + "\n"
				req, err := chain.ParseRequest([]byte(envelope))
				if err != nil {
					t.Fatal(err)
				}
				ctx := WithTraceparent(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
				for range 2 {
					w.Ask(ctx, chain.Call{Request: req, Allowed: 5 * time.Second, Deadline: time.Now().Add(4200 * time.Millisecond)})
					ctx = t.Context() // the second call has no traceparent
				}
				heard := h.heard()
				keys := []string{heard[0].header.Get("Idempotency-Key"), heard[1].header.Get("Idempotency-Key")}
				if !regexp.MustCompile(`^msg_[A-Z2-7]{26}$`).MatchString(keys[0]) || keys[0] == keys[1] {
					t.Errorf("keys %q, want two that differ", keys)
				}
				want := http.Header{
					"Content-Type":          {"application/json"},
					"Content-Length":        {fmt.Sprint(len(envelope))},
					"Accept":                {"application/json"},
					"Accept-Encoding":       {"identity"},
					"User-Agent":            {"hookgate/1.2.3"},
					"X-Hookgate-Timeout-Ms": {"4200"},
					"Idempotency-Key":       {keys[0]},
					"Traceparent":           {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
					"X-Team":                {"platform", "security"},
					"Authorization":         {"Bearer CANARY"},
				}
				for n := range heard {
					if string(heard[n].body) != envelope {
						t.Errorf("question %d: the endpoint read %q, want %q", n, heard[n].body, envelope)
					}
					if diff := cmp.Diff(want, heard[n].header); diff != "" {
						t.Errorf("headers of question %d (-want +got):\n%s", n, diff)
					}
					want["Idempotency-Key"] = []string{keys[1]}
					delete(want, "Traceparent")
				}
			})
		})
	}
}

func TestWebhook_ReadsAnAnswerOnlyOfStatus200(t *testing.T) {
	said := `{"decision":"allow","reason":"CANARY"}`
	for _, c := range []struct {
		status   int
		location string
		want     chain.Answer
	}{
		{200, "", chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow, Reason: "CANARY"}}},
		{201, "", failure(chain.Status, "answered with status 201")},
		{202, "", failure(chain.Status, "answered with status 202")},
		{204, "", failure(chain.Status, "answered with status 204")},
		{206, "", failure(chain.Status, "answered with status 206")},
		{300, "/hook/CANARY", failure(chain.Status, "answered with status 300")},
		{301, "/hook/CANARY", failure(chain.Redirect, "answered with status 301, a redirect, which is never followed")},
		{302, "", failure(chain.Redirect, "answered with status 302, a redirect, which is never followed")},
		{303, "/hook/CANARY", failure(chain.Redirect, "answered with status 303, a redirect, which is never followed")},
		{304, "", failure(chain.Status, "answered with status 304")},
		{307, "/hook/CANARY", failure(chain.Redirect, "answered with status 307, a redirect, which is never followed")},
		{308, "file:///CANARY", failure(chain.Redirect, "answered with status 308, a redirect, which is never followed")},
		{400, "", failure(chain.Status, "answered with status 400")},
		{401, "", failure(chain.Status, "answered with status 401")},
		{429, "", failure(chain.Status, "answered with status 429")},
		{500, "", failure(chain.Status, "answered with status 500")},
		{599, "", failure(chain.Status, "answered with status 599")},
	} {
		for way, by := range ways() {
			t.Run(fmt.Sprint(c.status)+" "+way, func(t *testing.T) {
				var asked int
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					asked++
					if c.location != "" {
						w.Header().Set("Location", c.location)
					}
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, said)
				}))
				defer server.Close()
				w := webhookTo(t, by(WebhookOptions{URL: server.URL + "/hook"}))
				same(t, c.want, public(t, ask(t, w)))
				if asked != 1 {
					t.Errorf("the endpoint was asked %d times, want once", asked)
				}
			})
		}
	}
}

func TestWebhook_ARedirectCarriesNothingToAnotherHost(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			elsewhere := listen(t, nil, func(c *hookConn) {
				if c.next() {
					c.say(allowed)
				}
			})
			h := listen(t, nil, func(c *hookConn) {
				if c.next() {
					c.say(response("307 Temporary Redirect", "Location: "+elsewhere.url+"\r\n", `{"decision":"allow"}`))
				}
			})
			w := webhookTo(t, by(WebhookOptions{URL: h.url, Headers: http.Header{"X-Api-Key": {"CANARY"}}}))
			got := ask(t, w)
			want := chain.Fail(chain.Redirect, "answered with status 307, a redirect, which is never followed",
				fmt.Sprintf("POST %s: to %q", h.url, elsewhere.url))
			same(t, want, got)
			if elsewhere.dials() != 0 {
				t.Error("the other host was reached")
			}
		})
	}
}

func TestWebhook_ReadsNoEncodingButThePlainOne(t *testing.T) {
	for headers, want := range map[string]string{
		"":                                   "allow",
		"Content-Encoding: identity\r\n":     "allow",
		"Content-Encoding: Identity\r\n":     "allow",
		"Content-Type: text/html\r\n":        "allow",
		"Content-Type: ; nonsense\r\n":       "allow",
		"Content-Encoding: gzip\r\n":         "malformed",
		"Content-Encoding: br\r\n":           "malformed",
		"Content-Encoding: identity, br\r\n": "malformed",
		"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n": "malformed",
	} {
		for way, by := range ways() {
			t.Run(headers+" "+way, func(t *testing.T) {
				h := listen(t, nil, func(c *hookConn) {
					if c.next() {
						c.say(response("200 OK", headers, `{"decision":"allow"}`))
					}
				})
				got := ask(t, webhookTo(t, by(WebhookOptions{URL: h.url})))
				if summary(got) != want {
					t.Errorf("got %s, want %s", summary(got), want)
				}
				if f := public(t, got).Failure; f != nil && f.Text != "answered with a Content-Encoding that was not requested" {
					t.Errorf("text %q", f.Text)
				}
			})
		}
	}
}

func TestT3_AnAnswerOneByteOverTheCapIsAFailure(t *testing.T) {
	for name, write := range map[string]func(c *hookConn, body string){
		"with its length": func(c *hookConn, body string) { c.say(response("200 OK", "", body)) },
		"in chunks": func(c *hookConn, body string) {
			c.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body))
		},
		"to the end of the connection": func(c *hookConn, body string) { c.say("HTTP/1.1 200 OK\r\n\r\n" + body); c.finish() },
	} {
		for _, limit := range []int{24, 700, 100_000} {
			for over, want := range []chain.Answer{
				allowing(), failure(chain.Oversize, fmt.Sprintf("answered with more than %d bytes", limit)),
			} {
				for way, by := range ways() {
					t.Run(fmt.Sprintf("%d bytes %s and %d over", limit, name, over)+" "+way, func(t *testing.T) {
						body := `{"decision":"allow"}`
						body += strings.Repeat(" ", limit+over-len(body))
						h := listen(t, nil, func(c *hookConn) {
							if c.next() {
								write(c, body)
							}
						})
						w := webhookTo(t, by(WebhookOptions{URL: h.url, MaxResponseBytes: int64(limit)}))
						same(t, want, public(t, ask(t, w)))
					})
				}
			}
		}
	}
}

func TestWebhook_AnAnswerAfterTheDeadlineIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := behind(&scripted{say: func(context.Context, question) (reply, *sendFailure) {
			time.Sleep(time.Second) // ignores the deadline
			return says(`{"decision":"allow"}`)
		}}, BreakerOptions{}, nil)
		got := within(t.Context(), t, w, chain.PreToolUse, time.Second)
		want := chain.Fail(chain.Timeout, "timed out after 1000 ms", "POST http://hook.test: an answer came after the deadline")
		same(t, want, got)
	})
}

func TestT6_CallsOverTheLimitFailAtOnceAndReachNobody(t *testing.T) {
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := inBubble(t, by(WebhookOptions{URL: "http://hook.test", MaxInFlight: 3}), nil, func(c *hookConn) {
					if c.next() {
						c.wait()
					}
				})
				for range 3 {
					go within(t.Context(), t, w, chain.PreToolUse, time.Second)
				}
				synctest.Wait()
				began := time.Now()
				got := ask(t, w)
				want := chain.Fail(chain.Saturated, "was not asked: its limit of 3 calls in flight is reached", "max_in_flight is reached")
				if diff := cmp.Diff(want, got); diff != "" || time.Since(began) != 0 {
					t.Errorf("after %v, answer (-want +got):\n%s", time.Since(began), diff)
				}
				if got, want := w.Status(), (Status{InFlight: 3, Breaker: &BreakerStatus{State: BreakerClosed}}); !cmp.Equal(got, want) {
					t.Errorf("status %+v, want %+v", got, want)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if got, want := w.Status(), (Status{Breaker: &BreakerStatus{State: BreakerClosed, ConsecutiveFailures: 3}}); !cmp.Equal(got, want) {
					t.Errorf("status %+v, want %+v", got, want)
				}
				if n := len(h.heard()); n != 3 {
					t.Errorf("the endpoint heard %d questions, want 3", n)
				}
			})
		})
	}
}

func TestT5_ACallerThatHangsUpIsLetGoAtOnce(t *testing.T) {
	for name, said := range map[string]string{
		"before an answer":    "",
		"in the middle of it": "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{",
		"in an error page":    "HTTP/1.1 503 Busy\r\nContent-Length: 20\r\n\r\n{",
	} {
		for way, by := range ways() {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, _ := inBubble(t, by(WebhookOptions{URL: "http://hook.test"}), nil, func(c *hookConn) {
						if c.next() {
							c.say(said)
							c.wait()
						}
					})
					ctx, hangUp := context.WithTimeout(t.Context(), 50*time.Millisecond)
					defer hangUp()
					began := time.Now()
					got := within(ctx, t, w, chain.PreToolUse, plenty)
					if got.Failure == nil || time.Since(began) != 50*time.Millisecond {
						t.Errorf("after %v got %+v, want a failure that nobody reads after 50 ms", time.Since(began), got)
					}
					if n := w.Status().Breaker.ConsecutiveFailures; n != 0 {
						t.Errorf("%d failures were counted", n)
					}
				})
			})
		}
	}
}

func TestNewWebhook_SaysEverythingThatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		o    WebhookOptions
		want string
	}{
		"no url":          {WebhookOptions{}, `url: is missing`},
		"unreadable url":  {WebhookOptions{URL: "http://h/%zz?key=CANARY"}, `url: cannot be read: invalid URL escape "%zz"`},
		"another scheme":  {WebhookOptions{URL: "ftp://h/x"}, `url "ftp://h/x": must begin with http:// or https://`},
		"no scheme":       {WebhookOptions{URL: "h/x"}, `url "h/x": must begin with http:// or https://`},
		"no host":         {WebhookOptions{URL: "http:///x"}, `url "http:///x": has no host`},
		"opaque":          {WebhookOptions{URL: "http:x"}, `url "http:x": has no host`},
		"a user":          {WebhookOptions{URL: "http://me:CANARY@h/x"}, `url: contains a user or password: send them in a header or with auth`},
		"a port too high": {WebhookOptions{URL: "http://h:70000/x"}, `url "http://h:70000/x": its port is not one of 1 to 65535`},
		"a port of none":  {WebhookOptions{URL: "http://h:0/x"}, `url "http://h:0/x": its port is not one of 1 to 65535`},
		"a host of another script": {
			WebhookOptions{URL: "http://bücher.test/x"},
			`url "http://b%C3%BCcher.test/x": its host is neither an address nor made of letters, digits, '-', '.' and '_'; ` +
				`write a name in another script in its xn-- form`,
		},
		"a host that is markup": {
			WebhookOptions{URL: "http://h<x>/x"},
			`url "http://h<x>/x": its host is neither an address nor made of letters, digits, '-', '.' and '_'; ` +
				`write a name in another script in its xn-- form`,
		},
		"a zone with a blank": {
			WebhookOptions{URL: "http://[fe80::1%25a%20b]/x"},
			`url "http://[fe80::1%25a%20b]/x": its host is neither an address nor made of letters, digits, '-', '.' and '_'; ` +
				`write a name in another script in its xn-- form`,
		},
		"a blank in the query": {
			WebhookOptions{URL: "http://h/x?key=CANARY HTTP/1.1"},
			`url "http://h/x?…": its query has a blank or another character that must be written as %XX`,
		},
		"a query of another script": {
			WebhookOptions{URL: "http://h/x?key=CANARYü"},
			`url "http://h/x?…": its query has a blank or another character that must be written as %XX`,
		},
		"a line break in the url": {WebhookOptions{URL: "http://h/x\r\nX: CANARY"}, `url: cannot be read: net/url: invalid control character in URL`},
		"a fragment":              {WebhookOptions{URL: "http://h/x?key=CANARY#y"}, `url "http://h/x?…": has a fragment, which is never sent`},
		"tls without https": {
			WebhookOptions{URL: "http://h/x", TLS: &tls.Config{}}, `url "http://h/x": has tls settings, but is not https`,
		},
		"tls too old": {
			WebhookOptions{URL: "https://h/x", TLS: &tls.Config{MaxVersion: tls.VersionTLS11}},
			`tls: the maximum version is TLS 1.1, but the minimum is TLS 1.2`,
		},
		"numbers": {
			WebhookOptions{
				URL: "http://h/x", MaxInFlight: -1, MaxResponseBytes: -2, UserAgent: "a\nb",
				Breaker: BreakerOptions{ConsecutiveFailures: -3, Open: -time.Second, HalfOpenProbes: 1 << 40},
			},
			"breaker: consecutive failures: -3 is out of range\nbreaker: open for -1s is negative\n" +
				"breaker: half-open probes: 1099511627776 is out of range\nmax in flight -1 is negative\n" +
				"max response bytes -2 is negative\nuser agent \"a\\nb\" has control characters",
		},
		"headers": {
			WebhookOptions{URL: "http://h/x", Headers: http.Header{
				"Bad Name": {"CANARY"}, "": {"CANARY"}, "X-Line": {"CANARY\r\nX: y"}, "X-Tab": {"a\tb"},
			}},
			"header \"\": is not a valid header name\nheader \"Bad Name\": is not a valid header name\n" +
				"header \"X-Line\": its value contains a line break or another control character",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := NewWebhook(c.o)
			if err == nil {
				w.Close()
				t.Fatal("it was taken")
			}
			if strings.Contains(err.Error(), "CANARY") {
				t.Errorf("the error carries a secret: %v", err)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewWebhook_LeavesNobodyElseTheHeadersOfTheGateway(t *testing.T) {
	for _, name := range []string{
		"Content-Type", "accept", "User-Agent", "HOST", "Content-Length", "Idempotency-Key", "webhook-id", "Webhook-Signature",
		"traceparent", "X-Hookgate-Timeout-Ms", "x-hookgate-anything", "Accept-Encoding", "Connection", "Transfer-Encoding",
		"Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade", "Expect",
	} {
		_, err := NewWebhook(WebhookOptions{URL: "http://h/x", Headers: http.Header{name: {"CANARY"}}})
		want := fmt.Sprintf("header %q: is set by the gateway itself and cannot be set here", name)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestNewWebhook_RefusesAHeaderInTwoSpellings(t *testing.T) {
	_, err := NewWebhook(WebhookOptions{URL: "http://h/x", Headers: http.Header{"X-A": {"1"}, "x-a": {"2"}}})
	if err == nil || !strings.Contains(err.Error(), "is given twice, in two spellings") {
		t.Errorf("got %v", err)
	}
}
