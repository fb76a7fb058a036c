package metrics

import "github.com/prometheus/client_golang/prometheus"

// auditTrail are the metrics of the audit trail. Its sinks are fixed when the
// process starts.
type auditTrail struct {
	records  *prometheus.CounterVec
	withheld prometheus.Counter
	sinks    map[string]auditSink
}

type auditSink struct{ written, dropped, failed prometheus.Counter }

func newAuditTrail(sinks []string) *auditTrail {
	a := &auditTrail{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "audit_records_total",
			Help: "Audit records by sink: written, dropped (its queue was full) or failed (the sink could not write them).",
		}, []string{"sink", "result"}),
		withheld: prometheus.NewCounter(prometheus.CounterOpts{
			Name: namespace + "audit_withheld_total",
			Help: "Decisions that were replaced by a deny because their required audit record was not durable.",
		}),
		sinks: map[string]auditSink{},
	}
	for _, name := range sinks {
		label := clean(name)
		a.sinks[name] = auditSink{
			a.records.WithLabelValues(label, "written"), a.records.WithLabelValues(label, "dropped"), a.records.WithLabelValues(label, "failed"),
		}
	}
	return a
}

// AuditObserver counts audit records. It is safe for concurrent use.
type AuditObserver struct{ trail *auditTrail }

// Audit returns the observer of the audit trail.
func (m *Metrics) Audit() AuditObserver { return AuditObserver{m.audit} }

// Written counts records that a sink stored. It ignores a sink that is not in
// [Options].AuditSinks.
func (o AuditObserver) Written(sink string, records int) {
	if s, ok := o.trail.sinks[sink]; ok {
		s.written.Add(float64(records))
	}
}

// Dropped counts records that were dropped because the queue of a sink was
// full.
func (o AuditObserver) Dropped(sink string, records int) {
	if s, ok := o.trail.sinks[sink]; ok {
		s.dropped.Add(float64(records))
	}
}

// Failed counts records that a sink failed to store.
func (o AuditObserver) Failed(sink string, records int) {
	if s, ok := o.trail.sinks[sink]; ok {
		s.failed.Add(float64(records))
	}
}

// Withheld counts a decision that became a deny because its record was not
// safe.
func (o AuditObserver) Withheld() { o.trail.withheld.Inc() }
