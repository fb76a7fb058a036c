package agentproc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// PermissionRequest is an agent's request for permission to run a tool.
type PermissionRequest struct {
	// RequestID identifies the request within its turn.
	RequestID string
	// ToolName names the tool.
	ToolName string
	// Input is the tool's input, one JSON object, as the agent wrote it.
	Input json.RawMessage
	// Description describes the call for people. It may be empty.
	Description string
	// ToolUseID is the model's id of the call. It may be empty.
	ToolUseID string
	// SessionID is the session id in the request. It may be empty.
	SessionID string

	toolName json.RawMessage // as the agent wrote it; nil if the request was not parsed
	carried  []member        // the agent's other members
}

// Envelope returns the request in the form in which hooks are asked about it.
// workspace is the directory in which the agent runs, and agentID its name: the
// bridge sets both. The agent cannot set the fields in envelopeFields; its
// other members are carried as they are.
func (r *PermissionRequest) Envelope(workspace, agentID string) (*chain.Request, error) {
	callID := r.ToolUseID
	if callID == "" {
		callID = r.RequestID
	}
	text := make([]byte, 0, 512+len(r.Input))
	text = append(text, `{"hook_schema":1,"event":"pre_tool_use"`...)
	text = appendMember(text, "workspace", workspace)
	text = appendMember(text, "agent_id", agentID)
	text = appendMember(text, "tool_call_id", callID)
	if r.toolName == nil {
		text = appendMember(text, fieldToolName, r.ToolName)
	} else {
		text = append(appendName(text, fieldToolName), r.toolName...)
	}
	text = append(appendName(text, fieldInput), r.Input...)
	for _, m := range r.carried {
		if !slices.ContainsFunc(envelopeFields(), func(f string) bool { return strings.EqualFold(f, m.name) }) {
			text = append(chain.AppendString(append(text, ','), m.name), ':')
			text = append(text, m.value...)
		}
	}
	req, err := chain.ParseRequest(append(text, '}'))
	if err != nil {
		return nil, fmt.Errorf("no envelope can be made of the request: %w", err)
	}
	return req, nil
}

// envelopeFields are the envelope's fields that an agent cannot set. tool_alias
// is not among them: it can only add participants.
func envelopeFields() []string {
	return []string{
		"hook_schema", "event", "workspace", "agent_id", "tool_call_id", "tool_name", "input", "output", "is_error",
	}
}

// Behavior is the verdict in a permission response. The zero Behavior denies.
type Behavior uint8

// The behaviors of the wire.
const (
	Deny Behavior = iota
	Allow
)

// String returns the behavior's name on the wire.
func (b Behavior) String() string {
	if b == Allow {
		return "allow"
	}
	return "deny"
}

// Answer is the answer to one request. The zero Answer denies.
type Answer struct {
	Behavior Behavior
	// UpdatedInput is the input to run instead, one JSON object. Nil means the
	// requested input. Only with Allow.
	UpdatedInput json.RawMessage
	// Message is the reason, which the model sees. Only with Deny.
	Message string
	// DecisionID is the decider's id of its decision. It is not sent to the agent.
	DecisionID string
}

// AnswerTo converts a chain's outcome to an answer. If the chain allows without
// a rewrite, settled is false: the profile's [PermissionDefault] decides.
func AnswerTo(o chain.Outcome) (answer Answer, settled bool) {
	switch o.Decision {
	case chain.Allow:
		return Answer{}, false
	case chain.Modify:
		return Answer{Behavior: Allow, UpdatedInput: o.Input}, true
	case chain.Deny, chain.Undecided, chain.Replace:
	}
	return Answer{Message: o.Reason}, true
}

// PermissionDefault is a profile's answer to a request that its chain allows.
// The zero PermissionDefault denies.
type PermissionDefault uint8

// The defaults.
const (
	DenyByDefault PermissionDefault = iota
	AllowByDefault
	// DenyAndLogByDefault denies and logs the request.
	DenyAndLogByDefault
	// AskByDefault asks a person.
	AskByDefault
)

// PermissionDefaults returns every default.
func PermissionDefaults() []PermissionDefault {
	return []PermissionDefault{DenyByDefault, AllowByDefault, DenyAndLogByDefault, AskByDefault}
}

