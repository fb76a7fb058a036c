package chain

import (
	"fmt"
	"strings"
)

// Cause classifies why there was no answer. The set is closed: it labels
// metrics, and operators alert on it. The zero Cause is NoCause.
type Cause uint8

// The causes: NoCause and Uncovered, then the failures.
const (
	// NoCause marks an outcome that the participants' answers made.
	NoCause Cause = iota
	// Uncovered marks the outcome of a call to which no participant applied. It is
	// not a failure.
	Uncovered
	// Timeout: the participant exceeded its own timeout.
	Timeout
	// Connect: no connection could be established.
	Connect
	// TLS: the TLS handshake failed.
	TLS
	// Auth: the participant was not asked, because its credential was unavailable.
	Auth
	// Reset: the connection ended before the answer was complete.
	Reset
	// Status: an HTTP status other than 200.
	Status
	// Redirect: an HTTP redirect, which is never followed.
	Redirect
	// Empty: the answer had no bytes, or only white space.
	Empty
	// Malformed: the answer could not be read as one decision.
	Malformed
	// Oversize: the answer exceeded its size limit.
	Oversize
	// WrongDecision: the decision is unknown, does not fit the event, or is one
	// that the participant promised not to make.
	WrongDecision
	// UnusableRewrite: a modify whose input is not a JSON object.
	UnusableRewrite
	// BreakerOpen: the participant was not asked, because it failed too often.
	BreakerOpen
	// Saturated: the participant was not asked, because too many calls to it are
	// in flight.
	Saturated
	// Spawn: the program could not be started.
	Spawn
	// Exit: the program exited with a status other than 0.
	Exit
	// Signal: a signal ended the program.
	Signal
	// Worker: a worker process violated its protocol or died.
	Worker
	// Error: in-process code returned an error.
	Error
	// Panic: in-process code panicked.
	Panic
	// Budget: the chain's budget was used up.
	Budget
	// Internal: a fault of the gateway itself.
	Internal
)

// Causes returns every cause that is a failure: all but NoCause and Uncovered.
func Causes() []Cause {
	all := make([]Cause, 0, Internal-Uncovered)
	for c := Uncovered + 1; c <= Internal; c++ {
		all = append(all, c)
	}
	return all
}

// ParseCause returns the cause with exactly this name. NoCause and Uncovered
// are causes too. With an error it returns Internal.
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

// String returns the cause's name in metrics and records.
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

// Failure is why a participant gave no answer. A failure deny and a policy deny
// stay distinguishable from here to the dashboard.
type Failure struct {
	// Cause classifies the failure.
	Cause Cause
	// Text continues a sentence that begins with the participant's name ("timed
	// out after 5000 ms"). The model sees it, so it carries nothing that an
	// endpoint sent.
	Text string
	// Detail is for the operator: addresses, headers, the start of a body. It goes
	// only to the log and the audit trail.
	Detail string
}

// Fail returns the Answer of a participant that failed.
func Fail(cause Cause, text, detail string) Answer {
	return Answer{Failure: &Failure{Cause: cause, Text: text, Detail: detail}}
}
