package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// collector collects every metric except the histograms of the configuration.
type collector struct{ *Metrics }

func (c collector) own() []prometheus.Collector {
	all := []prometheus.Collector{
		c.requests.total, c.requests.duration, c.requests.inFlight, c.requests.limit, c.unserved.total, c.clients.degradations, c.clients.refusals,
		c.build, c.reloads, c.good, c.authFailures, c.approvals.total, c.approvals.pending, c.approvals.up,
		c.audit.records, c.audit.withheld,
	}
	if c.certificate != nil {
		all = append(all, c.certificate)
	}
	return all
}

// Describe implements [prometheus.Collector].
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, own := range c.own() {
		own.Describe(ch)
	}
	for _, d := range c.shapes.descs() {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(ch chan<- prometheus.Metric) {
	for _, own := range c.own() {
		own.Collect(ch)
	}
	a := c.active.Load()
	if a == nil {
		return
	}
	for _, t := range a.tables() {
		t.collect(ch)
	}
	a.states.collect(c.shapes, ch)
	for agent, inFlight := range a.turnsInFlight {
		ch <- prometheus.MustNewConstMetric(c.shapes.turnsInFlight, prometheus.GaugeValue, float64(inFlight()), agent)
	}
	for caller, inFlight := range a.callersInFlight {
		ch <- prometheus.MustNewConstMetric(c.shapes.callersInFlight, prometheus.GaugeValue, float64(inFlight()), caller)
	}
	ch <- prometheus.MustNewConstMetric(c.shapes.configInfo, prometheus.GaugeValue, 1, a.sum)
	ch <- prometheus.MustNewConstMetric(c.shapes.configSince, prometheus.GaugeValue, float64(a.since.UnixMilli())/1000)
}

// histogramCollector collects the histograms of the configuration. It is an
// unchecked collector: each histogram has its labels in its own description.
type histogramCollector struct{ *Metrics }

// Describe implements [prometheus.Collector].
func (histogramCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c histogramCollector) Collect(ch chan<- prometheus.Metric) {
	if a := c.active.Load(); a != nil {
		for _, h := range a.histograms() {
			h.collect(ch)
		}
	}
}
