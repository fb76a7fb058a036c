package client

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// Answer is a decision as the client reads it.
type Answer struct {
	// Status and Body are what it is over HTTP.
	Status int
	Body   []byte
	// Decision is what the client is told; Undecided refuses as Deny does.
	Decision chain.Decision
	// Reason is why, for command hooks that print it.
	Reason string
	// Degraded is the decision that the client cannot be told: Modify or Replace
	// where it is denied instead, Deny where the client shows the result all the
	// same. Undecided where nothing was lost.
	Degraded chain.Decision
}

// template is the text of an answer, with places for JSON values: $reason is
// why, $input the other input, $output the other result and $text the same as a
// text, $echo a part of what the client sent, and $id the id of a JSON-RPC
// request.
type template string

// values are what goes into the places of a template.
type values struct {
	reason                  string
	input, output, echo, id json.RawMessage
}

// fill returns the text with the values in their places. A value is not
// searched for further places.
func (t template) fill(v values) []byte {
	if strings.TrimSpace(v.reason) == "" {
		v.reason = "denied" // a deny without a reason is none to some
	}
	if v.id == nil {
		v.id = json.RawMessage("null")
	}
	places := []string{
		"$reason", string(chain.AppendString(nil, v.reason)),
		"$input", string(v.input), "$output", string(v.output), "$echo", string(v.echo), "$id", string(v.id),
	}
	if strings.Contains(string(t), "$text") {
		places = append(places, "$text", string(asText(v.output)))
	}
	return []byte(strings.NewReplacer(places...).Replace(string(t)))
}

// asText returns a JSON string: a text as it is, anything else as its JSON. A
// blank one is said in words, since some clients take it for no answer.
func asText(value json.RawMessage) json.RawMessage {
	if len(value) == 0 || value[0] != '"' {
		return chain.AppendString(nil, string(value))
	}
	if strings.TrimSpace(text(value)) == "" {
		return json.RawMessage(`"[empty]"`)
	}
	return value
}

// Pass is the answer to an event that is not about a tool call.
func (c *Call) Pass() Answer {
	return c.say(c.event.allow, chain.Allow, "", chain.Outcome{})
}

// Answer is a chain's outcome as the client reads it. explicit skips the
// client's own question to its user where an allow can say so (D5).
func (c *Call) Answer(o chain.Outcome, explicit bool) Answer {
	switch o.Decision {
	case chain.Allow:
		return c.allow(o.Reason, explicit)
	case chain.Modify:
		return c.modify(o, explicit)
	case chain.Replace:
		return c.replace(o)
	case chain.Deny, chain.Undecided:
	}
	return c.deny(o.Reason)
}

func (c *Call) allow(reason string, explicit bool) Answer {
	t := c.event.allow
	if explicit && c.event.explicitAllow != "" {
		t = c.event.explicitAllow
	}
	return c.say(t, chain.Allow, reason, chain.Outcome{})
}

func (c *Call) modify(o chain.Outcome, explicit bool) Answer {
	if bytes.Equal(o.Input, c.request.Input()) {
		return c.allow(o.Reason, explicit) // which is what runs
	}
	t, cannot := c.event.modify, "run a call with another input at this event"
	if explicit && c.event.explicitModify != "" {
		t = c.event.explicitModify
	}
	if t != "" && c.event.merges && !keepsNames(c.request.Input(), o.Input) {
		t, cannot = "", "take a member out of an input"
	}
	if t == "" {
		return c.degrade(chain.Modify, o.Reason, cannot)
	}
	return c.say(t, chain.Modify, o.Reason, o)
}

// keepsNames reports whether an input has every member of the one before.
func keepsNames(was, now json.RawMessage) bool {
	old, err := readObject(was)
	if err != nil {
		return false
	}
	fresh, err := readObject(now)
	if err != nil {
		return false
	}
	kept := fresh.names()
	return !slices.ContainsFunc(old, func(m member) bool { return !kept[m.name] })
}

