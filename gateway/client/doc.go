// Package client translates the hook dialects of known agents: it converts what
// an agent's own hook sends to the gateway's envelope, and a decision to the
// answer that the agent obeys.
//
// A client is a table in a file of its own. It defines the client's events, the
// path of each envelope field in its JSON, the aliases of its tools, and the
// answer to each decision. To add a client, write that file, a line in table, a
// folder of fixtures and a row in docs/clients.md.
//
// Usage:
//
//	c, ok := client.Find("claude-code")
//	call, err := c.Read(event, body) // event from the URL or a flag; empty if the body names it
//	if err != nil {
//		answer = c.Refuse(event, body, reason) // never an allow
//	} else if call.Passes() {
//		answer = call.Pass() // no tool call: nothing to ask a chain about
//	} else {
//		answer = call.Answer(chain.Decide(…, call.Request(), …).Outcome, explicitAllow)
//	}
//
// Over HTTP send answer.Status and answer.Body. In a command hook
// c.Command(answer) says what to print and how to exit. A command that asked a
// gateway over HTTP gets the same from the response by c.Relay(decision, body),
// and for every failure by c.Command(c.Refuse(…)).
//
// Invariants:
//
//   - D1 Nothing becomes an allow that was not one. A decision that a client
//     cannot express denies the call or withholds the result, is marked as a
//     degradation, and says so in its reason.
//   - D2 An answer contains only names that the client knows, in its case.
//   - D3 Bytes are kept: inputs, outputs and whatever else the client sent are
//     carried as the JSON text they came in.
//   - D4 A request that cannot be understood, including one with an unknown
//     event, gets the strongest deny of the client: that of the event if it is
//     known, otherwise one that all of its events obey.
//   - D5 An allow does not skip the client's own question to its user, unless the
//     caller asks for that.
//   - D6 A call and its result have the same tool_call_id and agent_id, even if
//     the client names neither.
//   - D7 A field of the client never replaces a field of the envelope.
package client
