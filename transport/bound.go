package transport

import (
	"fmt"

	"github.com/hookgate/hookgate/chain"
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
		return chain.Fail(chain.Malformed, fmt.Sprintf("gave an answer that does not prove that it belongs to this call: %v", err), excerpt(body))
	}
	return a
}
