package transport

import (
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// WebhookObserver is told what happens to one remote participant. It must be
// safe for concurrent use.
type WebhookObserver interface {
	// Transition is called with each change of the breaker's state. It is called
	// with the breaker's lock held, during calls and Status: it must not block or
	// call the webhook.
	Transition(from, to BreakerState)
	// FirstCall is called after each counted call that found the endpoint cold,
	// with its duration and whether it was answered.
	FirstCall(took time.Duration, answered bool)
	// Connected is called for each request with whether its connection is reused.
	Connected(reused bool)
	// Repeated is called when a request is sent a second time because its
	// connection was dead.
	Repeated()
	// HandshakeFailed is called for each failed TLS handshake.
	HandshakeFailed(why HandshakeFailure)
}

// HandshakeFailure is why a TLS handshake failed. The zero HandshakeFailure is
// invalid.
type HandshakeFailure uint8

// The reasons.
const (
	// HandshakeCertificate means that the endpoint's certificate is not valid:
	// wrong name, expired, or not signed by a trusted authority.
	HandshakeCertificate HandshakeFailure = iota + 1
	// HandshakeRefused means that the endpoint sent an alert, for example because
	// it refused the client certificate.
	HandshakeRefused
	// HandshakeTimeout means that the handshake did not finish in time.
	HandshakeTimeout
	// HandshakeBroken is any other failure, such as an endpoint that does not
	// speak TLS.
	HandshakeBroken
)

// String returns the reason's name in metrics.
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

// handshakeFailure classifies an error of a handshake.
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

// observerOf returns the observer of o, or one that does nothing.
func observerOf(o WebhookOptions) WebhookObserver {
	if o.Observer == nil {
		return unobserved{}
	}
	return o.Observer
}

// unobserved is a WebhookObserver that does nothing.
type unobserved struct{}

func (unobserved) Transition(_, _ BreakerState) {}

func (unobserved) FirstCall(time.Duration, bool) {}

func (unobserved) Connected(bool) {}

func (unobserved) Repeated() {}

func (unobserved) HandshakeFailed(HandshakeFailure) {}
