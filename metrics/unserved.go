package metrics

import "github.com/prometheus/client_golang/prometheus"

// Unserved is why a connection to the main listener ended without a request, or
// behind its last one with what became none. The zero Unserved is no reason.
type Unserved uint8

// The reasons.
const (
	// UnservedSilent said nothing.
	UnservedSilent Unserved = iota + 1
	// UnservedHandshake said something, but no TLS connection came of it.
	UnservedHandshake
	// UnservedMalformed said what the server refuses: no HTTP, headers that are too
	// large or end in the midst, a coding or an expectation that it does not know.
	UnservedMalformed
	// UnservedTimeout did not say all of a request's headers in time.
	UnservedTimeout
)

// String returns the reason as it stands in labels.
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
			Help: "Connections to the main listener that ended without a request, or with what became none: silent, without a TLS handshake, malformed (too large and cut off too), or not whole in time.",
		}, []string{"why"}),
		known: map[Unserved]prometheus.Counter{},
	}
	for why := UnservedSilent; why <= UnservedTimeout; why++ {
		u.known[why] = u.total.WithLabelValues(why.String())
	}
	return u
}

// Unserved counts a connection that was not served. What is no reason counts
// nothing.
func (m *Metrics) Unserved(why Unserved) {
	if c, ok := m.unserved.known[why]; ok {
		c.Inc()
	}
}
