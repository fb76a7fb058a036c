package client

import "github.com/hookgate/hookgate/chain"

// litellm is the Generic Guardrail API of the LiteLLM proxy. Written from its
// documentation, not tested with it. It is about texts on the way to a model and
// back, not about tool calls: each direction is treated as the result of a tool
// of its own, so that post-call hooks (such as the secrets guard) see and
// replace the texts.
func litellm() *Client {
	in := &fields{agent: "litellm_trace_id", call: "litellm_call_id", noInput: true, output: "texts"}
	way := func(name, tool string) event {
		return event{
			name: name, at: chain.PostToolUse, in: in, tool: tool, shape: sameShaped,
			allow:   `{"action":"NONE"}`,
			deny:    `{"action":"BLOCKED","blocked_reason":$reason}`,
			replace: `{"action":"GUARDRAIL_INTERVENED","texts":$output}`,
		}
	}
	return &Client{
		title:   "LiteLLM",
		eventAt: "input_type",
		events:  []event{way("request", "litellm_request"), way("response", "litellm_response")},
		refusal: `{"action":"BLOCKED","blocked_reason":$reason}`,
	}
}
