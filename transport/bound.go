package transport

import (
	"fmt"

	"github.com/hookgate/hookgate/chain"
)

// headerID is how Standard Webhooks calls the id of a question.
const headerID = "Webhook-Id"

// AnswerChecker tells the answers to a question from others. Whatever caches,
// crosses or replays answers on the way to a participant could else hand over
// an allow that was given to another call. It must be safe for concurrent use.
type AnswerChecker interface {
	// CheckBoundAnswer reports, by an error, that an answer is not shown to be
	// the one to the question of this id. The error quotes nothing of it.
	CheckBoundAnswer(answer []byte, id string, question []byte) error
}

// bound fails what would let a call pass and is not shown to be the answer to
// q (T9). A deny needs no proof: taken for a failure, it could let the call
// pass.
func bound(checker AnswerChecker, a chain.Answer, body []byte, q question) chain.Answer {
	if checker == nil || a.Failure != nil || a.Outcome.Decision == chain.Deny {
		return a
	}
	if err := checker.CheckBoundAnswer(body, q.id, q.body); err != nil {
		return chain.Fail(chain.Malformed, fmt.Sprintf("gave an answer that is not shown to be to this call: %v", err), excerpt(body))
	}
	return a
}