// String returns the default's name in a profile.
func (d PermissionDefault) String() string {
	switch d {
	case AllowByDefault:
		return "allow"
	case DenyAndLogByDefault:
		return "deny_logged"
	case AskByDefault:
		return "ask"
	case DenyByDefault:
	}
	return "deny"
}

// ParsePermissionDefault returns the default with exactly this name.
func ParsePermissionDefault(name string) (PermissionDefault, error) {
	for _, d := range PermissionDefaults() {
		if d.String() == name {
			return d, nil
		}
	}
	return DenyByDefault, fmt.Errorf("permission_default %.40q is not one of allow, deny, deny_logged, ask", name)
}

// Answer is the default's own answer. If settled is false, a person decides.
func (d PermissionDefault) Answer() (answer Answer, settled bool) {
	switch d {
	case AllowByDefault:
		return Answer{Behavior: Allow}, true
	case AskByDefault:
		return Answer{}, false
	case DenyByDefault, DenyAndLogByDefault:
	}
	return Answer{Message: fmt.Sprintf("denied: permission_default of this agent's profile is %s", d)}, true
}

// held returns the answer reduced to what the wire permits. usable is false if
// it allows with an input that no agent could run; held is then a deny.
func (a Answer) held() (held Answer, usable bool) {
	if a.Behavior != Allow {
		return Answer{Message: a.Message, DecisionID: a.DecisionID}, true
	}
	if a.UpdatedInput != nil && (!isObject(a.UpdatedInput) || chain.CheckValue(a.UpdatedInput) != nil) {
		return Answer{Message: "denied: the updated input is not a JSON object", DecisionID: a.DecisionID}, false
	}
	return Answer{Behavior: Allow, UpdatedInput: a.UpdatedInput, DecisionID: a.DecisionID}, true
}

// response is the line that answers the request with this id, with its newline.
func (a Answer) response(requestID string) []byte {
	dst := []byte(`{"type":"permission_response"`)
	dst = appendMember(dst, fieldRequestID, requestID)
	dst = appendMember(dst, fieldBehavior, a.Behavior.String())
	if a.UpdatedInput != nil {
		dst = appendValue(dst, fieldUpdatedInput, a.UpdatedInput)
	}
	if a.Message != "" {
		dst = appendMember(dst, fieldMessage, a.Message)
	}
	return append(dst, '}', '\n')
}

// responseFields are the names of the members of a response that this version
// knows.
func responseFields() []string {
	return []string{fieldType, fieldRequestID, fieldBehavior, fieldUpdatedInput, fieldMessage}
}

// parseResponse parses a response line. Anything else is an error, never an
// allow.
func parseResponse(line []byte) (requestID string, a Answer, err error) {
	var kind, behavior string
	err = chain.ReadObject(line, func(name []byte, value json.RawMessage, at int) error {
		switch string(name) {
		case fieldType:
			kind, _ = chain.ReadString(value)
		case fieldRequestID:
			requestID, _ = chain.ReadString(value)
		case fieldBehavior:
			behavior, _ = chain.ReadString(value)
		case fieldUpdatedInput:
			a.UpdatedInput = value
		case fieldMessage:
			a.Message, _ = chain.ReadString(value)
		default:
			return checkUnknown(string(name), at, responseFields())
		}
		return nil
	})
	switch {
	case err != nil:
	case kind != typePermissionResponse:
		err = fmt.Errorf("type %.40q is not permission_response", kind)
	case !usableRequestID(requestID):
		err = errors.New("no valid request_id")
	case behavior == Allow.String() && a.UpdatedInput != nil && !isNull(a.UpdatedInput) && !isObject(a.UpdatedInput):
		err = errors.New("updated_input is not an object")
	case behavior == Allow.String():
		return requestID, Answer{Behavior: Allow, UpdatedInput: object(a.UpdatedInput)}, nil
	case behavior == Deny.String():
		return requestID, Answer{Message: a.Message}, nil
	default:
		err = fmt.Errorf("behavior %.40q is neither allow nor deny", behavior)
	}
	return "", Answer{}, err
}
