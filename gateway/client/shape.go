package client

import (
	"encoding/json"
	"strings"
)

// claudeShape makes a result that Claude Code shows in place of another: it
// ignores one that has not the shape of the tool's own and shows the original.
func claudeShape(tool string, was, now []byte) ([]byte, bool) {
	switch {
	case strings.HasPrefix(tool, "mcp__"):
		return now, true
	case sameShape(was, now):
		return now, true
	case tool == "Bash":
		filled := append([]byte(`{"stdout":`), asText(now)...)
		return append(filled, `,"stderr":"","interrupted":false,"isImage":false}`...), true
	}
	return nil, false
}

// cursorShape makes a result that Cursor shows in place of another: it does so
// for tools of MCP servers, and for those with a text.
func cursorShape(tool string, _, now []byte) ([]byte, bool) {
	return asText(now), strings.HasPrefix(tool, "MCP:")
}

// opencodeShape makes a result as opencode's plugins are given it.
func opencodeShape(_ string, was, now []byte) ([]byte, bool) {
	if sameShape(was, now) {
		return now, true
	}
	title := json.RawMessage(`""`)
	if o, err := readObject(was); err == nil && kind(o.member("title")) == '"' {
		title = o.member("title")
	}
	filled := append([]byte(`{"title":`), title...)
	filled = append(append(filled, `,"output":`...), asText(now)...)
	return append(filled, `,"metadata":{}}`...), true
}

// mcpShape makes the result of a tool of an MCP server.
func mcpShape(_ string, _, now []byte) ([]byte, bool) {
	if o, err := readObject(now); err == nil && kind(o.member("content")) == '[' {
		return now, true
	}
	filled := append([]byte(`{"content":[{"type":"text","text":`), asText(now)...)
	return append(filled, `}]}`...), true
}

// sameShaped takes a result that has the shape of the one it replaces.
func sameShaped(_ string, was, now []byte) ([]byte, bool) { return now, sameShape(was, now) }

// sameShape reports whether a value can stand in for another: of the same kind,
// with every member that the other has, and as many elements. What tells kinds
// of results apart must be the same.
func sameShape(was, now json.RawMessage) bool {
	if kind(was) != kind(now) {
		return false
	}
	switch kind(was) {
	case '{':
		return sameMembers(was, now)
	case '[':
		old, fresh := list(was), list(now)
		if len(old) != len(fresh) {
			return false
		}
		for i := range old {
			if !sameShape(old[i], fresh[i]) {
				return false
			}
		}
	}
	return true
}

func sameMembers(was, now json.RawMessage) bool {
	old, err := readObject(was)
	if err != nil {
		return false
	}
	fresh, err := readObject(now)
	if err != nil {
		return false
	}
	for _, m := range old {
		value := fresh.member(m.name)
		if value == nil || !sameShape(m.value, value) || m.name == "type" && string(m.value) != string(value) {
			return false
		}
	}
	return true
}

// kind is the first byte of a value, with that of true for both booleans and
// that of 0 for all numbers.
func kind(value json.RawMessage) byte {
	if len(value) == 0 {
		return 0
	}
	switch b := value[0]; {
	case b == 'f':
		return 't'
	case b == '-' || '0' <= b && b <= '9':
		return '0'
	default:
		return b
	}
}
