package transport

import (
	"context"
	"crypto/tls"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookgate/hookgate/chain"
)

func TestWebhook_AnHTTP2ConnectionIsKeptWhereOnlyTheCallerHadLittleTime(t *testing.T) {
	const little = 10 * time.Millisecond
	for name, giveUp := range map[string]func(t *testing.T, w *Webhook){
		"its chain had less time": func(t *testing.T, w *Webhook) {
			t.Helper()
			c := call(request(t, chain.PreToolUse, `{}`), little)
			c.Late = chain.Budget
			if f := w.Ask(t.Context(), c).Failure; f == nil || f.Cause != chain.Budget {
				t.Errorf("failure %+v", f)
			}
		},
		"its caller hung up": func(t *testing.T, w *Webhook) {
			t.Helper()
			ctx, hangUp := context.WithTimeout(t.Context(), little)
			defer hangUp()
			w.Ask(ctx, plain(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ca := newAuthority(t)
				const impatient = 10
				w, h := inBubble(t, WebhookOptions{URL: "https://127.0.0.1", TLS: &tls.Config{RootCAs: ca.pool}}, ca.serving(t, "h2"),
					func(c *hookConn) {
						c.serveOver2(func(stream uint32, nth int) bool {
							if nth == 0 || nth > impatient {
								c.allowOver2(stream)
							}
							return true
						})
					})
				same(t, allowing(), w.Ask(t.Context(), plain(t)))
				for range impatient {
					giveUp(t, w)
				}
				same(t, allowing(), w.Ask(t.Context(), plain(t)))
				if got := h.dials(); got != 1 {
					t.Errorf("%d connections, want 1", got)
				}
			})
		})
	}
}
