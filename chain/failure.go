package chain

import (
	"fmt"
	"strings"
)

// Cause is why there was no answer. The set is closed: it labels metrics and
// is what operators alert on. The zero Cause is NoCause.
type Cause uint8

// The causes.
const (
	// NoCause marks an outcome that answers made.
	NoCause Cause = iota
	// Uncovered marks an outcome that no participant made, since none applied.
	// It is not a failure.
	Uncovered
	// Timeout: the participant's own time ran out.
	Timeout
	// Connect: no connection could be had.
	Connect
	// TLS: the handshake failed.
	TLS
	// Auth: no credential could be had to ask it with, so that it was not.
	Auth
	// Reset: the connection ended before a whole answer.
	Reset
	// Status: an HTTP status other than 200.
	Status
	// Redirect: an HTTP redirect, which is never followed.
	Redirect
	// Empty: an answer of no bytes, or of blanks.
	Empty
	// Malformed: an answer that cannot be read as one decision.
	Malformed
	// Oversize: an answer over its limit.
	Oversize
	// WrongDecision: a decision that is unknown, that does not fit the event,
	// or that the participant promised not to make.
	WrongDecision
	// UnusableRewrite: a modify whose input is not a JSON object.
	UnusableRewrite
	// BreakerOpen: not asked, because it failed too often just now.
	BreakerOpen
	// Saturated: not asked, because too many calls to it are in flight.
	Saturated
	// Spawn: the program could not be started.
	Spawn
	// Exit: the program ended with a status other than 0.
	Exit
	// Signal: the program was ended by a signal.
	Signal
	// Worker: a worker process broke its protocol or died.
	Worker
	// Error: in-process code returned an error.
	Error
	// Panic: in-process code panicked.
	Panic
	// Budget: the chain's time ran out.
	Budget
	// Internal: a fault of the gateway itself.
	Internal
)

// Causes returns every failure cause: all but NoCause and Uncovered.
func Causes() []Cause {
	all := make([]Cause, 0, Internal-Uncovered)
	for c := Uncovered + 1; c <= Internal; c++ {
		all = append(all, c)
	}
	return all
}

// ParseCause returns the cause of that exact name, which may be one that is no
// failure.
func ParseCause(name string) (Cause, error) {
	known := make([]string, 0, Internal+1)
	for c := NoCause; c <= Internal; c++ {
		if c.String() == name {
			return c, nil
		}
		known = append(known, c.String())
	}
	return Internal, fmt.Errorf("cause %.40q is not one of %s", name, strings.Join(known, ", "))
}

// String returns the cause as it stands in metrics and records.
func (c Cause) String() string {
	switch c {
	case NoCause:
		return "none"
	case Uncovered:
		return "uncovered"
	case Timeout:
		return "timeout"
	case Connect:
		return "connect"
	case TLS:
		return "tls"
	case Auth:
		return "auth"
	case Reset:
		return "reset"
	case Status:
		return "status"
	case Redirect:
		return "redirect"
	case Empty:
		return "empty"
	case Malformed:
		return "malformed"
	case Oversize:
		return "oversize"
	case WrongDecision:
		return "wrong_decision"
	case UnusableRewrite:
		return "unusable_rewrite"
	case BreakerOpen:
		return "breaker_open"
	case Saturated:
		return "saturated"
	case Spawn:
		return "spawn"
	case Exit:
		return "exit"
	case Signal:
		return "signal"
	case Worker:
		return "worker"
	case Error:
		return "error"
	case Panic:
		return "panic"
	case Budget:
		return "budget"
	case Internal:
		return "internal"
	}
	return "internal"
}

// Failure is why a participant gave no answer. "Could not decide" is kept
// apart from "no" from here to the dashboard.
type Failure struct {
	// Cause is its class.
	Cause Cause
	// Text reads on after the participant's name ("timed out after 5000 ms").
	// It reaches the model: it carries nothing that an endpoint sent.
	Text string
	// Detail is for the operator alone: addresses, headers, the start of a
	// body. It goes to the log and the audit trail.
	Detail string
}

// Fail returns the answer of a participant that gave none.
func Fail(cause Cause, text, detail string) Answer {
	return Answer{Failure: &Failure{Cause: cause, Text: text, Detail: detail}}
}
