package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/agentproc"
)

// turnRequest is the body of POST /v1/turns.
type turnRequest struct {
	agent string
	turn  agentproc.Turn
}

// parseTurnRequest parses a body; unknown fields are errors.
func parseTurnRequest(text []byte) (turnRequest, error) {
	var t turnRequest
	if err := readFields(text, t.fields()); err != nil {
		return turnRequest{}, err
	}
	if t.agent == "" {
		return turnRequest{}, errors.New("agent is missing: give the name of the agent that gets the turn")
	}
	return t, nil
}

// field parses one member of an object. The error reads on after its name.
type field struct {
	name string
	read func(json.RawMessage) error
}

func (t *turnRequest) fields() []field {
	return []field{
		textField("agent", &t.agent),
		textField("message", &t.turn.Message),
		textField("session_id", &t.turn.SessionID),
		textField("session_name", &t.turn.SessionName),
		textField("from_user", &t.turn.FromUser),
		{"attachments", t.readAttachments},
	}
}

func textField(name string, to *string) field {
	return field{name, func(value json.RawMessage) error {
		text, ok := chain.ReadString(value)
		if !ok {
			return errors.New("is not a string")
		}
		*to = text
		return nil
	}}
}

// readFields parses an object and refuses members other than fields.
func readFields(text []byte, fields []field) error {
	return chain.ReadObject(text, func(name []byte, value json.RawMessage, at int) error {
		var known []string
		for _, f := range fields {
			if f.name != string(name) {
				known = append(known, f.name)
				continue
			}
			if err := f.read(value); err != nil {
				return fmt.Errorf("%s at byte %d %w", f.name, at, err)
			}
			return nil
		}
		return fmt.Errorf("unknown field %.80q at byte %d: known are %s", name, at, strings.Join(known, ", "))
	})
}

func (t *turnRequest) readAttachments(value json.RawMessage) error {
	var each []json.RawMessage
	if err := json.Unmarshal(value, &each); err != nil || value[0] != '[' {
		return errors.New("is not an array")
	}
	for i, one := range each {
		a, err := parseAttachment(one)
		if err != nil {
			return fmt.Errorf("has an unusable element %d: %w", i, err)
		}
		t.turn.Attachments = append(t.turn.Attachments, a)
	}
	return nil
}

func parseAttachment(text []byte) (agentproc.Attachment, error) {
	var a agentproc.Attachment
	err := readFields(text, []field{
		textField("kind", &a.Kind),
		textField("url", &a.URL),
		textField("filename", &a.Filename),
		textField("mime_type", &a.MIMEType),
		{"size", func(value json.RawMessage) error {
			size, err := strconv.ParseUint(string(value), 10, 64)
			if err != nil {
				return errors.New("is not a whole number of bytes")
			}
			a.Size = &size
			return nil
		}},
	})
	if err == nil && (a.Kind == "" || a.URL == "") {
		err = errors.New("kind or url is missing")
	}
	return a, err
}

func malformedTurn(err error) *problem {
	return &problem{status: http.StatusBadRequest, title: "Invalid turn", detail: "the body is not a valid turn: " + err.Error()}
}
