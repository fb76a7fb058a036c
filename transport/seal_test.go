package transport

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/signature"
)

// senders are options that select each of the senders.
func senders() map[string]WebhookOptions {
	return map[string]WebhookOptions{
		"on the caller's goroutine": {},
		"over net/http":             {Proxy: http.ProxyURL(nil)}, // a proxy function that names none
	}
}

// authorizing is an authorizer that records the requests it was shown.
type authorizing struct {
	does      func(ctx context.Context, r *http.Request) error
	mu        sync.Mutex
	shown     []http.Header
	forgotten atomic.Int64
}

func (a *authorizing) Authorize(ctx context.Context, r *http.Request, _ []byte) error {
	err := a.does(ctx, r)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shown = append(a.shown, maps.Clone(r.Header))
	return err
}

func (a *authorizing) Forget() { a.forgotten.Add(1) }

func sets(name, value string) func(context.Context, *http.Request) error {
	return func(_ context.Context, r *http.Request) error {
		r.Header[name] = []string{value}
		return nil
	}
}

func refuses(err error) func(context.Context, *http.Request) error {
	return func(context.Context, *http.Request) error { return err }
}

// answering allows every request.
func answering(c *hookConn) {
	for c.next() {
		c.say(allowed)
	}
}

func newSigner(t *testing.T, key string) *signature.Signer {
	t.Helper()
	k, err := signature.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s, err := signature.NewSigner(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestT8_AnAuthorizerIsShownTheHeadersThatAreSent(t *testing.T) {
	for name, o := range senders() {
		t.Run(name, func(t *testing.T) {
			h := listen(t, nil, answering)
			a := &authorizing{does: func(_ context.Context, r *http.Request) error {
				if r.Method != http.MethodPost || r.URL.String() != h.url || r.ContentLength <= 0 {
					t.Errorf("it is shown %s %s with %d bytes", r.Method, r.URL, r.ContentLength)
				}
				r.Header["Authorization"] = []string{"Bearer CANARY"}
				return nil
			}}
			o.URL, o.Authorizer, o.Headers = h.url, a, http.Header{"X-Team": {"a", "b"}}
			o.Signer = newSigner(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
			w := webhookTo(t, o)
			ctx := WithTraceparent(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
			same(t, allowing(), within(ctx, t, w, chain.PreToolUse, plenty))
			same(t, allowing(), ask(t, w))
			for i, heard := range h.heard() {
				delete(heard.header, "Content-Length") // net/http keeps it in Request.ContentLength
				if diff := cmp.Diff(a.shown[i], heard.header); diff != "" {
					t.Errorf("what was sent is not what was shown (-shown +sent):\n%s", diff)
				}
				if heard.header.Get("Authorization") != "Bearer CANARY" || heard.header.Get("Webhook-Signature") == "" {
					t.Errorf("sent %v", heard.header)
				}
			}
		})
	}
}

func TestT8_ARepeatIsSealedAgainUnderTheSameID(t *testing.T) {
	for name, o := range senders() {
		t.Run(name, func(t *testing.T) {
			h := listen(t, nil, func(c *hookConn) {
				for nth := 0; c.next(); nth++ {
					if c.number == 0 && nth == 1 {
						c.reset()
						return
					}
					c.say(allowed)
				}
			})
			const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
			key, err := signature.ParseKey(secret)
			if err != nil {
				t.Fatal(err)
			}
			verifier, err := signature.NewVerifier(signature.VerifierOptions{Keys: []signature.Key{key}})
			if err != nil {
				t.Fatal(err)
			}
			a := &authorizing{does: sets("Authorization", "Bearer CANARY")}
			o.URL, o.Authorizer, o.Signer = h.url, a, newSigner(t, secret)
			w := webhookTo(t, o)
			for range 2 {
				same(t, allowing(), ask(t, w))
			}
			var ids []string
			for _, heard := range h.heard() {
				id, err := verifier.Verify(heard.header, heard.body)
				if err != nil {
					t.Error(err)
				}
				if id != heard.header.Get("Idempotency-Key") {
					t.Errorf("signed as %s, sent as %s", id, heard.header.Get("Idempotency-Key"))
				}
				ids = append(ids, id)
			}
			if len(ids) != 3 || ids[0] == ids[1] || ids[1] != ids[2] || len(a.shown) != 3 {
				t.Errorf("ids %q, authorized %d times: want two questions, of which the second is repeated", ids, len(a.shown))
			}
		})
	}
}

func TestT8_WithoutACredentialNothingIsSentAndTheBreakerCounts(t *testing.T) {
	const text = "was not asked: its credential could not be obtained"
	for name, tc := range map[string]struct {
		does   func(context.Context, *http.Request) error
		detail string
	}{
		"an error":            {refuses(errors.New("oauth2: the endpoint is down")), "cannot obtain a credential: oauth2: the endpoint is down"},
		"a line break":        {sets("Authorization", "Bearer CANARY\r\nX: y"), "the value of its header Authorization contains a line break or another control character"},
		"a name that is none": {sets("X Y", "CANARY"), `it sets "X Y", which is not a valid header name`},
		"a header of its own": {sets("Content-Length", "0"), "it sets the header Content-Length, which the gateway sets itself"},
		"another's header":    {sets("Webhook-Id", "x"), "it sets the header Webhook-Id, which the gateway sets itself"},
		"a header less":       {func(_ context.Context, r *http.Request) error { delete(r.Header, "Content-Type"); return nil }, "it removes the header Content-Type"},
		"a host of two lines": {func(_ context.Context, r *http.Request) error { r.Host = "h\r\nX: CANARY"; return nil }, "the host that it sets contains a line break or another control character"},
	} {
		t.Run(name, func(t *testing.T) {
			for name, o := range senders() {
				t.Run(name, func(t *testing.T) {
					h := listen(t, nil, answering)
					o.URL, o.Authorizer, o.Breaker = h.url, &authorizing{does: tc.does}, BreakerOptions{ConsecutiveFailures: 1}
					w := webhookTo(t, o)
					got := ask(t, w)
					same(t, failure(chain.Auth, text), public(t, got))
					if detail := got.Failure.Detail; !strings.HasSuffix(detail, tc.detail) || strings.Contains(detail, "CANARY") {
						t.Errorf("the detail is %q", detail)
					}
					if n := len(h.heard()); n != 0 {
						t.Errorf("%d requests were sent", n)
					}
					if s := w.Status().Breaker.State; s != BreakerOpen {
						t.Errorf("the breaker is %s", s)
					}
				})
			}
		})
	}
}

func TestT8_WithoutASignatureNothingIsSent(t *testing.T) {
	for name, o := range senders() {
		t.Run(name, func(t *testing.T) {
			h := listen(t, nil, answering)
			a := &authorizing{does: sets("Authorization", "x")}
			o.URL, o.Signer, o.Authorizer = h.url, &signature.Signer{}, a
			got := ask(t, webhookTo(t, o))
			same(t, failure(chain.Auth, "was not asked: the request to it could not be signed"), public(t, got))
			if len(h.heard()) != 0 || len(a.shown) != 0 {
				t.Errorf("%d requests were sent, %d authorized", len(h.heard()), len(a.shown))
			}
		})
	}
}

func TestT2_ACredentialThatDoesNotComeIsWaitedForUntilTheDeadline(t *testing.T) {
	for name, o := range senders() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o.URL = "http://127.0.0.1:1/"
				o.Authorizer = &authorizing{does: func(ctx context.Context, _ *http.Request) error {
					<-ctx.Done()
					return ctx.Err()
				}}
				w := webhookTo(t, o)
				began := time.Now()
				got := within(t.Context(), t, w, chain.PreToolUse, 3*time.Second)
				if got.Failure == nil || got.Failure.Cause != chain.Timeout || time.Since(began) != 3*time.Second {
					t.Errorf("after %v: %+v", time.Since(began), got.Failure)
				}
				if !strings.Contains(got.Failure.Detail, "waiting for a credential") {
					t.Errorf("the detail is %q", got.Failure.Detail)
				}
				ctx, hangUp := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, hangUp)
				got = within(ctx, t, w, chain.PreToolUse, 3*time.Second)
				if got.Failure == nil || got.Failure.Cause != chain.Internal || time.Since(began) != 4*time.Second {
					t.Errorf("a caller that hangs up has it after %v: %+v", time.Since(began), got.Failure)
				}
			})
		})
	}
}

