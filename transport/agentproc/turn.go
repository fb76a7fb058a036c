package agentproc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/hookgate/hookgate/chain"
)

// DefaultSessionName is the name of a session without a name.
const DefaultSessionName = "default"

// Turn is one message to an agent.
type Turn struct {
	// Message is the user's text.
	Message string
	// SessionID is the session to continue, as returned by an earlier turn. Empty
	// starts a new session.
	SessionID string
	// FromUser names the author of the message.
	FromUser string
	// SessionName is for people. Empty means [DefaultSessionName].
	SessionName string
	// Attachments belong to the message.
	Attachments []Attachment
	// Permission says whether the agent may request permission. [Run] takes it
	// from the profile.
	Permission bool
}

// Attachment is a reference to a file of a message.
type Attachment struct {
	// Kind is image, file, audio or video. Any other value is sent as "other".
	Kind string
	// URL has the scheme file, http, https or data.
	URL string
	// Filename, MIMEType and Size are omitted if they are unknown.
	Filename string
	MIMEType string
	Size     *uint64
}

// check returns why the turn cannot be given to an agent.
func (t Turn) check() error {
	var errs []error
	if t.Message == "" && len(t.Attachments) == 0 {
		errs = append(errs, errors.New("the turn is empty: it has neither a message nor attachments"))
	}
	if t.SessionID != "" && !usableSessionID(t.SessionID) {
		errs = append(errs, fmt.Errorf("session_id %.64q is not valid: at most %d bytes without / \\ or control characters", t.SessionID, maxIDBytes))
	}
	if t.SessionName != "" && !usableID(t.SessionName) {
		errs = append(errs, fmt.Errorf("session_name %.64q is not valid: at most %d bytes without control characters", t.SessionName, maxIDBytes))
	}
	for i, a := range t.Attachments {
		if err := a.check(); err != nil {
			errs = append(errs, fmt.Errorf("attachments[%d]: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func (a Attachment) check() error {
	if strings.ContainsFunc(a.URL, unicode.IsControl) {
		return errors.New("url has a control character")
	}
	for _, scheme := range []string{"file://", "http://", "https://", "data:"} {
		if len(a.URL) > len(scheme) && strings.EqualFold(a.URL[:len(scheme)], scheme) {
			return nil
		}
	}
	return fmt.Errorf("url %.64q is not of the scheme file, http, https or data", a.URL)
}

// sessionName is the session's name, with its default.
func (t Turn) sessionName() string {
	if t.SessionName == "" {
		return DefaultSessionName
	}
	return t.SessionName
}

// line is the turn line, with its newline.
func (t Turn) line() []byte {
	dst := []byte(`{"type":"turn"`)
	dst = appendMember(dst, fieldMessage, t.Message)
	dst = appendMember(dst, fieldSessionID, t.SessionID)
	dst = appendMember(dst, fieldFromUser, t.FromUser)
	dst = appendMember(dst, fieldProtocolVersion, ProtocolVersion)
	dst = appendMember(dst, fieldSessionName, t.sessionName())
	dst = append(appendName(dst, fieldAttachments), '[')
	for i, a := range t.Attachments {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = a.appendJSON(dst)
	}
	dst = append(dst, ']')
	if t.Permission {
		dst = append(appendName(dst, fieldPermission), "true"...)
	}
	return append(dst, '}', '\n')
}

func (a Attachment) appendJSON(dst []byte) []byte {
	kind := a.Kind
	switch kind {
	case "image", "file", "audio", "video":
	default:
		kind = "other"
	}
	dst = chain.AppendString(append(dst, `{"kind":`...), kind)
	dst = appendMember(dst, fieldURL, a.URL)
	if a.Filename != "" {
		dst = appendMember(dst, fieldFilename, a.Filename)
	}
	if a.MIMEType != "" {
		dst = appendMember(dst, fieldMIMEType, a.MIMEType)
	}
	if a.Size != nil {
		dst = strconv.AppendUint(appendName(dst, fieldSize), *a.Size, 10)
	}
	return append(dst, '}')
}

// turnFields are the names of the members of a turn line that this version
// knows.
func turnFields() []string {
	return []string{
		fieldType, fieldMessage, fieldSessionID, fieldFromUser, fieldProtocolVersion, fieldSessionName,
		fieldAttachments, fieldPermission,
	}
}

// parseTurn parses a turn line. Absent members have their defaults, since
// bridges differ in what they omit. A member that is present must have the
// right type.
func parseTurn(line []byte) (Turn, error) {
	t := Turn{SessionName: DefaultSessionName}
	err := chain.ReadObject(line, func(name []byte, value json.RawMessage, at int) error {
		if err := t.take(string(name), value, at); err != nil {
			return fmt.Errorf("field %q at byte %d %w", name, at, err)
		}
		return nil
	})
	return t, err
}

func (t *Turn) take(name string, value json.RawMessage, at int) error {
	switch name {
	case fieldType:
		if said, _ := chain.ReadString(value); said != typeTurn {
			return fmt.Errorf("is %.40s instead of \"turn\"", value)
		}
	case fieldMessage:
		return into(&t.Message, value)
	case fieldSessionID:
		return into(&t.SessionID, value)
	case fieldFromUser:
		return into(&t.FromUser, value)
	case fieldProtocolVersion:
		return into(new(string), value)
	case fieldSessionName:
		return into(&t.SessionName, value)
	case fieldAttachments:
		return t.takeAttachments(value)
	case fieldPermission:
		yes, ok := chain.ReadBool(value)
		if !ok {
			return errors.New("is not a boolean")
		}
		t.Permission = yes
	default:
		return checkUnknown(name, at, turnFields())
	}
	return nil
}

// into reads a JSON string into field.
func into(field *string, value json.RawMessage) error {
	text, ok := chain.ReadString(value)
	if !ok {
		return errors.New("is not a string")
	}
	*field = text
	return nil
}

func (t *Turn) takeAttachments(value json.RawMessage) error {
	var each []json.RawMessage
	if err := json.Unmarshal(value, &each); err != nil || isNull(value) {
		return errors.New("is not an array")
	}
	for i, one := range each {
		var a Attachment
		err := chain.ReadObject(one, func(name []byte, value json.RawMessage, at int) error {
			if err := a.take(string(name), value, at); err != nil {
				return fmt.Errorf("field %q %w", name, err)
			}
			return nil
		})
		if err == nil && (a.Kind == "" || a.URL == "") {
			err = errors.New("has no kind or no url")
		}
		if err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
		t.Attachments = append(t.Attachments, a)
	}
	return nil
}

func (a *Attachment) take(name string, value json.RawMessage, at int) error {
	// Some bridges write an absent optional member as null.
	optional := !isNull(value)
	switch {
	case name == fieldKind:
		return into(&a.Kind, value)
	case name == fieldURL:
		return into(&a.URL, value)
	case name == fieldFilename && optional:
		return into(&a.Filename, value)
	case name == fieldMIMEType && optional:
		return into(&a.MIMEType, value)
	case name == fieldSize && optional:
		size, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil {
			return errors.New("is not a whole number of bytes")
		}
		a.Size = &size
		return nil
	}
	return checkUnknown(name, at, []string{fieldKind, fieldURL, fieldFilename, fieldMIMEType, fieldSize})
}
