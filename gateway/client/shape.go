package client

import (
	"bytes"
	"encoding/json"
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
	if o, err := readObject(r.now); err == nil && list(o.member("content")) != nil {
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

// sameShape reports whether a value can replace another: the same JSON type,
// every member that the other has, and the same number of elements. Members
// that distinguish kinds of results must have the same value.
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
	var v any
	err := d.Decode(&v)
	return v, err
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
