package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// remoteShapes describe the metrics of connections to remote participants, and
// of requests that belong to no tool call (warm-up pings and canaries).
type remoteShapes struct {
	firstCalls, warmups              *shape
	connections, retries, handshakes *shape
	canaries                         *shape
}

func newRemoteShapes() remoteShapes {
	return remoteShapes{
		firstCalls: newShape("hook_first_calls_total",
			"Calls to a cold endpoint: prompt if it answered within timeout_ms, slow if only within first_call_timeout_ms, else failed.",
			[]string{"hook"}, []string{"result"}, firstCallColumns()),
		warmups: newShape("hook_warmups_total",
			"Pings that warm up an endpoint: passed if it answered with a decision, else failed. Nobody acts on that decision.",
			[]string{"hook"}, []string{"result"}, passColumns()),
		connections: newShape("hook_connections_total",
			"Requests to an endpoint, by the connection that carried them: new or reused.",
			[]string{"hook"}, []string{"connection"}, [][]string{{"new"}, {"reused"}}),
		retries: newShape("hook_retries_total",
			"Requests that were repeated because their reused connection was dead.",
			[]string{"hook"}, nil, [][]string{{}}),
		handshakes: newShape("hook_handshake_failures_total",
			"Failed TLS handshakes with an endpoint: certificate (not valid), refused (our certificate or parameters), timeout, else broken.",
			[]string{"hook"}, []string{"why"}, handshakeColumns()),
		canaries: newShape("hook_canary_checks_total",
			"Canary checks of the hook: passed if it denied the call, failed if it answered otherwise or not at all.",
			[]string{"hook"}, []string{"result"}, passColumns()),
	}
}

func (s *remoteShapes) descs() []*prometheus.Desc {
	return []*prometheus.Desc{s.firstCalls.desc, s.warmups.desc, s.connections.desc, s.retries.desc, s.handshakes.desc, s.canaries.desc}
}

// remoteTables are the series of remoteShapes in one configuration.
type remoteTables struct {
	firstCalls, warmups              table
	connections, retries, handshakes table
	canaries                         table
}

// tables returns tables without rows, which will take over the counts of
// before.
func (s *remoteShapes) tables(before *remoteTables) remoteTables {
	return remoteTables{
		firstCalls:  newTable(s.firstCalls, &before.firstCalls),
		warmups:     newTable(s.warmups, &before.warmups),
		connections: newTable(s.connections, &before.connections),
		retries:     newTable(s.retries, &before.retries),
		handshakes:  newTable(s.handshakes, &before.handshakes),
		canaries:    newTable(s.canaries, &before.canaries),
	}
}

func (t *remoteTables) all() []*table {
	return []*table{&t.firstCalls, &t.warmups, &t.connections, &t.retries, &t.handshakes, &t.canaries}
}

// Handshake is why a TLS handshake failed. The zero Handshake is invalid.
type Handshake uint8

// The reasons.
const (
	HandshakeCertificate Handshake = iota + 1
	HandshakeRefused
	HandshakeTimeout
	HandshakeBroken
)

// String returns the reason's label value.
func (h Handshake) String() string {
	switch h {
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

func handshakeColumns() [][]string {
	var columns [][]string
	for h := HandshakeCertificate; h <= HandshakeBroken; h++ {
		columns = append(columns, []string{h.String()})
	}
	return columns
}

// handshakeColumn is the column for a failed handshake. A value that is out of
// range counts as broken.
func handshakeColumn(h Handshake) int {
	if h < HandshakeCertificate || h > HandshakeBroken {
		h = HandshakeBroken
	}
	return int(h - HandshakeCertificate)
}

// firstCallColumn is the column for a call that found the participant cold.
func firstCallColumn(o *ParticipantObserver, took time.Duration, answered bool) int {
	switch {
	case !answered:
		return 2
	case o.timeout > 0 && took > o.timeout:
		return 1
	}
	return 0
}

func firstCallColumns() [][]string { return [][]string{{"prompt"}, {"slow"}, {"failed"}} }

// passColumn is the column for a check that passed or failed.
func passColumn(passed bool) int {
	if passed {
		return 0
	}
	return 1
}

func passColumns() [][]string { return [][]string{{"passed"}, {"failed"}} }

// firstOf is the set of the first n columns.
func firstOf(n int) columns { return 1<<n - 1 }

// FirstCall counts a call that found the participant cold: answered within its
// usual timeout, answered later, or not answered.
func (o *ParticipantObserver) FirstCall(took time.Duration, answered bool) {
	o.firstCalls.inc(firstCallColumn(o, took, answered))
}

// WarmedUp counts a warm-up ping.
func (o *ParticipantObserver) WarmedUp(passed bool) { o.warmups.inc(passColumn(passed)) }

// Connected counts a request by whether its connection was reused.
func (o *ParticipantObserver) Connected(reused bool) {
	if reused {
		o.connections.inc(1)
	} else {
		o.connections.inc(0)
	}
}

// Repeated counts a request that is sent a second time.
func (o *ParticipantObserver) Repeated() { o.retries.inc(0) }

// HandshakeFailed counts a failed TLS handshake.
func (o *ParticipantObserver) HandshakeFailed(why Handshake) { o.handshakes.inc(handshakeColumn(why)) }

// CanaryChecked counts a canary call, which the participant must deny.
func (o *ParticipantObserver) CanaryChecked(passed bool) { o.canaries.inc(passColumn(passed)) }

// way creates the series of the connection to a participant.
func (d *draft) way(o *ParticipantObserver, name string, p *Participant) {
	if p.CanaryPassing != nil {
		o.canaries = d.remote.canaries.row(names{name}, firstOf(len(passColumns())))
	}
	if p.Binding != Webhook {
		return
	}
	o.connections = d.remote.connections.row(names{name}, firstOf(2))
	o.retries = d.remote.retries.row(names{name}, firstOf(1))
	if p.TLS {
		o.handshakes = d.remote.handshakes.row(names{name}, firstOf(len(handshakeColumns())))
	}
	o.firstCalls = d.remote.firstCalls.row(names{name}, firstOf(len(firstCallColumns())))
	if p.WarmsUp {
		o.warmups = d.remote.warmups.row(names{name}, firstOf(len(passColumns())))
	}
}
