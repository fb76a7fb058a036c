package transport

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// How platforms that host functions were observed to treat their clients. Each
// behaviour is one test here, with every sender that it affects.

// oneOne are the ways to reach an endpoint over HTTP/1.1. Each modifies the
// options and returns the TLS configuration of the endpoint.
func oneOne(t *testing.T) map[string]func(WebhookOptions) (WebhookOptions, *tls.Config) {
	t.Helper()
	all := map[string]func(WebhookOptions) (WebhookOptions, *tls.Config){}
	for name, by := range ways() {
		all[name] = func(o WebhookOptions) (WebhookOptions, *tls.Config) {
			o.URL = "http://hook.test/ask"
			return by(o), nil
		}
	}
	all["over TLS"] = func(o WebhookOptions) (WebhookOptions, *tls.Config) {
		ca := newAuthority(t)
		o.URL, o.TLS = "https://127.0.0.1/ask", &tls.Config{RootCAs: ca.pool}
		return o, ca.serving(t, "http/1.1")
	}
	return all
}

// platform is how an endpoint treats each connection, and what a call gets from
// that: allow, or the cause of a failure.
type platform struct {
	serve func(c *hookConn)
	want  string
}

// once answers the first request of a connection and closes it.
func once(text string) func(c *hookConn) {
	return func(c *hookConn) {
		if c.next() {
			c.say(text)
			c.over()
		}
	}
}

// over ends the connection so that everything that was sent arrives.
func (c *hookConn) over() {
	if _, canEndHalf := c.Conn.(interface{ CloseWrite() error }); canEndHalf {
		c.finish() // otherwise closing the connection loses nothing
	}
}

// hold checks how every sender handles the platforms. Only a decision may reach
// the model.
func hold(t *testing.T, all map[string]platform) {
	t.Helper()
	for name, p := range all {
		for way, by := range oneOne(t) {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o, secure := by(WebhookOptions{})
					w, h := inBubble(t, o, secure, p.serve)
					got := within(t.Context(), t, w, chain.PreToolUse, 5*time.Second)
					if summary(got) != p.want {
						t.Errorf("got %s (%+v), want %s", summary(got), got.Failure, p.want)
					}
					if f := public(t, got).Failure; f != nil && len(f.Text) > 100 {
						t.Errorf("the text %q says too much", f.Text)
					}
					if n := len(h.heard()); n != 1 {
						t.Errorf("the question was put %d times, want once", n)
					}
				})
			})
		}
	}
}

func chunked(headers string, parts ...string) string {
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\n" + headers + "Transfer-Encoding: chunked\r\n\r\n")
	for _, part := range parts {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(part), part)
	}
	return b.String()
}

const lastChunk = "0\r\n\r\n"

func TestPlatform01_AStatusOf200IsNoAnswer(t *testing.T) {
	hold(t, map[string]platform{
		"a time-out in words": {once(response("200 OK", "Content-Type: text/plain\r\n", "CANARY Task timed out after 3.00 seconds")), "malformed"},
		"a time-out as JSON":  {once(response("200 OK", "", `{"errorMessage":"[504] CANARY"}`)), "malformed"},
		"an exception":        {once(response("200 OK", "", `{"errorMessage":"boom","errorType":"Error","stackTrace":["CANARY"]}`)), "malformed"},
		"a failed invocation": {once(response("200 OK", "X-Amz-Function-Error: Unhandled\r\n", `{"errorMessage":"CANARY"}`)), "malformed"},
		"nothing":             {once(response("200 OK", "", "")), "empty"},
		"a greeting":          {once(response("200 OK", "", "OK")), "malformed"},
		"null":                {once(response("200 OK", "", "null")), "malformed"},
	})
}

