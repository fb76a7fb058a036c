package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hookgate/hookgate/chain"
)

// readAnswer parses a participant's answer to a call at event. It is as strict
// as [chain.ParseRequest], but ignores unknown fields, so that hooks can send
// more than this version reads.
func readAnswer(said []byte, event chain.Event) chain.Answer {
	if len(bytes.TrimLeft(said, " \t\r\n")) == 0 {
		return chain.Fail(chain.Empty, "answered nothing", "")
	}
	var a answerFields
	if err := chain.ReadObject(said, a.take); err != nil {
		return malformed(err, said)
	}
	word, ok := chain.ReadString(a.decision)
	switch {
	case a.decision == nil:
		return malformed(errors.New(`no field "decision"`), said)
	case !ok:
		return malformed(errors.New(`field "decision" is not a string`), said)
	}
	decision, err := chain.ParseDecision(word)
	if err != nil {
		return chain.Fail(chain.WrongDecision, "answered an unknown decision", fmt.Sprintf("decision %.64q", word))
	}
	o := chain.Outcome{Decision: decision}
	o.Reason, _ = chain.ReadString(a.reason) // an absent, null or mistyped reason counts as none
	switch decision {
	case chain.Modify:
		if event != chain.PreToolUse {
			break // the chain reports it as a wrong decision
		}
		if a.input == nil {
			return malformed(errors.New(`modify without the field "input"`), said)
		}
		o.Input = a.input
	case chain.Replace:
		if event != chain.PostToolUse {
			break
		}
		if a.output == nil {
			return malformed(errors.New(`replace without the field "output"`), said)
		}
		o.Output = a.output
		if a.isError != nil {
			b, ok := chain.ReadBool(a.isError)
			if !ok {
				return malformed(errors.New(`field "is_error" is not a boolean`), said)
			}
			o.IsError = &b
		}
	case chain.Allow, chain.Deny, chain.Undecided:
	}
	return chain.Answer{Outcome: o}
}

// answerFields are the raw values of the answer fields that this version knows.
type answerFields struct {
	decision, reason, input, output, isError json.RawMessage
}

func (a *answerFields) take(name []byte, value json.RawMessage, _ int) error {
	switch string(name) {
	case "decision":
		a.decision = value
	case "reason":
		a.reason = value
	case "input":
		a.input = value
	case "output":
		a.output = value
	case "is_error":
		a.isError = value
	}
	return nil
}

// quoted is how many bytes of a participant's output a failure's detail quotes.
const quoted = 512

func malformed(err error, said []byte) chain.Answer {
	return chain.Fail(chain.Malformed, "did not answer with one decision object", fmt.Sprintf("%v in %s", err, excerpt(said)))
}

// excerpt quotes the beginning of said on one line, with control characters
// escaped.
func excerpt(said []byte) string {
	if len(said) > quoted {
		return fmt.Sprintf("%q… (%d bytes)", said[:quoted], len(said))
	}
	return fmt.Sprintf("%q", said)
}