func TestT8_ACredentialThatIsNotTakenIsForgotten(t *testing.T) {
	for status, want := range map[string]int64{"401 Unauthorized": 1, "403 Forbidden": 1, "404 Not Found": 0, "500 Oh": 0} {
		h := listen(t, nil, func(c *hookConn) {
			for c.next() {
				c.say(response(status, "", ""))
			}
		})
		a := &authorizing{does: sets("Authorization", "x")}
		got := ask(t, webhookTo(t, WebhookOptions{URL: h.url, Authorizer: a}))
		same(t, failure(chain.Status, "answered with status "+status[:3]), public(t, got))
		if n := a.forgotten.Load(); n != want {
			t.Errorf("%s: forgotten %d times, want %d", status, n, want)
		}
	}
}

func TestT8_NoConnectionGrowsOldWhileACredentialIsWaitedFor(t *testing.T) {
	h := listen(t, nil, answering)
	s := func(w *Webhook) *plainSender {
		s, ok := w.reach.Load().sender.(*plainSender)
		if !ok {
			t.Fatalf("%T is not the sender for plain HTTP", w.reach.Load().sender)
		}
		return s
	}
	var w *Webhook
	var idle []int
	a := &authorizing{does: func(_ context.Context, r *http.Request) error {
		of := &s(w).idle
		of.mu.Lock()
		defer of.mu.Unlock()
		idle = append(idle, len(of.conns))
		return nil
	}}
	w = webhookTo(t, WebhookOptions{URL: h.url, Authorizer: a})
	for range 2 {
		same(t, allowing(), ask(t, w))
	}
	if diff := cmp.Diff([]int{0, 1}, idle); diff != "" {
		t.Errorf("connections that idle meanwhile (-want +got):\n%s", diff)
	}
}

