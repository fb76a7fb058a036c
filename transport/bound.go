package transport

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/signature"
)

// headerID is the Standard Webhooks header for the id of a request.
const headerID = "Webhook-Id"

// AnswerChecker verifies that an answer belongs to the request it was received
// for. Without it, anything that caches, mixes up or replays answers on the way
// to a participant could deliver an allow that was given to another call. It
// must be safe for concurrent use.
type AnswerChecker interface {
	// CheckBoundAnswer returns an error unless answer, a response body, is proven
	// to answer the request with this id and body question. The error must not
	// quote the answer.
	CheckBoundAnswer(answer []byte, id string, question []byte) error
}

// bound turns an answer that is not proven to belong to q into a failure (T9).
// A deny needs no proof: as a failure it could fail open.
func bound(checker AnswerChecker, a chain.Answer, body []byte, q question) chain.Answer {
	if checker == nil || a.Failure != nil || a.Outcome.Decision == chain.Deny {
		return a
	}
	if err := checker.CheckBoundAnswer(body, q.id, q.body); err != nil {
		return unbound(err, body)
	}
	return a
}

func unbound(err error, said []byte) chain.Answer {
	return chain.Fail(chain.Malformed, fmt.Sprintf("gave an answer that does not prove that it belongs to this call: %v", err), excerpt(said))
}

// A worker with bound answers receives the id of a call in the field
// signature.FieldID, and repeats it there, as a remote participant's answer does.
var (
	errOwnID   = errors.New("the call has a field " + signature.FieldID + " of its own")
	errNoID    = errors.New("it does not repeat the field " + signature.FieldID)
	errOtherID = errors.New("its field " + signature.FieldID + " is that of another call")
)

// newID returns the id of a call. The prefix follows Standard Webhooks; the
// rest is random.
func newID() string { return "msg_" + rand.Text() }

// appendBound appends the envelope with the id of the call as its first field.
// It returns errOwnID if the envelope has that field, in any case of its
// letters: then a participant could read either.
func appendBound(dst, envelope []byte, id string) ([]byte, error) {
	owned := false
	err := chain.ReadInnerObject(envelope, func(name []byte, _ json.RawMessage, _ int) error {
		owned = owned || strings.EqualFold(string(name), signature.FieldID)
		return nil
	})
	if owned {
		err = errOwnID
	}
	if err != nil {
		return dst, err
	}
	open := bytes.IndexByte(envelope, '{') + 1
	dst = append(dst, envelope[:open]...)
	dst = fmt.Appendf(dst, `"%s":"%s",`, signature.FieldID, id) // an envelope always has more fields
	return append(dst, envelope[open:]...), nil
}

// repeatedID is the id that an answer repeats, or empty if there is none.
// readAnswer has accepted the answer.
func repeatedID(answer []byte) (id string) {
	_ = chain.ReadInnerObject(answer, func(name []byte, value json.RawMessage, _ int) error {
		if string(name) == signature.FieldID {
			id, _ = chain.ReadString(value)
		}
		return nil
	})
	return id
}
