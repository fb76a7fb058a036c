package gateway

import (
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/metrics"
	"github.com/hookgate/hookgate/transport"
)

// events passes what happens to an entry, apart from its answers, to the
// metrics. Events can occur before there are series to count them in; those are
// dropped.
type events struct {
	seen atomic.Pointer[counted]
}

// counted is the series that count the events, and the entry's name.
type counted struct {
	name   string
	series *metrics.ParticipantObserver
}

// countedBy sets the series. A later plan's series continue the same counts,
// because series are shared by name.
func (e *events) countedBy(name string, series *metrics.ParticipantObserver) {
	e.seen.Store(&counted{name: name, series: series})
}

// name returns the entry's name, for the log.
func (e *events) name() string {
	if seen := e.seen.Load(); seen != nil {
		return seen.name
	}
	return ""
}

// count counts one event, if there are series.
func (e *events) count(in func(*metrics.ParticipantObserver)) {
	if seen := e.seen.Load(); seen != nil {
		in(seen.series)
	}
}

// Transition implements [transport.WebhookObserver].
func (e *events) Transition(from, to transport.BreakerState) {
	e.count(func(o *metrics.ParticipantObserver) { o.Transition(breakerState(from), breakerState(to)) })
}

// FirstCall implements [transport.WebhookObserver].
func (e *events) FirstCall(took time.Duration, answered bool) {
	e.count(func(o *metrics.ParticipantObserver) { o.FirstCall(took, answered) })
}

// Connected implements [transport.WebhookObserver].
func (e *events) Connected(reused bool) {
	if seen := e.seen.Load(); seen != nil { // runs for every call, so it avoids a closure
		seen.series.Connected(reused)
	}
}

// Repeated implements [transport.WebhookObserver].
func (e *events) Repeated() { e.count((*metrics.ParticipantObserver).Repeated) }

// HandshakeFailed implements [transport.WebhookObserver].
func (e *events) HandshakeFailed(why transport.HandshakeFailure) {
	e.count(func(o *metrics.ParticipantObserver) { o.HandshakeFailed(handshake(why)) })
}

func handshake(why transport.HandshakeFailure) metrics.Handshake {
	switch why {
	case transport.HandshakeCertificate:
		return metrics.HandshakeCertificate
	case transport.HandshakeRefused:
		return metrics.HandshakeRefused
	case transport.HandshakeTimeout:
		return metrics.HandshakeTimeout
	case transport.HandshakeBroken:
		return metrics.HandshakeBroken
	}
	return 0
}

// checked counts a check of the canary.
func (e *events) checked(passed bool) {
	e.count(func(o *metrics.ParticipantObserver) { o.CanaryChecked(passed) })
}

// warmed counts an attempt to warm the endpoint up.
func (e *events) warmed(passed bool) {
	e.count(func(o *metrics.ParticipantObserver) { o.WarmedUp(passed) })
}
