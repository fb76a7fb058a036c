package metrics

import "github.com/prometheus/client_golang/prometheus"

// Unserved is why a connection to the main listener ended without a request, or
// why its last input did not become one. The zero Unserved is not a reason.
type Unserved uint8

// The reasons.
const (
	// UnservedSilent is a connection on which the client sent nothing.
	UnservedSilent Unserved = iota + 1
	// UnservedHandshake is a TLS handshake that failed.
	UnservedHandshake
	// UnservedMalformed is input that the HTTP server refuses: not HTTP, headers
	// that are too large or cut off, an unknown coding or expectation.
	UnservedMalformed
	// UnservedTimeout is a request whose headers did not arrive in time.
	UnservedTimeout
)

// String returns the reason as a label value.
func (u Unserved) String() string {
	switch u {
	case UnservedSilent:
		return "silent"
	case UnservedHandshake:
		return "handshake"
	case UnservedMalformed:
		return "malformed"
	case UnservedTimeout:
		return "timeout"
	}
	return "unset"
}

// unserved counts connections by reason.
type unserved struct {
	total *prometheus.CounterVec
	known map[Unserved]prometheus.Counter
}

func newUnserved() *unserved {
	u := &unserved{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "http_unserved_connections_total",
			Help: "Connections to the main listener that ended without a request, or whose last input did not become one: silent, failed TLS handshake, malformed (or headers too large or cut off), headers not received in time.",
		}, []string{"why"}),
		known: map[Unserved]prometheus.Counter{},
	}
	for why := UnservedSilent; why <= UnservedTimeout; why++ {
		u.known[why] = u.total.WithLabelValues(why.String())
	}
	return u
}

// Unserved counts a connection that ended without a request. A value that is not a
// reason counts nothing.
func (m *Metrics) Unserved(why Unserved) {
	if c, ok := m.unserved.known[why]; ok {
		c.Inc()
	}
}
