package client

import "github.com/hookgate/hookgate/chain"

// envoyExtAuthz is Envoy's ext_authz filter over HTTP in front of an MCP server,
// with the request body included. Written from its documentation, not tested
// with it. Envoy reads only the status and forwards the request unchanged, so a
// call can be denied but not modified. Requests that call no tool pass; a body
// that is not JSON-RPC does not.
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

// mcpMethod distinguishes a tool call from other requests. A body without a
// method, such as a batch, is neither.
func mcpMethod(o object) string {
	switch text(o.member("method")) {
	case "":
		return ""
	case "tools/call":
		return "tools/call"
	}
	return "another method"
}
