package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// SchemaVersion is the version of the wire format, the hook_schema of every
// request.
const SchemaVersion = 1

// Request is the envelope of a tool call or of its result. It is immutable: a
// rewrite makes a new Request. The byte slices that its methods return must not
// be modified.
type Request struct {
	text []byte

	event      Event
	workspace  string
	agentID    string
	toolCallID string
	toolName   string
	toolAlias  string
	isError    bool

	// Where the values that a rewrite replaces are in text.
	input, output, isErrorAt span
}

// span is a half-open range of bytes.
type span struct{ from, to int }

func (s span) set() bool { return s.to > s.from }

// field is one of the request fields that this version knows, or a bit set of
// them.
type field uint16

const (
	fieldSchema field = 1 << iota
	fieldEvent
	fieldWorkspace
	fieldAgentID
	fieldToolCallID
	fieldToolName
	fieldToolAlias
	fieldInput
	fieldOutput
	fieldIsError
)

// ofResult reports whether the field belongs only to requests at post_tool_use.
func (f field) ofResult() bool { return f == fieldOutput || f == fieldIsError }

// optional reports whether a request may omit the field.
func (f field) optional() bool { return f == fieldToolAlias }

// knownFields are the names of the fields, in bit order.
func knownFields() [10]string {
	return [...]string{
		"hook_schema", "event", "workspace", "agent_id", "tool_call_id", "tool_name", "tool_alias", "input", "output", "is_error",
	}
}

func fieldOf(name string) (field, bool) {
	for i, known := range knownFields() {
		if name == known {
			return 1 << i, true
		}
	}
	return 0, false
}

