package transport

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// sender carries questions to one endpoint and brings back what it said. It
// knows connections and HTTP; what an answer means is not its business.
type sender interface {
	// send puts one question. It returns at the question's deadline, or as
	// soon as ctx ends; the failure is nil where a reply came.
	send(ctx context.Context, q question) (reply, *sendFailure)
	// dropIdle closes the connections that nobody uses at the moment.
	dropIdle()
	// renew has every later question go over a connection that is opened after
	// this. Those under way keep theirs.
	renew()
}

// question is one request as every sender puts it.
type question struct {
	body []byte
	// id names the question. It is the same where it is put a second time.
	id string
	// traceparent is empty where there is none.
	traceparent string
	// more are headers of this question alone, by their canonical names.
	more     []field
	deadline time.Time
	// late is what a missed deadline is called: only a Timeout says something
	// about the endpoint.
	late chain.Cause
	// given takes what the question is authorized with; nil where it is not.
	given *secrets
}

// field is a header of a question.
type field struct{ name, value string }

// left is how many milliseconds an answer may still take: one at least, since
// an endpoint may read none as no limit.
func (q question) left() string {
	return strconv.FormatInt(max(1, time.Until(q.deadline).Milliseconds()), 10)
}

// sendFailure is why nothing came back. Its text reads on after the
// participant's name and carries nothing that the endpoint sent.
type sendFailure struct {
	cause chain.Cause
	text  string
	err   error // for the operator
}

// What a question can still be without when its time ends.
const (
	aSignature      = "a signature"
	anAuthorization = "a credential"
	aConnection     = "a connection"
	aHead           = "the head of an answer"
	anEnd           = "the end of the answer"
)

func outOfTime(without string, err error) *sendFailure {
	return &sendFailure{cause: chain.Timeout, text: "did not answer in time", err: fmt.Errorf("still without %s: %w", without, err)}
}

func unreachable(err error) *sendFailure {
	if _, ok := errors.AsType[*notPermitted](err); ok {
		return &sendFailure{cause: chain.Connect, text: "could not be reached: the gateway's operator does not let hooks connect to its address", err: err}
	}
	return &sendFailure{cause: chain.Connect, text: "could not be reached", err: err}
}

func bodyTooLong(limit int64, err error) *sendFailure {
	return &sendFailure{cause: chain.Oversize, text: fmt.Sprintf("answered with more than %d bytes", limit), err: err}
}

func headTooLong(err error) *sendFailure {
	return &sendFailure{cause: chain.Oversize, text: fmt.Sprintf("answered with more than %d bytes of headers", maxHeaderBytes), err: err}
}

func brokenOff(err error) *sendFailure {
	return &sendFailure{cause: chain.Reset, text: "closed the connection before a whole answer", err: err}
}

func notHTTP(err error) *sendFailure {
	return &sendFailure{cause: chain.Malformed, text: "did not answer in HTTP", err: err}
}
