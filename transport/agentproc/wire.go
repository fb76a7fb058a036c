package agentproc

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hookgate/hookgate/chain"
)

// ProtocolVersion is the protocol_version of a turn line. Agents must not
// compare or order it.
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

// The names of members, for all types of lines.
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

// checkUnknown refuses a name that a case-insensitive JSON reader would take
// for one of known.
func checkUnknown(name string, at int, known []string) error {
	for _, k := range known {
		if name != k && strings.EqualFold(name, k) {
			return fmt.Errorf("field %q before byte %d differs from %q only by case, so JSON parsers may disagree about its meaning", name, at, k)
		}
	}
	return nil
}

// appendMember appends `,"name":` and text as a JSON string.
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

// maxIDBytes limits the ids that are remembered or echoed.
const maxIDBytes = 256

// usableID reports whether id is not empty, not too long, and made of
// characters that every reader sees alike. U+FFFD is excluded because every
// escaped lone surrogate decodes to it, which would make different ids equal.
func usableID(id string) bool {
	return id != "" && len(id) <= maxIDBytes && utf8.ValidString(id) &&
		!strings.ContainsFunc(id, func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) })
}

// usableRequestID also applies the wire's rule for request ids: no white space.
func usableRequestID(id string) bool {
	return usableID(id) && !strings.ContainsFunc(id, unicode.IsSpace)
}

// usableSessionID also applies the wire's rule for session ids: no path
// separators, since agents and bridges name files after them.
func usableSessionID(id string) bool {
	return usableID(id) && !strings.ContainsAny(id, `/\`)
}