// ParseRequest reads one envelope strictly. The Request retains text, which
// must not be modified afterwards.
func ParseRequest(text []byte) (*Request, error) {
	r := &Request{text: text}
	var seen field
	err := ReadObject(text, func(name []byte, value json.RawMessage, at int) error {
		f, known := fieldOf(string(name))
		if !known {
			return checkUnknown(string(name), at)
		}
		seen |= f
		if err := r.take(f, value, at); err != nil {
			return fmt.Errorf("field %q at byte %d %w", name, at, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.complete(seen); err != nil {
		return nil, err
	}
	return r, nil
}

// take validates and stores one known field.
func (r *Request) take(f field, value json.RawMessage, at int) error {
	where := span{at, at + len(value)}
	switch f {
	case fieldSchema:
		if string(value) != "1" {
			return fmt.Errorf("is %.40s: this gateway supports hook_schema 1", value)
		}
	case fieldEvent:
		text, err := stringField(value)
		if err != nil {
			return err
		}
		if r.event, err = ParseEvent(text); err != nil {
			return fmt.Errorf("is unknown: %w", err)
		}
	case fieldWorkspace:
		return into(&r.workspace, value)
	case fieldAgentID:
		return into(&r.agentID, value)
	case fieldToolCallID:
		return into(&r.toolCallID, value)
	case fieldToolName:
		if err := into(&r.toolName, value); err != nil {
			return err
		}
		if r.toolName == "" {
			return errors.New("is empty: a call must name its tool")
		}
	case fieldToolAlias:
		return into(&r.toolAlias, value)
	case fieldInput:
		r.input = where
	case fieldOutput:
		r.output = where
	case fieldIsError:
		b, ok := ReadBool(value)
		if !ok {
			return errors.New("is not a boolean")
		}
		r.isError, r.isErrorAt = b, where
	}
	return nil
}

func into(to *string, value json.RawMessage) (err error) {
	*to, err = stringField(value)
	return err
}

func stringField(value json.RawMessage) (string, error) {
	text, ok := ReadString(value)
	if !ok {
		return "", errors.New("is not a string")
	}
	return text, nil
}

// complete checks which fields are present, which depends on the event.
func (r *Request) complete(seen field) error {
	for i, name := range knownFields() {
		f := field(1 << i)
		present, result := seen&f != 0, f.ofResult()
		switch {
		case present && result && r.event == PreToolUse:
			return fmt.Errorf("field %q must be absent before the call, which has no result yet", name)
		case !present && !f.optional() && (!result || r.event == PostToolUse):
			return fmt.Errorf("field %q is missing", name)
		}
	}
	return nil
}

// checkUnknown refuses a name that a case-insensitive JSON reader would take
// for a known one.
func checkUnknown(name string, at int) error {
	for _, known := range knownFields() {
		if strings.EqualFold(name, known) {
			return fmt.Errorf("field %q before byte %d differs from %q only by case, so JSON parsers may disagree about its meaning", name, at, known)
		}
	}
	return nil
}

// Event is the event at which the request was sent.
func (r *Request) Event() Event { return r.event }

// Workspace is the directory or project in which the agent works, as the caller
// named it.
func (r *Request) Workspace() string { return r.workspace }

// AgentID identifies the agent.
func (r *Request) AgentID() string { return r.agentID }

// ToolCallID identifies the call.
func (r *Request) ToolCallID() string { return r.toolCallID }

// ToolName names the tool.
func (r *Request) ToolName() string { return r.toolName }

// ToolAlias is a second name of the tool, common to agents that give the tool
// different names. It is empty if there is none. A participant is asked if its
// tools match either name (C4).
func (r *Request) ToolAlias() string { return r.toolAlias }

// Input is the JSON text of the tool's input, after every modify so far.
func (r *Request) Input() json.RawMessage { return r.at(r.input) }

func (r *Request) at(s span) json.RawMessage { return r.text[s.from:s.to:s.to] }

// Output is the JSON text of the tool's result, after every replace so far. It
// is nil before the call.
func (r *Request) Output() json.RawMessage {
	if !r.output.set() {
		return nil
	}
	return r.at(r.output)
}

// IsError reports whether the result is an error. It is false before the call.
func (r *Request) IsError() bool { return r.isError }

// JSON is the whole envelope: the text as received, with the rewritten values
// in place.
func (r *Request) JSON() []byte { return slices.Clip(r.text) }

// Line is the envelope on one line, without a trailing newline.
func (r *Request) Line() []byte { return OneLine(slices.Clip(bytes.TrimRight(r.text, "\r\n"))) }

// WithInput returns the call with another input, which must be valid JSON.
func (r *Request) WithInput(input json.RawMessage) *Request {
	return r.splice(splice{r.input, input})
}

// WithOutput returns the result with another output, which must be valid JSON,
// and another is_error. Only requests at [PostToolUse] have them.
func (r *Request) WithOutput(output json.RawMessage, isError bool) *Request {
	claim := json.RawMessage("false")
	if isError {
		claim = json.RawMessage("true")
	}
	first, second := splice{r.output, output}, splice{r.isErrorAt, claim}
	if second.at.from < first.at.from {
		first, second = second, first
	}
	next := r.splice(first, second)
	next.isError = isError
	return next
}

// splice is replacement text for a span.
type splice struct {
	at   span
	text json.RawMessage
}

// splice returns a copy of the request in which the given spans are replaced.
// parts must be in the order of their spans.
func (r *Request) splice(parts ...splice) *Request {
	next := *r
	size := len(r.text)
	for _, p := range parts {
		size += len(p.text) - (p.at.to - p.at.from)
	}
	next.text = make([]byte, 0, size)
	from := 0
	for _, p := range parts {
		next.text = append(next.text, r.text[from:p.at.from]...)
		next.text = append(next.text, p.text...)
		from = p.at.to
	}
	next.text = append(next.text, r.text[from:]...)
	for _, s := range []*span{&next.input, &next.output, &next.isErrorAt} {
		*s = s.moved(parts)
	}
	return &next
}

// moved is the position of the span after parts were replaced.
func (s span) moved(parts []splice) span {
	shift := 0
	for _, p := range parts {
		grown := len(p.text) - (p.at.to - p.at.from)
		switch {
		case p.at == s:
			return span{s.from + shift, s.to + shift + grown}
		case p.at.from < s.from:
			shift += grown
		}
	}
	return span{s.from + shift, s.to + shift}
}