func TestPlatform02_ACutAnswerThatLooksWholeIsNone(t *testing.T) {
	hold(t, map[string]platform{
		"cut inside of the decision, and ended properly":        {once(chunked("", `{"decision":"allow"`) + lastChunk), "malformed"},
		"cut inside of a rewrite, and ended properly":           {once(chunked("", `{"decision":"modify","input":{"command":"ls"}`) + lastChunk), "malformed"},
		"a decision with the beginning of another":              {once(chunked("", `{"decision":"allow"}`, `{"decision":"d`) + lastChunk), "malformed"},
		"a decision with more behind it that did not come":      {once(chunked("", `{"decision":"allow"}`)), "reset"},
		"cut where the end of the connection ends it":           {once("HTTP/1.0 200 OK\r\n\r\n" + `{"decision":"al`), "malformed"},
		"more than its length, which net/http leaves out":       {once("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n" + `{"decision":"allow"}`), "malformed"},
		"a length of the first object, and a second behind it":  {once("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + `{"decision":"allow"}{"decision":"deny"}`), "allow"},
		"less than its length":                                  {once("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n" + `{"decision":"allow"}`), "reset"},
		"cut inside of a chunk":                                 {once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n" + `{"decision":"all`), "reset"},
		"whole, in one chunk for each byte, and ended properly": {once(chunked("", strings.Split(`{"decision":"allow"}`, "")...) + lastChunk), "allow"},
	})
}

func TestPlatform03_ARedirectIsFollowedByNothingAndLeaksNothing(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		for way, by := range ways() {
			t.Run(fmt.Sprint(status)+" "+way, func(t *testing.T) {
				elsewhere := listen(t, nil, allowsAll)
				h := listen(t, nil, once(response(fmt.Sprint(status)+" Moved", "Location: "+elsewhere.url+"\r\n", `{"decision":"allow"}`)))
				w := webhookTo(t, by(WebhookOptions{URL: h.url, Headers: http.Header{
					"X-Functions-Key": {"CANARY"}, "Cf-Access-Client-Secret": {"CANARY"}, "Authorization": {"Bearer CANARY"},
				}}))
				if got := summary(ask(t, w)); got != "redirect" {
					t.Errorf("got %s, want redirect", got)
				}
				if elsewhere.dials() != 0 {
					t.Error("the other host was called")
				}
			})
		}
	}
}

func TestPlatform04_AnAnswerThatTwoReadersReadDifferentlyIsNone(t *testing.T) {
	all := map[string]platform{}
	for name, body := range map[string]string{
		"the decision twice":          `{"decision":"deny","decision":"allow"}`,
		"an object behind the object": `{"decision":"allow"} {"decision":"deny"}`,
		"words behind the object":     `{"decision":"allow"} done`,
		"another case alone":          `{"Decision":"allow"}`,
		"a list":                      `[{"decision":"allow"}]`,
	} {
		all[name] = platform{once(response("200 OK", "", body)), "malformed"}
	}
	all["an unknown decision"] = platform{once(response("200 OK", "", `{"decision":"approve"}`)), "wrong_decision"}
	all["another case beside it, which says nothing"] = platform{once(response("200 OK", "", `{"decision":"deny","Decision":"allow"}`)), "deny"}
	hold(t, all)
}

func TestPlatform05_AConnectionThatIsClosedAsTheQuestionArrivesCostsOneRepeat(t *testing.T) {
	for way, by := range oneOne(t) {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := &wire{}
				o, secure := by(WebhookOptions{Observer: seen})
				w, h := inBubble(t, o, secure, func(c *hookConn) {
					if c.number > 0 {
						allowsAll(c)
						return
					}
					c.next()
					c.say(strings.Replace(allowed, "\r\n", "\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n", 1))
					c.next() // then the keep-alive time was over
				})
				same(t, allowing(), ask(t, w))
				time.Sleep(time.Second)
				same(t, allowing(), ask(t, w))
				if diff := cmp.Diff([]string{"new", "reused", "repeated", "new"}, seen.heard()); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
				heard := h.heard()
				if first, second := heard[1].header.Get("Idempotency-Key"), heard[2].header.Get("Idempotency-Key"); first != second || first == "" {
					t.Errorf("the repeat has the key %q, the question %q", second, first)
				}
				time.Sleep(4100 * time.Millisecond) // less than the 5 s that were announced
				same(t, allowing(), ask(t, w))
				if h.dials() != 3 {
					t.Errorf("%d connections: one that idled for 4 s was used", h.dials())
				}
			})
		})
	}
}

func TestPlatform06_AnErrorPageIsForTheOperatorAlone(t *testing.T) {
	page := "<html><body>TypeError: CANARY at /hook/index.js:1</body></html>"
	hold(t, map[string]platform{
		"a page of HTML":             {once(response("400 Bad Request", "Content-Type: text/html\r\n", page)), "status"},
		"a crash in words":           {once(response("500 Internal Server Error", "X-Google-Status: crash\r\n", "CANARY is not defined")), "status"},
		"a page, and the connection": {once(response("500 Internal Server Error", "Connection: close\r\n", "Internal Server Error CANARY")), "status"},
		"a stack without its end":    {once("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("CANARY at x\n", 1000)), "status"},
		"a decision with a 500":      {once(response("500 Internal Server Error", "", `{"decision":"allow"}`)), "status"},
	})
	h := listen(t, nil, once(response("500 Internal Server Error", "", strings.Repeat("CANARY ", 10_000))))
	got := ask(t, webhookTo(t, WebhookOptions{URL: h.url}))
	if n := len(got.Failure.Detail); n == 0 || n > 2000 {
		t.Errorf("the operator is shown %d bytes of the page", n)
	}
}

func TestPlatform07_AFunctionThatExitsFailsItsCallAndNoOther(t *testing.T) {
	for name, dies := range map[string]platform{
		"without a word":      {func(c *hookConn) { c.next() }, "reset"},
		"inside of the head":  {once("HTTP/1.1 200 OK\r\ncontent-length: 20\r\n"), "reset"},
		"inside of the body":  {once("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + `{"deci`), "reset"},
		"behind a gateway":    {once(response("502 Bad Gateway", "", `{"message": "Internal server error CANARY"}`)), "status"},
		"behind a supervisor": {once(response("500 Internal Server Error", "", "")), "status"},
	} {
		for way, by := range oneOne(t) {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o, secure := by(WebhookOptions{})
					w, _ := inBubble(t, o, secure, func(c *hookConn) {
						if c.number == 0 {
							dies.serve(c)
						} else {
							allowsAll(c)
						}
					})
					if got := summary(ask(t, w)); got != dies.want {
						t.Errorf("got %s, want %s", got, dies.want)
					}
					for range 2 { // on new connections
						same(t, allowing(), ask(t, w))
					}
				})
			})
		}
	}
}

func TestPlatform08_WhatADecisionIsWrappedInIsNotMadeUpFor(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(`{"decision":"allow"}` + strings.Repeat(" ", 10<<20))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	slow := func(pause time.Duration) func(c *hookConn) {
		return func(c *hookConn) {
			if !c.next() {
				return
			}
			c.say(chunked(""))
			for _, b := range []byte(`{"decision":"allow"}`) {
				time.Sleep(pause)
				c.say(fmt.Sprintf("1\r\n%c\r\n", b))
			}
			c.say(lastChunk)
			c.over()
		}
	}
	hold(t, map[string]platform{
		"no content":                         {once("HTTP/1.1 204 No Content\r\n\r\n"), "status"},
		"a decision that calls itself HTML":  {once(response("200 OK", "Content-Type: text/html; charset=utf-8\r\n", `{"decision":"allow"}`)), "allow"},
		"a decision that calls itself text":  {once(response("200 OK", "Content-Type: text/plain;charset=UTF-8\r\n", `{"decision":"allow"}`)), "allow"},
		"gzip that nobody asked for":         {once(response("200 OK", "Content-Encoding: gzip\r\n", packed.String())), "malformed"},
		"gzip that does not say so":          {once(response("200 OK", "", packed.String())), "malformed"},
		"a slow drip that is in time":        {slow(100 * time.Millisecond), "allow"},
		"a slow drip that is not":            {slow(time.Second), "timeout"},
		"more than an answer may be long":    {once(response("200 OK", "", `{"decision":"allow"}`+strings.Repeat(" ", 1<<20))), "oversize"},
		"a decision as a text inside of one": {once(response("200 OK", "", `"{\"decision\":\"allow\"}"`)), "malformed"},
	})
}

func TestPlatform09_AHungFunctionIsCutAtTheDeadline(t *testing.T) {
	hold(t, map[string]platform{
		"it says nothing": {func(c *hookConn) { c.next(); c.wait() }, "timeout"},
		"it says a head":  {func(c *hookConn) { c.next(); c.say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n"); c.wait() }, "timeout"},
		"it is cut off by its own runtime at once": {
			once(response("500 Internal Server Error", "", "The script will never generate a response: CANARY")), "status",
		},
	})
}

func TestPlatform10_AThrottledFunctionIsLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		status string
		after  func() string
		until  time.Duration
	}{
		"429 for seconds":  {"429 Too Many Requests", func() string { return "20" }, 20 * time.Second},
		"503 until a date": {"503 Service Unavailable", func() string { return time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat) }, 20 * time.Second},
		"503 for an hour":  {"503 Service Unavailable", func() string { return "3600" }, time.Minute},
	} {
		for way, by := range oneOne(t) {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o, secure := by(WebhookOptions{})
					var began time.Time
					w, h := inBubble(t, o, secure, func(conn *hookConn) {
						for conn.next() {
							if time.Since(began) <= c.until {
								conn.say(response(c.status, "Retry-After: "+c.after()+"\r\n", "busy"))
							} else {
								conn.say(allowed)
							}
						}
					})
					began = time.Now()
					var got []string
					for time.Since(began) <= c.until+time.Second {
						got = append(got, summary(ask(t, w)))
						time.Sleep(time.Second)
					}
					if n := len(h.heard()); got[0] != "status" || got[1] != "breaker_open" || got[len(got)-1] != "allow" || n != 2 {
						t.Errorf("calls got %v, and %d reached the endpoint, want the first and that after the pause", got, n)
					}
				})
			})
		}
	}
}

