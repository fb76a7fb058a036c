package transport

import (
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// WebhookObserver is told what happens to one remote participant.
type WebhookObserver interface {
	// Transition is told of each change of the breaker's state. It is called
	// under the breaker's lock, from calls and from Status: it must not block,
	// nor ask the webhook anything.
	Transition(from, to BreakerState)
	// FirstCall is told of each call that found the endpoint cold, unless it
	// counts for nothing: how long it took, and whether it was answered.
	FirstCall(took time.Duration, answered bool)
	// Connected is told of each question over which kind of connection it goes.
	Connected(reused bool)
	// Repeated is told of each question that is put a second time, since the
	// connection that it met was dead.
	Repeated()
	// HandshakeFailed is told of each TLS handshake that came to nothing.
	HandshakeFailed(why HandshakeFailure)
}

// HandshakeFailure is why a TLS handshake came to nothing. The zero
// HandshakeFailure is no reason.
type HandshakeFailure uint8

// The reasons.
const (
	// HandshakeCertificate is a certificate of the endpoint that proves nothing:
	// of another name, over, or of nobody who is trusted.
	HandshakeCertificate HandshakeFailure = iota + 1
	// HandshakeRefused is an endpoint that refuses what it is offered, a
	// certificate of ours among that.
	HandshakeRefused
	// HandshakeTimeout is one that was not over in time.
	HandshakeTimeout
	// HandshakeBroken is anything else, such as an endpoint without TLS.
	HandshakeBroken
)

// String returns the reason as it stands in metrics.
func (f HandshakeFailure) String() string {
	switch f {
	case HandshakeCertificate:
		return "certificate"
	case HandshakeRefused:
		return "refused"
	case HandshakeTimeout:
		return "timeout"
	case HandshakeBroken:
		return "broken"
	}
	return "unset"
}

// handshakeFailure is what an error of a handshake says.
func handshakeFailure(err error) HandshakeFailure {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	late, isNet := errors.AsType[net.Error](err)
	switch {
	case untrusted:
		return HandshakeCertificate
	case isOp && op.Op == "remote error":
		return HandshakeRefused
	case isNet && late.Timeout():
		return HandshakeTimeout
	}
	return HandshakeBroken
}

// observerOf is who observes, which may be nobody.
func observerOf(o WebhookOptions) WebhookObserver {
	if o.Observer == nil {
		return unobserved{}
	}
	return o.Observer
}

// unobserved is nobody who observes.
type unobserved struct{}

func (unobserved) Transition(_, _ BreakerState) {}

func (unobserved) FirstCall(time.Duration, bool) {}

func (unobserved) Connected(bool) {}

func (unobserved) Repeated() {}

func (unobserved) HandshakeFailed(HandshakeFailure) {}
