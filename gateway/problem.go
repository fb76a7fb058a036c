package gateway

import (
	"net/http"
	"strconv"

	"github.com/hookgate/hookgate/chain"
)

// problem is a response that is not a decision of a chain: an RFC 9457 problem
// that is also a deny of the contract (G1).
type problem struct {
	status int
	title  string
	detail string
	// retryAfter is in seconds; 0 leaves the header out.
	retryAfter int
	// closeConnection closes the connection after the response, because the
	// rest of the request was not read.
	closeConnection bool
	// challenge is the WWW-Authenticate header; empty omits it.
	challenge string
}

func (p *problem) write(w http.ResponseWriter) {
	p.head(w)
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	body := append([]byte(`{"type":"about:blank","title":`), chain.AppendString(nil, p.title)...)
	body = append(body, `,"status":`...)
	body = strconv.AppendInt(body, int64(p.status), 10)
	body = append(body, `,"detail":`...)
	body = chain.AppendString(body, p.detail)
	body = append(body, `,"decision":"deny","reason":`...)
	body = chain.AppendString(body, p.reason())
	body = append(body, '}')
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	_, _ = w.Write(body) // a caller that is gone cannot be told
}

// head sets the headers of a problem, whatever the format of its body.
func (p *problem) head(w http.ResponseWriter) {
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if p.closeConnection {
		w.Header().Set("Connection", "close")
	}
	if p.challenge != "" {
		w.Header().Set("WWW-Authenticate", p.challenge)
	}
}

// reason returns the problem as the reason of a deny.
func (p *problem) reason() string { return "the gateway refused the request: " + p.detail }

func malformedRequest(err error) *problem {
	return &problem{status: http.StatusBadRequest, title: "Invalid request", detail: "the body is not a valid request: " + err.Error()}
}

func internalProblem() *problem {
	return &problem{status: http.StatusInternalServerError, title: "Internal fault", detail: "the gateway had an internal fault; its log has the details"}
}

func notReady() *problem {
	return &problem{status: http.StatusServiceUnavailable, title: "Not ready", detail: "the gateway has no configuration in force", retryAfter: 1}
}
