package client

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/hookgate/hookgate/chain"
)

// FuzzRead sends arbitrary bodies to every client. An accepted body yields a
// valid envelope; every answer is a JSON object; a body that cannot be read is
// denied; and nothing but an allow is answered with one.
func FuzzRead(f *testing.F) {
	clients := All()
	for i, c := range clients {
		for _, fix := range fixtures(f) {
			if fix.client.Name() == c.Name() {
				f.Add(byte(i), fix.event, fix.body)
			}
		}
		f.Add(byte(i), "", []byte(`{"mcp":{"gatewayRequest":{"body":{"id":{},"method":"tools/call","params":{"name":"\ud83d","arguments":[]}}}}}`))
	}
	f.Fuzz(func(t *testing.T, which byte, event string, body []byte) {
		c := clients[int(which)%len(clients)]
		call, err := c.Read(event, body)
		if err != nil {
			if a := c.Refuse(event, body, "why"); a.Decision != chain.Deny || !json.Valid(a.Body) {
				t.Errorf("%s: %q is refused as %+v", c.Name(), body, a)
			}
			return
		}
		if call.Passes() {
			if _, err := readObject(call.Pass().Body); err != nil {
				t.Errorf("%s: %q passes as %s: %v", c.Name(), body, call.Pass().Body, err)
			}
			return
		}
		r := call.Request()
		if c.Name() != "cursor" && c.Name() != "windsurf" && c.Name() != "copilot" && c.Name() != "cline" && // which gather or parse an input
			string(r.Input()) != "{}" && !bytes.Contains(body, r.Input()) {
			t.Errorf("%s: input %s is not of %q", c.Name(), r.Input(), body)
		}
		for _, o := range []chain.Outcome{
			{Decision: chain.Allow},
			{Decision: chain.Deny, Reason: "why"},
			{},
			{Decision: chain.Modify, Input: json.RawMessage(`{"other":1e400}`)},
			{Decision: chain.Replace, Output: json.RawMessage(`"other"`)},
		} {
			if o.Decision == chain.Modify && r.Event() != chain.PreToolUse || o.Decision == chain.Replace && r.Event() != chain.PostToolUse {
				continue
			}
			a := call.Answer(o, false)
			if _, err := readObject(a.Body); err != nil {
				t.Errorf("%s: %q is answered %s: %v", c.Name(), body, a.Body, err)
			}
			changed := string(o.Input) != string(r.Input()) && string(o.Output) != string(r.Output())
			if a.Decision == chain.Allow && o.Decision != chain.Allow && changed {
				t.Errorf("%s: %v became an allow: %s", c.Name(), o.Decision, a.Body)
			}
		}
	})
}
