package client

import "github.com/hookgate/hookgate/chain"

// agentcore is the gateway of Amazon Bedrock AgentCore: the body that its
// interceptors receive, relayed by a Lambda function. Written from its
// documentation, not tested with it. Requests that call no tool pass.
func agentcore() *Client {
	in := &fields{
		agent: "mcp.gatewayRequest.headers.Mcp-Session-Id", call: "mcp.gatewayRequest.body.id",
		tool: "mcp.gatewayRequest.body.params.name", input: "mcp.gatewayRequest.body.params.arguments", noInput: true,
		output: "mcp.gatewayResponse.body.result|mcp.gatewayResponse.body.error",
		failed: "mcp.gatewayResponse.body.result.isError|mcp.gatewayResponse.body.error",
	}
	const denied template = `{"interceptorOutputVersion":"1.0","mcp":{"transformedGatewayResponse":{"statusCode":200,` +
		`"body":{"jsonrpc":"2.0","id":$id,"result":{"isError":true,"content":[{"type":"text","text":$reason}]}}}}}`
	const request template = `{"interceptorOutputVersion":"1.0","mcp":{"transformedGatewayRequest":{"body":$echo}}}`
	const response template = `{"interceptorOutputVersion":"1.0","mcp":{"transformedGatewayResponse":$echo}}`
	return &Client{
		title:   "AgentCore",
		eventOf: agentcoreEvent,
		exact: "mcp.gatewayRequest.body.id|mcp.gatewayRequest.body.method|mcp.gatewayRequest.body.params.name|mcp.gatewayRequest.body.params.arguments|" +
			"mcp.gatewayResponse.body.result.content|mcp.gatewayResponse.body.result.isError|mcp.gatewayResponse.body.error",
		expect: map[string]string{"interceptorInputVersion": `"1.0"`},
		events: []event{{
			name: "REQUEST", at: chain.PreToolUse, in: in, echo: "mcp.gatewayRequest.body", edited: "params.arguments",
			allow:  request,
			deny:   denied,
			modify: request,
		}, {
			name: "RESPONSE", at: chain.PostToolUse, in: in, echo: "mcp.gatewayResponse", shape: mcpShape,
			allow: response,
			deny:  denied,
			replace: `{"interceptorOutputVersion":"1.0","mcp":{"transformedGatewayResponse":{"statusCode":200,` +
				`"body":{"jsonrpc":"2.0","id":$id,"result":$output}}}}`,
		}, {
			name: "REQUEST of another method", echo: "mcp.gatewayRequest.body", allow: request,
		}, {
			name: "RESPONSE to another method", echo: "mcp.gatewayResponse", allow: response,
		}},
		refusal: denied,
		mcp:     mcpNames{between: "___"},
	}
}

// agentcoreEvent determines from the members that are present which interceptor
// asks, and about what. A body without a method, such as a JSON-RPC batch, is no
// event.
func agentcoreEvent(o object) string {
	method, _ := o.find("mcp.gatewayRequest.body.method")
	response, _ := o.find("mcp.gatewayResponse")
	switch {
	case text(method) == "":
		return ""
	case text(method) == "tools/call" && response == nil:
		return "REQUEST"
	case text(method) == "tools/call":
		return "RESPONSE"
	case response == nil:
		return "REQUEST of another method"
	}
	return "RESPONSE to another method"
}
