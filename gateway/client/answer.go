package client

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// Answer is a decision in the client's dialect.
type Answer struct {
	// Status and Body are the HTTP response.
	Status int
	Body   []byte
	// Decision is what the client is told; Undecided refuses, as Deny does.
	Decision chain.Decision
	// Reason is the reason, for command hooks that print it.
	Reason string
	// Degraded is the decision that the client could not be told: Modify or
	// Replace if it is told a deny instead, Deny if the client shows the result
	// anyway. It is Undecided if nothing was lost.
	Degraded chain.Decision
}

// template is the text of an answer with placeholders for JSON values: $reason
// for the reason, $input for the changed input, $output for the replaced result
// and $text for the same as a string, $echo for a part of what the client sent,
// and $id for the id of a JSON-RPC request.
type template string

// values replace the placeholders of a template.
type values struct {
	reason                  string
	input, output, echo, id json.RawMessage
}

// fill returns the template with its placeholders replaced. Placeholders inside
// values are not replaced.
func (t template) fill(v values) []byte {
	if strings.TrimSpace(v.reason) == "" {
		v.reason = "denied" // some clients ignore a deny without a reason
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

// asText returns a JSON string: a string unchanged, any other value as its JSON
// text. A blank string becomes "[empty]", because some clients take it for no
// answer.
func asText(value json.RawMessage) json.RawMessage {
	if len(value) == 0 || value[0] != '"' {
		return chain.AppendString(nil, string(value))
	}
	if strings.TrimSpace(text(value)) == "" {
		return json.RawMessage(`"[empty]"`)
	}
	return value
}

// Pass answers an event that is not about a tool call.
func (c *Call) Pass() Answer {
	return c.say(c.event.allow, chain.Allow, "", chain.Outcome{})
}

// Answer translates a chain's outcome. If explicit is set, an allow also skips
// the client's own question to its user, where the dialect can say so (D5).
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
		return c.allow(o.Reason, explicit) // the input did not change
	}
	t, cannot := c.event.modify, "change the input of a call at this event"
	if explicit && c.event.explicitModify != "" {
		t = c.event.explicitModify
	}
	if t != "" && c.event.merges && !keepsNames(c.request.Input(), o.Input) {
		t, cannot = "", "remove a member from an input"
	}
	if t == "" {
		return c.degrade(chain.Modify, o.Reason, cannot)
	}
	return c.say(t, chain.Modify, o.Reason, o)
}

// keepsNames reports whether now has every member of was.
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
		return c.allow(o.Reason, false) // the result did not change
	}
	if c.event.replace == "" {
		return c.degrade(chain.Replace, o.Reason, "replace a result at this event")
	}
	isError := c.request.IsError()
	if o.IsError != nil {
		isError = *o.IsError
	}
	shaped, ok := c.shape(o.Output, isError)
	if !ok {
		return c.degrade(chain.Replace, o.Reason, "show this replacement for a result of this tool")
	}
	o.Output = shaped
	return c.say(c.event.replace, chain.Replace, o.Reason, o)
}

// shape converts a result to the shape of the tool's own results.
func (c *Call) shape(now json.RawMessage, isError bool) (json.RawMessage, bool) {
	if c.event.shape == nil {
		return now, true
	}
	return c.event.shape(result{tool: c.request.ToolName(), was: c.request.Output(), now: now, isError: isError})
}

// degrade denies because the client cannot be told the decision (D1).
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

// Refuse returns the client's deny when no chain decided, for example because
// the body could not be parsed or the gateway was unreachable. name and body are
// those of [Client.Read], and either may be empty. It never allows a tool call
// (D4); an event that is known not to be one passes.
func (c *Client) Refuse(name string, body []byte, reason string) Answer {
	call, refusal := c.ReadOrRefuse(name, body, func(error) string { return reason })
	if call == nil {
		return refusal
	}
	return call.Refuse(reason)
}

// Refuse is [Client.Refuse] for a body that was read.
func (c *Call) Refuse(reason string) Answer {
	if c.Passes() {
		return c.Pass()
	}
	return c.deny(reason)
}

// refuse refuses a body that could not be read, of which o are the members that
// could.
func (c *Client) refuse(name string, o object, reason string) Answer {
	name, _ = c.eventName(name, o)
	e := c.event(name)
	switch {
	case e == nil || e.at == 0:
		return c.say(c.refusal, chain.Deny, values{reason: reason}, o)
	case e.stop != "":
		return c.deny(e, e.stop, reason, chain.AppendString(nil, reason), o) // the shape of the tool's results is not known
	}
	return c.deny(e, e.deny, reason, chain.AppendString(nil, reason), o)
}

// deny fills in t, one of the event's deny templates.
func (c *Client) deny(e *event, t template, reason string, output json.RawMessage, body object) Answer {
	a := c.say(t, chain.Deny, values{reason: reason, output: output}, body)
	if e.shows || e.stopShows && t == e.stop {
		a.Degraded = chain.Deny
	}
	return a
}

// rpcID is the path of the JSON-RPC id in bodies that wrap JSON-RPC.
const rpcID path = "id|mcp.gatewayRequest.body.id"

func (c *Client) say(t template, d chain.Decision, v values, body object) Answer {
	if strings.Contains(string(t), "$id") { // looking for it can mean to parse most of the body
		v.id, _ = body.find(rpcID)
	}
	a := Answer{Status: http.StatusOK, Body: t.fill(v), Decision: d, Reason: v.reason}
	if d == chain.Deny && c.deniedStatus != 0 {
		a.Status = c.deniedStatus
	}
	return a
}