func TestT4_AReasonThatRepeatsACredentialIsNotShown(t *testing.T) {
	const token, unshown = "CANARY-token-of-the-call", "the reason repeats a secret of the hook and is not shown"
	for said, want := range map[string]string{
		`{"decision":"deny","reason":"no right for Bearer ` + token + `"}`:          unshown,
		`{"decision":"allow","reason":"\u0043ANARY-token-of-the-call may do that"}`: unshown,
		`{"decision":"deny","reason":"not for the payments-team"}`:                  "not for the payments-team",
	} {
		for name, o := range senders() {
			h := listen(t, nil, func(c *hookConn) {
				for c.next() {
					c.say(response("200 OK", "", said))
				}
			})
			o.URL, o.Headers = h.url, http.Header{"X-Team": {"payments-team"}}
			o.Authorizer = &authorizing{does: func(_ context.Context, r *http.Request) error {
				r.Header["Authorization"] = []string{"Bearer " + token}
				return nil
			}}
			if got := ask(t, webhookTo(t, o)); got.Failure != nil || got.Outcome.Reason != want {
				t.Errorf("%s: %s is shown as %+v", name, said, got)
			}
		}
	}
	const secret = "hunter2-hunter2"
	say := `say:{"decision":"deny","reason":"` + secret + `"}` + "\n"
	once := newCommand(t, CommandOptions{Argv: self(t, "read", say), Secrets: []string{secret}})
	stays := newWorker(t, WorkerOptions{Processes: 1, Command: CommandOptions{Argv: self(t, "obey"), Secrets: []string{secret}}})
	for name, got := range map[string]chain.Answer{"a command": once.Ask(t.Context(), plain(t)), "a worker": stays.Ask(t.Context(), told(t, say))} {
		if got.Outcome.Decision != chain.Deny || got.Outcome.Reason != unshown {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestT4_WhatRepeatsASecretOfTheQuestionIsNotShown(t *testing.T) {
	const token = "CANARY-token-of-the-call"
	for name, said := range map[string]string{
		"in a refusal":            response("401 Unauthorized", "", "the token "+token+" has expired"),
		"where the detail is cut": response("401 Unauthorized", "", strings.Repeat("x", quoted-10)+token),
		"in no answer":            response("200 OK", "", `{"authorization":"Bearer `+token+`"}`),
		"in a redirect":           response("302 Found", "Location: http://h/?"+token+"\r\n", ""),
		"in an encoding":          response("200 OK", "Content-Encoding: "+token+"\r\n", allowed),
		"in no HTTP":              "HTTP/1.1 " + token + "\r\n\r\n",
		"of the operator":         response("500 Oh", "", "key s3cret-of-the-operator is unknown"),
		"a password":              response("401 Unauthorized", "", "no such user: gate, CANARY-password"),
	} {
		t.Run(name, func(t *testing.T) {
			for name, o := range senders() {
				t.Run(name, func(t *testing.T) {
					h := listen(t, nil, func(c *hookConn) {
						for c.next() {
							c.say(said)
						}
					})
					o.URL, o.Headers = h.url, http.Header{"X-Key": {"s3cret-of-the-operator"}}
					o.Authorizer = &authorizing{does: func(_ context.Context, r *http.Request) error {
						r.Header["Authorization"] = []string{"Bearer " + token}
						r.Header["X-Basic"] = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte("gate:CANARY-password"))}
						return nil
					}}
					got := ask(t, webhookTo(t, o))
					if got.Failure == nil {
						t.Fatal("that is an answer")
					}
					if all := got.Failure.Text + got.Failure.Detail; strings.Contains(all, "CANARY") || strings.Contains(all, "s3cret") {
						t.Errorf("shown: %s", all)
					}
					if !strings.Contains(got.Failure.Detail, "the response repeats a secret of the request and is not shown") {
						t.Errorf("the detail is %q", got.Failure.Detail)
					}
				})
			}
		})
	}
}
