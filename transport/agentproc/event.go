package agentproc

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hookgate/hookgate/chain"
)

// The roles of a partial that the wire defines. Any other is passed on
// unchanged. No role means output.
const (
	RoleOutput   = "output"
	RoleThinking = "thinking"
)

// Partial is a part of the reply, as the agent wrote it.
type Partial struct {
	Text string
	// Role is [RoleOutput], [RoleThinking], another word chosen by the agent, or
	// empty.
	Role string
}

// eventKind is the type of an event. The zero eventKind is invalid.
type eventKind uint8

const (
	partialEvent eventKind = iota + 1
	resultEvent
	errorEvent
	permissionEvent
)

// event is a parsed line of an agent.
type event struct {
	kind eventKind
	// text is the text of a partial or result, or the message of an error. An
	// event without it still counts.
	text string
	role string
	// sessionID is empty if the event has none or an unusable one; badSession
	// tells which.
	sessionID  string
	badSession bool
	// usage is the usage object of a result or error, or nil.
	usage json.RawMessage
	// request is the permission request. If fault is set, it may be incomplete.
	request *PermissionRequest
	// fault is why a permission request is denied without asking the decider. long
	// says that its line was over the limit.
	fault error
	long  bool
}

// parseEvent parses one line without its newline. The error says why the line
// is ignored.
func parseEvent(line []byte) (event, error) {
	var f eventFields
	err := chain.ReadObject(line, f.take)
	if err == nil {
		return f.event()
	}
	var scan idScanner
	scan.write(line)
	if id, ok := scan.requestID(); ok {
		return event{kind: permissionEvent, request: &PermissionRequest{RequestID: id}, fault: err}, nil
	}
	return event{}, err
}

// eventFieldNames are the names of the members that this version knows.
func eventFieldNames() []string {
	return []string{
		fieldType, fieldText, fieldRole, fieldSessionID, fieldMessage, fieldUsage,
		fieldRequestID, fieldToolName, fieldInput, fieldDescription, fieldToolUseID,
	}
}

// eventFields are the raw members of a line.
type eventFields struct {
	kind, text, role, sessionID, message, usage, requestID, toolName, input json.RawMessage
	// carried are the members that a permission request passes on to its envelope.
	carried []member
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

func (f *eventFields) take(name []byte, value json.RawMessage, at int) error {
	switch string(name) {
	case fieldType:
		f.kind = value
	case fieldText:
		f.text = value
	case fieldRole:
		f.role = value
	case fieldMessage:
		f.message = value
	case fieldUsage:
		f.usage = value
	case fieldToolName:
		f.toolName = value
	case fieldInput:
		f.input = value
	default:
		f.carried = append(f.carried, member{string(name), value})
		switch string(name) {
		case fieldSessionID:
			f.sessionID = value
		case fieldRequestID:
			f.requestID = value
		case fieldDescription, fieldToolUseID:
		default:
			return checkUnknown(string(name), at, eventFieldNames())
		}
	}
	return nil
}

// event returns the event that the members form.
func (f *eventFields) event() (event, error) {
	kind, ok := chain.ReadString(f.kind)
	if !ok {
		return event{}, errors.New(`no string "type"`)
	}
	var e event
	e.sessionID, e.badSession = sessionIDOf(f.sessionID)
	switch kind {
	case typePartial:
		e.kind = partialEvent
		e.text, _ = chain.ReadString(f.text)
		e.role, _ = chain.ReadString(f.role)
	case typeResult:
		e.kind = resultEvent
		e.text, _ = chain.ReadString(f.text)
		e.usage = object(f.usage)
	case typeError:
		e.kind = errorEvent
		e.text, _ = chain.ReadString(f.message)
		e.usage = object(f.usage)
	case typePermissionRequest:
		return f.permission(e)
	default:
		return event{}, fmt.Errorf("unknown type %.40q", kind)
	}
	return e, nil
}

// permission reads a permission request. Without a usable id it is not an
// event; with one it is answered, whatever else it contains.
func (f *eventFields) permission(e event) (event, error) {
	id, _ := chain.ReadString(f.requestID)
	if !usableRequestID(id) {
		return event{}, errors.New("a permission_request without a valid request_id")
	}
	e.kind = permissionEvent
	e.request = &PermissionRequest{
		RequestID: id, Input: f.input, SessionID: e.sessionID, carried: f.carried, toolName: f.toolName,
	}
	e.request.ToolName, _ = chain.ReadString(f.toolName)
	for _, m := range f.carried {
		switch m.name {
		case fieldDescription:
			e.request.Description, _ = chain.ReadString(m.value)
		case fieldToolUseID:
			e.request.ToolUseID, _ = chain.ReadString(m.value)
		}
	}
	switch {
	case e.request.ToolName == "":
		e.fault = errors.New(`no string "tool_name"`)
	case !isObject(f.input):
		e.fault = errors.New(`"input" is not an object`)
	}
	return e, nil
}

// sessionIDOf reads the optional session id of an event. bad reports that it is
// unusable.
func sessionIDOf(value json.RawMessage) (id string, bad bool) {
	if value == nil || isNull(value) {
		return "", false
	}
	id, _ = chain.ReadString(value)
	if !usableSessionID(id) {
		return "", true
	}
	return id, false
}

// object returns value if it is a JSON object, and otherwise nil.
func object(value json.RawMessage) json.RawMessage {
	if isObject(value) {
		return value
	}
	return nil
}
