package agentproc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// PermissionRequest is an agent's question whether it may run a tool.
type PermissionRequest struct {
	// RequestID names the question within its turn.
	RequestID string
	// ToolName names the tool.
	ToolName string
	// Input is the tool's input, one JSON object, as the agent wrote it.
	Input json.RawMessage
	// Description says for people what the call is about. May be empty.
	Description string
	// ToolUseID is the model's own name for the call. May be empty.
	ToolUseID string
	// SessionID is the session the question named. May be empty.
	SessionID string

	toolName json.RawMessage // as the agent wrote it; nil where no agent did
	carried  []member        // what else the agent said
}

// Envelope is the request as the question that hooks are asked. workspace is
// the directory the agent runs in and agentID who it is: both are the bridge's
// to say, as is everything else that the envelope defines. What the agent said
// beyond that is carried as unknown fields.
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
		return nil, fmt.Errorf("the request makes no envelope: %w", err)
	}
	return req, nil
}

// envelopeFields are the fields that an agent cannot set in its envelope.
func envelopeFields() []string {
	return []string{
		"hook_schema", "event", "workspace", "agent_id", "tool_call_id", "tool_name", "input", "output", "is_error",
	}
}

// Behavior is what a permission response says. The zero Behavior denies.
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

// Answer is what an agent is told about one request. The zero Answer denies.
type Answer struct {
	Behavior Behavior
	// UpdatedInput is the input to run instead, one JSON object; nil runs what
	// was asked. Only with Allow.
	UpdatedInput json.RawMessage
	// Message is why. It reaches the model. Only with Deny.
	Message string
	// DecisionID is the decider's name for its decision. The agent is not told.
	DecisionID string
}

// AnswerTo is what a chain's outcome means for the request it was asked about.
// Where the chain allows without a word, settled is false: the profile's
// [PermissionDefault] has the say.
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

// PermissionDefault is what a profile says to a request that its chain allows.
// The zero PermissionDefault denies.
type PermissionDefault uint8

// The defaults.
const (
	DenyByDefault PermissionDefault = iota
	AllowByDefault
	// DenyAndLogByDefault denies, and has the request logged.
	DenyAndLogByDefault
	// AskByDefault leaves it to a person.
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

// ParsePermissionDefault returns the default of that exact name.
func ParsePermissionDefault(name string) (PermissionDefault, error) {
	for _, d := range PermissionDefaults() {
		if d.String() == name {
			return d, nil
		}
	}
	return DenyByDefault, fmt.Errorf("permission_default %.40q is not one of allow, deny, deny_logged, ask", name)
}

// Answer is what the default says by itself. Where settled is false a person
// has the say.
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

// held is the answer held to the wire. It is unusable where it allows an input
// that no agent could run.
func (a Answer) held() (held Answer, usable bool) {
	if a.Behavior != Allow {
		return Answer{Message: a.Message, DecisionID: a.DecisionID}, true
	}
	if a.UpdatedInput != nil && (!isObject(a.UpdatedInput) || chain.CheckValue(a.UpdatedInput) != nil) {
		return Answer{Message: "denied: the updated input is not a JSON object", DecisionID: a.DecisionID}, false
	}
	return Answer{Behavior: Allow, UpdatedInput: a.UpdatedInput, DecisionID: a.DecisionID}, true
}

// response is the answer to the request of that id as its line, with the line's
// end.
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

// responseFields are the members of a response that this version knows.
func responseFields() []string {
	return []string{fieldType, fieldRequestID, fieldBehavior, fieldUpdatedInput, fieldMessage}
}

// parseResponse reads a response line. Whatever is not exactly one is an error,
// never an allow.
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
		err = errors.New("no usable request_id")
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
