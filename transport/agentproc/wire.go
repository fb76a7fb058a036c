package agentproc

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hookgate/hookgate/chain"
)

// ProtocolVersion is what a turn line says it speaks. Agents may not order or
// compare it.
const ProtocolVersion = "0.4"

// The types of a line.
const (
	typeTurn               = "turn"
	typePartial            = "partial"
	typeResult             = "result"
	typeError              = "error"
	typePermissionRequest  = "permission_request"
	typePermissionResponse = "permission_response"
)

// The names of members, on whichever line they stand.
const (
	fieldType            = "type"
	fieldMessage         = "message"
	fieldSessionID       = "session_id"
	fieldFromUser        = "from_user"
	fieldProtocolVersion = "protocol_version"
	fieldSessionName     = "session_name"
	fieldAttachments     = "attachments"
	fieldPermission      = "permission"
	fieldText            = "text"
	fieldRole            = "role"
	fieldUsage           = "usage"
	fieldRequestID       = "request_id"
	fieldToolName        = "tool_name"
	fieldInput           = "input"
	fieldDescription     = "description"
	fieldToolUseID       = "tool_use_id"
	fieldBehavior        = "behavior"
	fieldUpdatedInput    = "updated_input"
	fieldKind            = "kind"
	fieldURL             = "url"
	fieldFilename        = "filename"
	fieldMIMEType        = "mime_type"
	fieldSize            = "size"
)

// checkUnknown refuses a name that a reader which folds case would take for
// one of known.
func checkUnknown(name string, at int, known []string) error {
	for _, k := range known {
		if name != k && strings.EqualFold(name, k) {
			return fmt.Errorf("field %q before byte %d differs from %q only by case: two readers would read two meanings", name, at, k)
		}
	}
	return nil
}

// appendMember appends `,"name":` and the text as a JSON string.
func appendMember(dst []byte, name, text string) []byte {
	return chain.AppendString(appendName(dst, name), text)
}

func appendName(dst []byte, name string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// appendValue appends `,"name":` and a JSON value, on one line.
func appendValue(dst []byte, name string, value json.RawMessage) []byte {
	return append(appendName(dst, name), chain.OneLine(value)...)
}

func isObject(value json.RawMessage) bool { return len(value) > 0 && value[0] == '{' }

func isNull(value json.RawMessage) bool { return string(value) == "null" }

// maxIDBytes bounds the ids that are remembered or echoed.
const maxIDBytes = 256

// usableID reports whether id can stand for something: not empty, bounded, and
// of characters that are the same to every reader. An escaped lone surrogate
// is decoded as U+FFFD, which would make two ids one.
func usableID(id string) bool {
	return id != "" && len(id) <= maxIDBytes && utf8.ValidString(id) &&
		!strings.ContainsFunc(id, func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) })
}

// usableRequestID holds ids of requests to the wire's own rule as well: no
// blanks.
func usableRequestID(id string) bool {
	return usableID(id) && !strings.ContainsFunc(id, unicode.IsSpace)
}

// usableSessionID holds ids of sessions to the wire's own rule as well: no path
// separators, since agents and bridges name files after them.
func usableSessionID(id string) bool {
	return usableID(id) && !strings.ContainsAny(id, `/\`)
}
