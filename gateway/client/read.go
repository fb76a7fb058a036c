package client

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// Call is a parsed request of a client's hook.
type Call struct {
	client *Client
	event  *event
	// body is the members of the request.
	body    object
	request *chain.Request
}

// Passes reports whether the event is not about a tool call: no chain is asked,
// and [Call.Pass] is the answer.
func (c *Call) Passes() bool { return c.event.at == 0 }

// Request returns the envelope; nil if the call passes.
func (c *Call) Request() *chain.Request { return c.request }

// Read parses the body of a client's hook. name is the event from the URL or the
// command line, empty if only the body names it. The body must not be modified
// afterwards, because the call refers to it.
func (c *Client) Read(name string, body []byte) (*Call, error) {
	call, _, err := c.read(name, body)
	return call, err
}

// ReadOrRefuse is Read for whoever answers in any case. If the body cannot be
// read, the call is nil, and the refusal is that of [Client.Refuse] with the
// reason that why makes of the error. The body is parsed once.
func (c *Client) ReadOrRefuse(name string, body []byte, why func(error) string) (call *Call, refusal Answer) {
	call, o, err := c.read(name, body)
	if err != nil {
		return nil, c.refuse(name, o, why(err))
	}
	return call, Answer{}
}

// read is Read. It also returns the members of the body, as far as they were
// parsed.
func (c *Client) read(name string, body []byte) (*Call, object, error) {
	o, err := readObject(body)
	if err != nil {
		return nil, o, err
	}
	if err = o.checkCase(c.exact); err != nil {
		return nil, o, err
	}
	if name, err = c.eventName(name, o); err != nil {
		return nil, o, err
	}
	call := &Call{client: c, event: c.event(name), body: o}
	if call.event == nil {
		return nil, o, fmt.Errorf("event %.60q is not known for %s: known are %s", name, c.title, strings.Join(c.Events(), ", "))
	}
	if call.Passes() {
		return call, o, nil
	}
	envelope, err := c.envelope(call.event, o)
	if err != nil {
		return nil, o, fmt.Errorf("event %s: %w", name, err)
	}
	if call.request, err = chain.ParseRequest(envelope); err != nil {
		return nil, o, fmt.Errorf("event %s: %w", name, err)
	}
	return call, o, nil
}

// eventName returns the event that the body names, or the given one if it names
// none. It is an error if they differ.
func (c *Client) eventName(given string, o object) (string, error) {
	if c.pathIsNoEvent {
		given = ""
	}
	said := ""
	if value, _ := o.find(c.eventAt); value != nil {
		said = text(value)
	}
	if c.eventOf != nil {
		said = c.eventOf(o)
	}
	switch {
	case said == "" && given == "":
		return "", errors.New("neither the body nor the path names the event")
	case said == "":
		return given, nil
	case given != "" && given != said:
		return "", fmt.Errorf("the path names the event %.60q, but the body names %.60q", given, said)
	}
	return said, nil
}

// envelope converts a body to an envelope.
func (c *Client) envelope(e *event, o object) ([]byte, error) {
	for name, want := range c.expect {
		if got := o.member(name); got != nil && string(got) != want {
			return nil, fmt.Errorf("%s is %.40s: the gateway supports %s", name, got, want)
		}
	}
	f, err := c.found(e, o)
	if err != nil {
		return nil, err
	}
	size := 512
	for _, m := range o {
		size += len(m.name) + len(m.value) + 16
	}
	fields := object{
		{name: "hook_schema", value: []byte("1")},
		{name: "event", value: chain.AppendString(nil, e.at.String())},
		{name: "workspace", value: f.workspace},
		{name: "agent_id", value: f.agent},
		{name: "tool_call_id", value: f.call},
		{name: "tool_name", value: f.tool},
	}
	if f.alias != "" {
		fields = append(fields, member{name: "tool_alias", value: chain.AppendString(nil, f.alias)})
	}
	fields = append(fields, member{name: "input", value: f.input})
	if e.at == chain.PostToolUse {
		fields = append(fields, member{name: "output", value: f.output}, member{name: "is_error", value: strconv.AppendBool(nil, f.isError)})
	}
	fields = append(fields, member{name: "client", value: chain.AppendString(nil, c.name)})
	b := append(make([]byte, 0, size), '{')
	for _, m := range fields {
		b = appendElement(b, m)
	}
	return append(c.appendRest(b, o, fields, f.used), '}'), nil
}

// reserved are the names of the envelope, which no member of a client's body may
// take.
func reserved() []string {
	return []string{
		"hook_schema", "event", "workspace", "agent_id", "tool_call_id", "tool_name", "tool_alias", "input", "output", "is_error", "client",
	}
}

// appendRest appends the other members of the body (D3, D7). A name that equals
// one of the envelope's, ignoring case, gets a prefix, unless the envelope has
// the same value.
func (c *Client) appendRest(b []byte, o, fields object, used []string) []byte {
	var taken map[string]bool // made on first use
	for _, m := range o {
		if _, expected := c.expect[m.name]; expected || slices.Contains(used, m.name) {
			continue
		}
		if slices.ContainsFunc(reserved(), func(r string) bool { return strings.EqualFold(r, m.name) }) {
			if string(fields.member(m.name)) == string(m.value) {
				continue
			}
			if taken == nil {
				taken = o.names()
			}
			for m.name = "client_" + m.name; taken[m.name]; {
				m.name = "client_" + m.name
			}
		}
		b = appendElement(b, m)
	}
	return b
}