func TestPlatform11_AWrappedAnswerIsUnwrappedOnlyWhereThatIsSaid(t *testing.T) {
	hold(t, map[string]platform{
		"an invocation's wrapping":          {once(response("200 OK", "", `{"statusCode":200,"headers":{},"body":"{\"decision\":\"allow\"}","isBase64Encoded":false,"cookies":null}`)), "malformed"},
		"an object that a front made plain": {once(response("200 OK", "Content-Type: application/json\r\n", `{"decision":"allow"}`)), "allow"},
		"nobody is let in":                  {once(response("403 Forbidden", "x-amzn-ErrorType: AccessDeniedException\r\n", `{"Message":"Forbidden"}`)), "status"},
		"a function that fails":             {once(response("502 Bad Gateway", "", "Internal Server Error")), "status"},
		"too many at once":                  {once(response("429 Too Many Requests", "", `{"Reason":"ConcurrentInvocationLimitExceeded"}`)), "status"},
	})
}

func TestPlatform12_WhatAFunctionForEventsReturnsIsNoDecision(t *testing.T) {
	hold(t, map[string]platform{
		"nothing, accepted":   {once(response("202 Accepted", "", "")), "status"},
		"a word":              {once(response("200 OK", "", "OK")), "malformed"},
		"what came in":        {func(c *hookConn) { c.next(); c.say(response("200 OK", "", string(c.body))); c.over() }, "malformed"},
		"an event as answer":  {once(response("200 OK", "ce-specversion: 1.0\r\nce-type: x\r\n", `{"specversion":"1.0","type":"x","data":{"decision":"allow"}}`)), "malformed"},
		"a decision, at last": {once(response("200 OK", "ce-specversion: 1.0\r\n", `{"decision":"allow"}`)), "allow"},
	})
}

func TestPlatform13_OldAndUnusualHTTPIsReadAsItIsMeant(t *testing.T) {
	hold(t, map[string]platform{
		"HTTP/1.0, ended by the connection": {once("HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n" + `{"decision":"allow"}`), "allow"},
		"names in lower case":               {once("HTTP/1.1 200 OK\r\ncontent-length: 20\r\ncontent-type: application/json\r\n\r\n" + `{"decision":"allow"}`), "allow"},
		"an encoding in lower case":         {once("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 20\r\n\r\n" + `{"decision":"allow"}`), "malformed"},
		"names in mixed case":               {once("HTTP/1.1 200 OK\r\ncONTENT-lENGTH: 20\r\n\r\n" + `{"decision":"allow"}`), "allow"},
		"early hints":                       {once("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + allowed), "allow"},
		"two lengths":                       {once("HTTP/1.1 200 OK\r\nContent-Length: 20\r\nContent-Length: 19\r\n\r\n" + `{"decision":"allow"}`), "malformed"},
	})
}
