package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
)

// result is a result that replaces another.
type result struct {
	tool     string
	was, now json.RawMessage
	isError  bool
}

// claudeShape converts a result for Claude Code, which ignores a replacement
// that does not have the shape of the tool's own results, and then shows the
// original.
func claudeShape(r result) ([]byte, bool) {
	switch {
	case strings.HasPrefix(r.tool, "mcp__"):
		return r.now, true
	case sameShape(r.was, r.now):
		return r.now, true
	case r.tool == "Bash":
		filled := append([]byte(`{"stdout":`), asText(r.now)...)
		return append(filled, `,"stderr":"","interrupted":false,"isImage":false}`...), true
	}
	return nil, false
}

// cursorShape converts a result for Cursor, which accepts a replacement only
// for MCP tools, and only as text.
func cursorShape(r result) ([]byte, bool) {
	return asText(r.now), strings.HasPrefix(r.tool, "MCP:")
}

// opencodeShape converts a result to the one that opencode's plugins receive.
func opencodeShape(r result) ([]byte, bool) {
	if sameShape(r.was, r.now) {
		return r.now, true
	}
	title := json.RawMessage(`""`)
	if o, err := readObject(r.was); err == nil && text(o.member("title")) != "" {
		title = o.member("title")
	}
	filled := append([]byte(`{"title":`), title...)
	filled = append(append(filled, `,"output":`...), asText(r.now)...)
	return append(filled, `,"metadata":{}}`...), true
}

// mcpShape converts a result to that of an MCP tool.
func mcpShape(r result) ([]byte, bool) {
	claim := strconv.AppendBool(nil, r.isError)
	if o, err := readObject(r.now); err == nil && isArray(o.member("content")) {
		if is := o.member("isError"); string(is) == string(claim) || is == nil && !r.isError {
			return r.now, true
		}
		return with(r.now, "isError", claim), true
	}
	filled := append([]byte(`{"content":[{"type":"text","text":`), asText(r.now)...)
	return append(append(append(filled, `}],"isError":`...), claim...), '}'), true
}

// sameShaped accepts a result only if it has the shape of the one it replaces.
func sameShaped(r result) ([]byte, bool) { return r.now, sameShape(r.was, r.now) }

// mostValues is how many JSON values of a result are compared. A body can hold
// millions, and comparing them would take seconds and gigabytes.
const mostValues = 100_000

// sameShape reports whether a value can replace another: the same JSON type,
// every member that the other has, and the same number of elements. Members
// that distinguish kinds of results must have the same value. Values with more
// than mostValues in them are never of the same shape.
func sameShape(was, now json.RawMessage) bool {
	old, err := tree(was)
	if err != nil {
		return false
	}
	fresh, err := tree(now)
	return err == nil && standsIn(old, fresh)
}

// tree parses a value once, so that deeply nested values do not take quadratic
// time.
func tree(value json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber() // all numbers have one type, whatever their size
	left := mostValues
	return grow(d, &left)
}

var errTooManyValues = errors.New("it has too many values")

// grow reads the next value, and as many values in it as are left.
func grow(d *json.Decoder, left *int) (any, error) {
	if *left--; *left < 0 {
		return nil, errTooManyValues
	}
	switch token, err := d.Token(); token {
	case json.Delim('['):
		return growArray(d, left)
	case json.Delim('{'):
		return growObject(d, left)
	default:
		return token, err
	}
}

func growArray(d *json.Decoder, left *int) (any, error) {
	elements := []any{}
	for d.More() {
		v, err := grow(d, left)
		if err != nil {
			return nil, err
		}
		elements = append(elements, v)
	}
	_, err := d.Token() // the closing bracket
	return elements, err
}

func growObject(d *json.Decoder, left *int) (any, error) {
	members := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // the decoder accepts no other names
		if members[name], err = grow(d, left); err != nil {
			return nil, err
		}
	}
	_, err := d.Token() // the closing brace
	return members, err
}

func standsIn(was, now any) bool {
	switch was := was.(type) {
	case map[string]any:
		now, ok := now.(map[string]any)
		return ok && membersStandIn(was, now)
	case []any:
		now, ok := now.([]any)
		if !ok || len(was) != len(now) {
			return false
		}
		for i := range was {
			if !standsIn(was[i], now[i]) {
				return false
			}
		}
		return true
	}
	return reflect.TypeOf(was) == reflect.TypeOf(now)
}

func membersStandIn(was, now map[string]any) bool {
	for name, old := range was {
		fresh, ok := now[name]
		if !ok || !standsIn(old, fresh) || name == "type" && old != fresh && isText(old) {
			return false
		}
	}
	return true
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}
