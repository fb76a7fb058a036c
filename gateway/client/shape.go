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
