package transport

import (
	"context"
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
}

// question is one request as every sender puts it.
type question struct {
	body []byte
	// id names the question. It is the same where it is put a second time.
	id string
	// traceparent is empty where there is none.
	traceparent string
	deadline    time.Time
	// late is what a missed deadline is called: only a Timeout says something
	// about the endpoint.
	late chain.Cause
}

// reply is a response whose head was read, and as much of its body as matters.
type reply struct {
	status int
	// encoding and location are the headers of these names.
	encoding, location string
	// body is whole where the status is 200, else its beginning.
	body []byte
}

// sendFailure is why nothing came back. Its text reads on after the
// participant's name and carries nothing that the endpoint sent.
type sendFailure struct {
	cause chain.Cause
	text  string
	err   error // for the operator
}
