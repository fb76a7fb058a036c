package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// SchemaVersion is the version of the wire format; every request carries it as
// hook_schema.
const SchemaVersion = 1

// Request is a tool call, or its result, as one envelope. It is immutable: a
// rewrite makes another Request. What its methods return must not be changed.
type Request struct {
	text []byte

	event      Event
	workspace  string
	agentID    string
	toolCallID string
	toolName   string
	isError    bool

	// Where in text the values stand that a rewrite replaces.
	input, output, isErrorAt span
}

// span is a half-open range of bytes.
type span struct{ from, to int }

func (s span) set() bool { return s.to > s.from }

// fields of a request that this version knows.
const (
	fieldSchema     = "hook_schema"
	fieldEvent      = "event"
	fieldWorkspace  = "workspace"
	fieldAgentID    = "agent_id"
	fieldToolCallID = "tool_call_id"
	fieldToolName   = "tool_name"
	fieldInput      = "input"
	fieldOutput     = "output"
	fieldIsError    = "is_error"
)

// ParseRequest reads one envelope strictly. The Request keeps text, which must
// not be changed afterwards.
func ParseRequest(text []byte) (*Request, error) {
	r := &Request{text: text}
	var seen fieldSet
	err := ReadObject(text, func(name string, value json.RawMessage, at int) error {
		bit := fieldBit(name)
		if bit == 0 {
			return checkUnknown(name, at)
		}
		seen |= bit
		if err := r.take(name, value, at); err != nil {
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

// take stores one known field.
func (r *Request) take(name string, value json.RawMessage, at int) error {
	where := span{at, at + len(value)}
	switch name {
	case fieldSchema:
		if string(value) != "1" {
			return fmt.Errorf("is %.40s: this gateway speaks hook_schema 1", value)
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
			return errors.New("is empty: a call has a tool")
		}
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

func into(field *string, value json.RawMessage) (err error) {
	*field, err = stringField(value)
	return err
}

func stringField(value json.RawMessage) (string, error) {
	text, ok := ReadString(value)
	if !ok {
		return "", errors.New("is not a string")
	}
	return text, nil
}

// complete checks what only the whole object can tell.
func (r *Request) complete(seen fieldSet) error {
	for _, name := range knownFields() {
		present := seen&fieldBit(name) != 0
		result := name == fieldOutput || name == fieldIsError
		switch {
		case present && result && r.event == PreToolUse:
			return fmt.Errorf("field %q is present before the call, which has no result yet", name)
		case !present && (!result || r.event == PostToolUse):
			return fmt.Errorf("field %q is missing", name)
		}
	}
	return nil
}

// knownFields are the fields of a request in the order of the contract.
func knownFields() []string {
	return []string{
		fieldSchema, fieldEvent, fieldWorkspace, fieldAgentID, fieldToolCallID, fieldToolName, fieldInput,
		fieldOutput, fieldIsError,
	}
}

// fieldSet has a bit for each known field.
type fieldSet uint16

func fieldBit(name string) fieldSet {
	switch name {
	case fieldSchema:
		return 1 << 0
	case fieldEvent:
		return 1 << 1
	case fieldWorkspace:
		return 1 << 2
	case fieldAgentID:
		return 1 << 3
	case fieldToolCallID:
		return 1 << 4
	case fieldToolName:
		return 1 << 5
	case fieldInput:
		return 1 << 6
	case fieldOutput:
		return 1 << 7
	case fieldIsError:
		return 1 << 8
	}
	return 0
}

// checkUnknown refuses a name that a reader which folds case would take for a
// known one.
func checkUnknown(name string, at int) error {
	for _, known := range knownFields() {
		if strings.EqualFold(name, known) {
			return fmt.Errorf("field %q before byte %d differs from %q only by case: two readers would read two meanings", name, at, known)
		}
	}
	return nil
}

// Event is the moment of the call.
func (r *Request) Event() Event { return r.event }

// Workspace is the directory or project the agent works in, as the caller
// names it.
func (r *Request) Workspace() string { return r.workspace }

// AgentID names the agent.
func (r *Request) AgentID() string { return r.agentID }

// ToolCallID names the call.
func (r *Request) ToolCallID() string { return r.toolCallID }

// ToolName names the tool.
func (r *Request) ToolName() string { return r.toolName }

// Input is the JSON text of the tool's input, after every modify so far.
func (r *Request) Input() json.RawMessage { return r.text[r.input.from:r.input.to:r.input.to] }

// Output is the JSON text of the tool's result, after every replace so far;
// nil before the call.
func (r *Request) Output() json.RawMessage {
	if !r.output.set() {
		return nil
	}
	return r.text[r.output.from:r.output.to:r.output.to]
}

// IsError is whether the result is an error; false before the call.
func (r *Request) IsError() bool { return r.isError }

// JSON is the whole envelope: the text that was received, with what was
// rewritten since in its place.
func (r *Request) JSON() []byte { return r.text[:len(r.text):len(r.text)] }

// Line is the envelope on one line, without its end. Outside of strings JSON
// has line breaks only as blanks, and inside none, so each becomes a space.
func (r *Request) Line() []byte {
	if bytes.IndexByte(r.text, '\n') < 0 && bytes.IndexByte(r.text, '\r') < 0 {
		return r.JSON()
	}
	line := bytes.TrimRight(r.text, "\r\n")
	line = bytes.ReplaceAll(line, []byte{'\n'}, []byte{' '})
	return bytes.ReplaceAll(line, []byte{'\r'}, []byte{' '})
}

// WithInput returns the call with another input, which must be valid JSON.
func (r *Request) WithInput(input json.RawMessage) *Request {
	return r.splice(splice{r.input, input})
}

// WithOutput returns the result with another output, which must be valid JSON,
// and another claim of whether it is an error. It is for requests at
// [PostToolUse].
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

// splice is new text for a span.
type splice struct {
	at   span
	text json.RawMessage
}

// splice copies the envelope with the given spans, in their order, replaced.
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

// moved is where the span stands after parts were replaced.
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
