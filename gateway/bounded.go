package gateway

import (
	"context"
	"fmt"

	"github.com/hookgate/hookgate/chain"
)

// boundedBinding fails calls that are longer than its participant accepts, without
// asking it. What the participant would answer to them says nothing about its
// health: if they were sent, one caller could open its breaker for all.
type boundedBinding struct {
	chain.Binding
	most int // bytes
}

// Ask implements [chain.Binding].
func (b boundedBinding) Ask(ctx context.Context, call chain.Call) chain.Answer {
	if size := len(call.Request.JSON()); size > b.most {
		return chain.Fail(chain.Oversize, fmt.Sprintf("was not asked: the call has %d bytes, and the hook accepts %d (max_request_bytes)", size, b.most), "")
	}
	return b.Binding.Ask(ctx, call)
}

// longestCall is the longest call that the member accepts, in bytes; 0 means any
// length.
func (m *member) longestCall() int {
	switch {
	case m.entry == nil:
		return 0
	case m.entry.Command != nil:
		return m.entry.Command.Limits.MaxRequestBytes
	case m.entry.Webhook != nil:
		return m.entry.Webhook.Limits.MaxRequestBytes
	}
	return 0
}
