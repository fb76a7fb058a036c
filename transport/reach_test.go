package transport

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hookgate/hookgate/chain"
)

func TestRenewed_ReplacesSecretsUnderABreaker(t *testing.T) {
	for name, o := range senders() {
		t.Run(name, func(t *testing.T) {
			h := listen(t, nil, func(c *hookConn) {
				for c.next() {
					if c.header.Get("Authorization") != "new" {
						c.say(response("401 Unauthorized", "", ""))
						continue
					}
					c.say(allowed)
				}
			})
			o.URL, o.Breaker = h.url, BreakerOptions{ConsecutiveFailures: 3}
			o.Authorizer = &authorizing{does: sets("Authorization", "old")}
			w := webhookTo(t, o)
			for range 2 {
				ask(t, w)
			}
			renew(t, w, WebhookOptions{Headers: http.Header{"X-Key": {"new"}}, Authorizer: &authorizing{does: sets("Authorization", "older")}})
			if n := w.Status().Breaker.ConsecutiveFailures; n != 2 {
				t.Errorf("the breaker knows of %d failures, want the 2 from before", n)
			}
			ask(t, w)
			if s := w.Status().Breaker.State; s != BreakerOpen {
				t.Errorf("after one more the breaker is %s", s)
			}
			renew(t, w, WebhookOptions{Authorizer: &authorizing{does: sets("Authorization", "new")}})
			if a := ask(t, w); a.Failure == nil || a.Failure.Cause != chain.BreakerOpen {
				t.Errorf("answered %+v while the breaker is open", a)
			}
			if got := h.heard()[2].header.Get("X-Key"); got != "new" {
				t.Errorf("the third question has the key %q", got)
			}
		})
	}
}

func TestRenewed_CallsUnderWayEndAsTheyBeganAndTheirConnectionsAreNotUsedAgain(t *testing.T) {
	for name, o := range senders() {
		t.Run(name, func(t *testing.T) {
			arrived, release := make(chan struct{}), make(chan struct{})
			h := listen(t, nil, func(c *hookConn) {
				for c.next() {
					if c.number == 0 {
						close(arrived)
						<-release
					}
					c.say(allowed)
				}
			})
			o.URL, o.Headers = h.url, http.Header{"X-Key": {"old"}}
			w := webhookTo(t, o)
			var slow sync.WaitGroup
			slow.Go(func() { same(t, allowing(), ask(t, w)) })
			<-arrived
			renew(t, w, WebhookOptions{Headers: http.Header{"X-Key": {"new"}}})
			if n := w.Status().InFlight; n != 1 {
				t.Errorf("%d calls are under way, want 1", n)
			}
			same(t, allowing(), ask(t, w))
			close(release)
			slow.Wait()
			for range 2 {
				same(t, allowing(), ask(t, w))
			}
			for i, heard := range h.heard() {
				want, conn := "new", 1
				if i == 0 {
					want, conn = "old", 0
				}
				if heard.header.Get("X-Key") != want || heard.conn != conn {
					t.Errorf("question %d came with key %q on connection %d, want %q on %d", i, heard.header.Get("X-Key"), heard.conn, want, conn)
				}
			}
		})
	}
}

func TestRenewed_WhatCannotBeUsedChangesNothing(t *testing.T) {
	h := listen(t, nil, allowsAll)
	w := webhookTo(t, WebhookOptions{URL: h.url})
	if _, err := w.Renewed(WebhookOptions{Headers: http.Header{"Host": {"x"}}}); err == nil || !strings.Contains(err.Error(), `header "Host"`) {
		t.Errorf("error %v", err)
	}
	same(t, allowing(), ask(t, w))
}

func renew(t *testing.T, w *Webhook, o WebhookOptions) {
	t.Helper()
	apply, err := w.Renewed(o)
	if err != nil {
		t.Fatal(err)
	}
	apply()
}
