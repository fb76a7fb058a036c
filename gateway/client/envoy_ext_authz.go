package client

import "github.com/hookgate/hookgate/chain"

// envoyExtAuthz is Envoy's ext_authz filter over HTTP in front of an MCP server,
// with the body sent along. From its documentation, not run. Envoy reads the
// status alone and forwards the request as it is: a call can be denied, nothing
// else. Requests that call no tool pass; what is not JSON-RPC does not.
func envoyExtAuthz() *Client {
	in := &fields{call: "id", tool: "params.name", input: "params.arguments", noInput: true}
	const denied template = `{"jsonrpc":"2.0","id":$id,"error":{"code":-32000,"message":$reason}}`
	return &Client{
		title: "Envoy", deniedStatus: 403,
		eventOf: mcpMethod, pathIsNoEvent: true,
		exact: "id|method|params.name|params.arguments",
		events: []event{
			{name: "tools/call", at: chain.PreToolUse, in: in, allow: `{}`, deny: denied},
			{name: "another method", allow: `{}`},
		},
		refusal: denied,
	}
}

// mcpMethod tells a call of a tool from other requests. A body without a
// method, as a batch is one, is neither.
func mcpMethod(o object) string {
	switch text(o.member("method")) {
	case "":
		return ""
	case "tools/call":
		return "tools/call"
	}
	return "another method"
}
