package client

import "github.com/hookgate/hookgate/chain"

// litellm is the Generic Guardrail API of the LiteLLM proxy. From its
// documentation, not run. It is about texts on the way to a model and back, not
// about calls of tools: each way is a result of a tool of its own, so that hooks
// after a call (the secrets guard is one) see and replace the texts.
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
