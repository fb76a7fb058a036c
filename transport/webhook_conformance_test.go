package transport

import (
	"testing"

	"github.com/hookgate/hookgate/chain"
)

// saidByHTTP is an endpoint that answers every request with the text.
func saidByHTTP(t *testing.T, says string) chain.Binding {
	t.Helper()
	h := listen(t, nil, func(c *hookConn) {
		for c.next() {
			c.say(response("200 OK", "", says))
		}
	})
	return webhookTo(t, WebhookOptions{URL: h.url})
}