func (c *Call) replace(o chain.Outcome) Answer {
	if bytes.Equal(o.Output, c.request.Output()) && (o.IsError == nil || *o.IsError == c.request.IsError()) {
		return c.allow(o.Reason, false) // which is what is shown
	}
	if c.event.replace == "" {
		return c.degrade(chain.Replace, o.Reason, "show another result at this event")
	}
	isError := c.request.IsError()
	if o.IsError != nil {
		isError = *o.IsError
	}
	shaped, ok := c.shape(o.Output, isError)
	if !ok {
		return c.degrade(chain.Replace, o.Reason, "show this result of this tool")
	}
	o.Output = shaped
	return c.say(c.event.replace, chain.Replace, o.Reason, o)
}

// shape is a result as the tool's own look.
func (c *Call) shape(now json.RawMessage, isError bool) (json.RawMessage, bool) {
	if c.event.shape == nil {
		return now, true
	}
	return c.event.shape(result{tool: c.request.ToolName(), was: c.request.Output(), now: now, isError: isError})
}

// degrade denies what the client cannot be told (D1).
func (c *Call) degrade(from chain.Decision, reason, cannot string) Answer {
	a := c.deny(c.client.title + " cannot " + cannot)
	how := "denied, because "
	switch {
	case a.Degraded == chain.Deny:
		how = "the result is not hidden, because "
	case from == chain.Replace:
		how = "withheld, because "
	}
	how += c.client.title + " cannot " + cannot
	if reason != "" {
		how += ": " + reason
	}
	a = c.deny(how)
	a.Degraded = from
	return a
}

func (c *Call) deny(reason string) Answer {
	e, text := c.event, chain.AppendString(nil, reason)
	if e.shape == nil || !strings.Contains(string(e.deny), "$output") {
		return c.client.deny(e, e.deny, reason, text, c.body)
	}
	if placeholder, ok := c.shape(text, true); ok {
		return c.client.deny(e, e.deny, reason, placeholder, c.body)
	}
	return c.client.deny(e, e.stop, reason, text, c.body)
}

func (c *Call) say(t template, d chain.Decision, reason string, o chain.Outcome) Answer {
	echo, _ := c.body.find(c.event.echo)
	if d == chain.Modify && c.event.edited != "" {
		echo = with(echo, c.event.edited, o.Input)
	}
	return c.client.say(t, d, values{reason: reason, input: o.Input, output: o.Output, echo: echo}, c.body)
}

// Refuse is the client's deny of what no chain decided: a body that could not be
// read, a gateway that could not be asked. name and body are those of
// [Client.Read], and either may be empty. It is never an allow of a tool call
// (D4); an event that is known to be none passes.
func (c *Client) Refuse(name string, body []byte, reason string) Answer {
	if call, err := c.Read(name, body); err == nil {
		if call.Passes() {
			return call.Pass()
		}
		return call.deny(reason)
	}
	o, _ := readObject(body)
	name, _ = c.eventName(name, o)
	e := c.event(name)
	switch {
	case e == nil || e.at == 0:
		return c.say(c.refusal, chain.Deny, values{reason: reason}, o)
	case e.stop != "":
		return c.deny(e, e.stop, reason, chain.AppendString(nil, reason), o) // the shape of the result is not known
	}
	return c.deny(e, e.deny, reason, chain.AppendString(nil, reason), o)
}

// deny says t, which is a deny of the event.
func (c *Client) deny(e *event, t template, reason string, output json.RawMessage, body object) Answer {
	a := c.say(t, chain.Deny, values{reason: reason, output: output}, body)
	if e.shows || e.stopShows && t == e.stop {
		a.Degraded = chain.Deny
	}
	return a
}

// rpcID is where the bodies that wrap JSON-RPC have its id.
const rpcID path = "id|mcp.gatewayRequest.body.id"

func (c *Client) say(t template, d chain.Decision, v values, body object) Answer {
	v.id, _ = body.find(rpcID)
	a := Answer{Status: http.StatusOK, Body: t.fill(v), Decision: d, Reason: v.reason}
	if d == chain.Deny && c.deniedStatus != 0 {
		a.Status = c.deniedStatus
	}
	return a
}
