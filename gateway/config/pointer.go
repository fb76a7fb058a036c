package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookgate/hookgate/chain"
)

// pointer is a JSON pointer (RFC 6901) into a request, split into its tokens.
type pointer []string

// requestFields are the request fields that the contract defines.
func requestFields() []string {
	return []string{
		"hook_schema", "event", "workspace", "agent_id", "tool_call_id", "tool_name", "tool_alias", "input", "output", "is_error",
	}
}

// field reads a JSON pointer.
func (r *reading) field(v value, event chain.Event) pointer {
	s, ok := r.text(v)
	if !ok {
		return nil
	}
	if !strings.HasPrefix(s, "/") {
		r.fail(v, `%s is not a JSON pointer into the request: it must begin with a slash, like "/input/command"`, quote(s))
		return nil
	}
	tokens, ok := splitPointer(s)
	if !ok {
		r.fail(v, "%s is not a JSON pointer: write ~ as ~0, and a / within a name as ~1", quote(s))
		return nil
	}
	first := tokens[0]
	switch {
	case event == chain.PreToolUse && (first == "output" || first == "is_error"):
		r.fail(v, "/%s exists only after the call, and this hook is asked before it", first)
	case !slices.Contains(requestFields(), first):
		r.warn(v, "%s is not a standard field of the envelope: it exists only if the agent's runtime sends it%s",
			quote("/"+first), didYouMean(first, requestFields()))
	}
	return tokens
}

// lookup finds the value at the pointer. It returns yes with the value, no if
// the value does not exist, and unknown if the path leads through a value
// without members.
func (p pointer) lookup(req *chain.Request) (json.RawMessage, truth) {
	if len(p) == 0 {
		return nil, unknown
	}
	// Parsing the request has already located input and output, so the rest of
	// the envelope need not be scanned for them.
	switch p[0] {
	case "input":
		return p[1:].in(req.Input())
	case "output":
		if req.Event() == chain.PreToolUse {
			return nil, no
		}
		return p[1:].in(req.Output())
	}
	return p.in(req.JSON())
}

// in finds a value in JSON text that was validated before. It decodes only
// along the path.
func (p pointer) in(text json.RawMessage) (json.RawMessage, truth) {
	if len(p) == 0 {
		return text, yes
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for _, token := range p {
		found := unknown
		if kind := dec.PeekKind(); kind == '{' {
			found = toMember(dec, token)
		} else if kind == '[' {
			found = toItem(dec, token)
		}
		if found != yes {
			return nil, found
		}
	}
	value, err := dec.ReadValue()
	if err != nil {
		return nil, unknown
	}
	return json.RawMessage(value), yes
}

// toMember advances to the value of a member of the next object.
func toMember(dec *jsontext.Decoder, name string) truth {
	if _, err := dec.ReadToken(); err != nil {
		return unknown
	}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return unknown
		}
		if token.String() == name {
			return yes
		}
		if err := dec.SkipValue(); err != nil {
			return unknown
		}
	}
	return no
}

// toItem advances to an element of the next array.
func toItem(dec *jsontext.Decoder, index string) truth {
	n, err := strconv.ParseUint(index, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != index {
		return unknown // not an index: the path expects an object here
	}
	if _, err := dec.ReadToken(); err != nil {
		return unknown
	}
	for ; dec.PeekKind() != ']'; n-- {
		if n == 0 {
			return yes
		}
		if err := dec.SkipValue(); err != nil {
			return unknown
		}
	}
	return no
}

// longestEscape is how many bytes an escaped character has, at most, for each of
// its own.
const longestEscape = 6

// tooLong reports whether a value has more in it than blanks and escapes could
// add to a normal one of that length. It is far cheaper than to normalize it.
func tooLong(value json.RawMessage, length int) bool {
	if len(value) <= longestEscape*length {
		return false
	}
	v := jsontext.Value(value).Clone()
	err := v.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return err == nil && len(v) > longestEscape*length
}

// normal returns a canonical form that equal JSON values share: no whitespace,
// sorted members, no unnecessary escapes. Numbers keep their text.
func normal(value json.RawMessage) ([]byte, bool) {
	v := jsontext.Value(value).Clone()
	err := v.Format(jsontext.ReorderRawObjects(true), jsontext.AllowInvalidUTF8(true))
	return v, err == nil
}
