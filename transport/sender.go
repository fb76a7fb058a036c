package transport

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/internal/output"
)

// sender sends requests to one endpoint and returns its replies. It handles
// connections and HTTP, and does not interpret answers.
type sender interface {
	// send sends one request. It returns at the request's deadline, or as soon as
	// ctx is done. The failure is nil if there is a reply.
	send(ctx context.Context, q question) (reply, *sendFailure)
	// dropIdle closes the idle connections.
	dropIdle()
	// renew makes every later request use a connection that is opened after this
	// call. Requests in flight keep theirs.
	renew()
}

// question is one request to an endpoint, independent of the sender.
type question struct {
	body []byte
	// id identifies the request. A repeated request has the same id.
	id string
	// traceparent is empty if there is none.
	traceparent string
	// more are additional headers, by their canonical names.
	more     []field
	deadline time.Time
	// late is the cause of missing the deadline. Only Timeout says something about
	// the endpoint.
	late chain.Cause
	// given collects the secrets of the authorization. It is nil if there is none.
	given *output.Secrets
}

// field is a header of a request.
type field struct{ name, value string }

// left is the remaining time in milliseconds. It is at least 1, since an
// endpoint might read 0 as no limit.
func (q question) left() string {
	return strconv.FormatInt(max(1, time.Until(q.deadline).Milliseconds()), 10)
}

// sendFailure is why there is no reply. Its text continues a sentence that
// begins with the participant's name, and carries nothing that the endpoint
// sent.
type sendFailure struct {
	cause chain.Cause
	text  string
	err   error // for the operator
}

// What a request may still lack when its time is up.
const (
	aSignature      = "a signature"
	anAuthorization = "a credential"
	aConnection     = "a connection"
	aHead           = "the headers of the answer"
	anEnd           = "the end of the answer"
)

func outOfTime(without string, err error) *sendFailure {
	return &sendFailure{cause: chain.Timeout, text: "did not answer in time", err: fmt.Errorf("the deadline passed while waiting for %s: %w", without, err)}
}

func unreachable(err error) *sendFailure {
	if _, ok := errors.AsType[*notPermitted](err); ok {
		return &sendFailure{cause: chain.Connect, text: "could not be reached: the gateway's operator does not allow hooks to connect to its address", err: err}
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
	return &sendFailure{cause: chain.Reset, text: "closed the connection before its answer was complete", err: err}
}

func notHTTP(err error) *sendFailure {
	return &sendFailure{cause: chain.Malformed, text: "did not answer with valid HTTP", err: err}
}
