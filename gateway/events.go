package gateway

import (
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/metrics"
	"github.com/hookgate/hookgate/transport"
)

// events are what happens to an entry beside its answers, on its way to the
// metrics. They can begin before there are series to count them in.
type events struct {
	seen atomic.Pointer[counted]
}

// counted is where they are counted, and under which name.
type counted struct {
	name   string
	series *metrics.ParticipantObserver
}

// countedBy gives them their series. Those of a later plan count on in the same
// place, since series are shared by name.
func (e *events) countedBy(name string, series *metrics.ParticipantObserver) {
	e.seen.Store(&counted{name: name, series: series})
}

// name is that of the entry, for the log.
func (e *events) name() string {
	if seen := e.seen.Load(); seen != nil {
		return seen.name
	}
	return ""
}

// count counts one of them, if there are series.
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
	if seen := e.seen.Load(); seen != nil { // at every call, so without a closure
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

// warmed counts a try to warm the endpoint up.
func (e *events) warmed(passed bool) {
	e.count(func(o *metrics.ParticipantObserver) { o.WarmedUp(passed) })
}