// found holds the values of the envelope's fields, as JSON.
type found struct {
	workspace, agent, call, tool, input, output []byte
	alias                                       string
	// wrapped is the path of the input if another tool makes the call.
	wrapped path
	isError bool
	// used are the top-level members that the envelope already contains.
	used []string
}

func (c *Client) found(e *event, o object) (*found, error) {
	f, in := &found{}, e.in
	var err error
	if f.workspace, err = id("workspace", o, in.workspace); err != nil {
		return nil, err
	}
	if f.agent, err = id("agent_id", o, in.agent); err != nil {
		return nil, err
	}
	if f.call, err = id("tool_call_id", o, in.call); err != nil {
		return nil, err
	}
	if err = f.findTool(c, e, o); err != nil {
		return nil, err
	}
	if err = f.findInput(in, o); err != nil {
		return nil, err
	}
	if e.at == chain.PostToolUse {
		if err = f.findOutput(e, o); err != nil {
			return nil, err
		}
	}
	if f.workspace == nil {
		f.workspace = []byte(`""`)
	}
	if f.agent == nil {
		f.agent = made(c.name, f.workspace)
	}
	if f.call == nil {
		f.call = made(c.name, f.agent, f.tool, f.input)
	}
	return f, nil
}

// made derives an id from all the parts that are known (D6).
func made(client string, parts ...[]byte) []byte {
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:", len(part)) // a hash cannot fail
		_, _ = h.Write(part)
	}
	return chain.AppendString(nil, client+"-"+hex.EncodeToString(h.Sum(nil)[:12]))
}

// id returns a string, or a number as a string; nil if there is none.
func id(name string, o object, p path) ([]byte, error) {
	value, _ := o.find(p)
	switch {
	case value == nil:
		return nil, nil
	case value[0] != '"' && value[0] != '-' && (value[0] < '0' || value[0] > '9'):
		return nil, fmt.Errorf("%s, which is the %s, is neither a string nor a number", p, name)
	}
	if value[0] != '"' {
		return chain.AppendString(nil, string(value)), nil
	}
	return value, nil
}

func (f *found) findTool(c *Client, e *event, o object) error {
	if e.tool != "" {
		f.tool = chain.AppendString(nil, e.tool)
		f.alias = c.alias(e.tool, "", "")
		return nil
	}
	value, in := o.find(e.in.tool)
	if value == nil || value[0] != '"' {
		return fmt.Errorf("%s, which names the tool, is not a string", e.in.tool)
	}
	f.tool, f.used = value, append(f.used, in)
	if e.in.mcpCaller != "" && text(value) != e.in.mcpCaller {
		f.alias = c.alias(text(value), "", "")
		return nil
	}
	server, _ := o.find(e.in.mcpServer)
	tool, _ := o.find(e.in.mcpTool)
	f.alias = c.alias(text(value), text(server), text(tool))
	f.wrapped = e.in.mcpInput
	return nil
}

func (f *found) findInput(in *fields, o object) error {
	if in.inputOf != nil {
		return f.gather(in, o)
	}
	value, from := o.find(f.wrapped)
	if value == nil {
		value, from = o.find(in.input)
	}
	switch {
	case value != nil:
		f.used = append(f.used, from)
	case in.noInput:
		value = []byte("{}")
	default:
		return fmt.Errorf("%s is missing: it is the tool's input", in.input)
	}
	f.input = value
	if in.parsed {
		f.input = objectIn(value)
	}
	return nil
}

// gather builds an input from the members that form it together.
func (f *found) gather(in *fields, o object) error {
	f.input = []byte{'{'}
	for _, way := range in.inputOf {
		value := o.follow(way)
		if value == nil {
			continue
		}
		f.used = append(f.used, first(way))
		f.input = appendElement(f.input, member{name: way[strings.LastIndexByte(way, '.')+1:], value: value})
	}
	if len(f.input) == 1 {
		return fmt.Errorf("all of %s are missing: they are the tool's input", strings.Join(in.inputOf, ", "))
	}
	f.input = append(f.input, '}')
	return nil
}

func (f *found) findOutput(e *event, o object) error {
	value, from := o.find(e.in.output)
	if value == nil {
		// A null is a result, too. No known client omits the result.
		for way := range strings.SplitSeq(string(e.in.output), "|") {
			if value = o.follow(way); value != nil {
				from = first(way)
				break
			}
		}
	}
	if value == nil {
		return fmt.Errorf("%s is missing: it is the tool's result", e.in.output)
	}
	f.used = append(f.used, from)
	f.output = value
	if e.in.parsedOutput {
		f.output = objectIn(value)
	}
	f.isError = e.failed
	if why, _ := o.find(e.in.failed); why != nil && string(why) != "false" {
		f.isError = true
	}
	if fine, _ := o.find(e.in.succeeded); string(fine) == "false" {
		f.isError = true
	}
	return nil
}

// objectIn returns the JSON object that a string contains, and any other value
// unchanged.
func objectIn(value []byte) []byte {
	inner := strings.TrimSpace(text(value))
	if strings.HasPrefix(inner, "{") && chain.CheckValue([]byte(inner)) == nil {
		return []byte(inner)
	}
	return value
}
