// Package client speaks the hook dialects of known agents: it reads what an
// agent's own hook sends into the gateway's envelope, and writes a decision as
// the answer which that agent obeys.
//
// A client is a table: one file here says which events it has, where each field
// of the envelope stands in its JSON, what its tools are called elsewhere, and
// what each decision becomes. To add one is that file, a line in table, a
// folder of fixtures and a row in docs/clients.md.
//
// What a caller does:
//
//	c, ok := client.Find("claude-code")
//	call, err := c.Read(event, body) // event from the URL or a flag; empty where the body says it
//	if err != nil {
//		answer = c.Refuse(event, body, reason) // never an allow
//	} else if call.Passes() {
//		answer = call.Pass() // no tool call: nothing to ask a chain about
//	} else {
//		answer = call.Answer(chain.Decide(…, call.Request(), …).Outcome, explicitAllow)
//	}
//
// and then, over HTTP, answer.Status and answer.Body; in a command hook
// c.Command(answer), which says what to print and how to exit. A command that
// asked a gateway over HTTP makes the same of what came back by
// c.Relay(decision, body), and of every failure by c.Command(c.Refuse(…)).
//
// What holds here:
//
//   - D1 Nothing becomes an allow that was not one. What a client cannot express
//     is a deny of the call or withholds the result, is marked as a degradation,
//     and says so in its reason.
//   - D2 An answer has only names that the client knows, in its case.
//   - D3 Bytes are kept: inputs, outputs and whatever else the client sent
//     travel as the JSON text they came in.
//   - D4 What cannot be read, an event that nobody knows included, is answered
//     with the strongest deny of the client: that of the event where it is
//     known, else one that all of its events obey.
//   - D5 An allow leaves the client's own question to its user in place, unless
//     the caller asks for it to be skipped.
//   - D6 A call and its result have the same tool_call_id and agent_id, also
//     where the client names neither.
//   - D7 A field of the client never takes the place of one of the envelope.
package client
