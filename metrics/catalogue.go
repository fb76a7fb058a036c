package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// active is the configuration whose series are exposed.
type active struct {
	*catalogue
	since time.Time
}

// catalogue holds every series of one configuration.
type catalogue struct {
	sum string

	decisions, denials                              table
	answers, failures, failOpen, flips, transitions table
	turns, permissions, callers                     table
	remote                                          remoteTables

	decisionDurations, hookDurations, turnDurations histograms

	states states
	// turnsInFlight returns the turns in flight of each agent at the time of a
	// scrape (M7).
	turnsInFlight map[string]func() int
	// callersInFlight returns the requests in flight of each caller at the time of
	// a scrape.
	callersInFlight map[string]func() int
}

// catalogue returns an empty catalogue whose series will take over the counts
// of before.
func (s *shapes) catalogue(before *catalogue) *catalogue {
	return &catalogue{
		decisions:         newTable(s.decisions, &before.decisions),
		denials:           newTable(s.denials, &before.denials),
		answers:           newTable(s.answers, &before.answers),
		failures:          newTable(s.failures, &before.failures),
		failOpen:          newTable(s.failOpen, &before.failOpen),
		flips:             newTable(s.flips, &before.flips),
		transitions:       newTable(s.transitions, &before.transitions),
		turns:             newTable(s.turns, &before.turns),
		permissions:       newTable(s.permissions, &before.permissions),
		callers:           newTable(s.callers, &before.callers),
		remote:            s.remote.tables(&before.remote),
		decisionDurations: newHistograms(s.decisionDurations, [2]string{"chain", "event"}, &before.decisionDurations),
		hookDurations:     newHistograms(s.hookDurations, [2]string{"hook", "binding"}, &before.hookDurations),
		turnDurations:     newHistograms(s.turnDurations, [2]string{"agent"}, &before.turnDurations),
		states:            states{},
		turnsInFlight:     map[string]func() int{},
		callersInFlight:   map[string]func() int{},
	}
}

func (c *catalogue) tables() []*table {
	own := []*table{&c.decisions, &c.denials, &c.answers, &c.failures, &c.failOpen, &c.flips, &c.transitions, &c.turns, &c.permissions, &c.callers}
	return append(own, c.remote.all()...)
}

func (c *catalogue) histograms() []*histograms {
	return []*histograms{&c.decisionDurations, &c.hookDurations, &c.turnDurations}
}

// made releases the previous catalogue.
func (c *catalogue) made() {
	for _, t := range c.tables() {
		t.made()
	}
	for _, h := range c.histograms() {
		h.made()
	}
}

// states are the participants whose state is read at the time of a scrape (M7),
// by the value of their label.
type states map[string]*readers

type readers struct {
	all        []func() State
	hasBreaker bool
	canaries   []func() bool
	timeout    time.Duration // the shortest; zero if there is none
	// certificates are the earliest expiry times, by kind.
	certificates map[Certificate]time.Time
}

func (s states) add(name string, p *Participant) {
	r := s[name]
	if r == nil {
		r = &readers{certificates: map[Certificate]time.Time{}}
		s[name] = r
	}
	r.all = append(r.all, p.State)
	if p.Timeout > 0 && (r.timeout == 0 || p.Timeout < r.timeout) {
		r.timeout = p.Timeout
	}
	r.hasBreaker = r.hasBreaker || p.HasBreaker
	for kind, ends := range p.Certificates {
		if first, ok := r.certificates[kind]; !ok || ends.Before(first) {
			r.certificates[kind] = ends
		}
	}
	if p.CanaryPassing != nil {
		r.canaries = append(r.canaries, p.CanaryPassing)
	}
}

// passing is 1 if every canary passes, and otherwise 0.
func (r *readers) passing() float64 {
	for _, passing := range r.canaries {
		if !passing() {
			return 0
		}
	}
	return 1
}

// collect reads every state once. For participants that share a name, the calls
// in flight are added up, and a breaker state is 1 if one of their breakers is
// in it.
func (s states) collect(shapes *shapes, ch chan<- prometheus.Metric) {
	for name, r := range s {
		inFlight := 0
		in := map[BreakerState]float64{}
		nextTry := 0.0
		for _, read := range r.all {
			state := read()
			inFlight += state.InFlight
			in[state.Breaker] = 1
			if !state.NextTry.IsZero() {
				nextTry = max(nextTry, float64(state.NextTry.UnixMilli())/1000)
			}
		}
		ch <- prometheus.MustNewConstMetric(shapes.inFlight, prometheus.GaugeValue, float64(inFlight), name)
		if r.timeout > 0 {
			ch <- prometheus.MustNewConstMetric(shapes.hookTimeout, prometheus.GaugeValue, r.timeout.Seconds(), name)
		}
		for kind, ends := range r.certificates {
			ch <- prometheus.MustNewConstMetric(shapes.certificateExpiry, prometheus.GaugeValue, float64(ends.Unix()), name, kind.String())
		}
		if len(r.canaries) > 0 {
			ch <- prometheus.MustNewConstMetric(shapes.canaryPassing, prometheus.GaugeValue, r.passing(), name)
		}
		if !r.hasBreaker {
			continue
		}
		for _, b := range BreakerStates() {
			ch <- prometheus.MustNewConstMetric(shapes.breakerState, prometheus.GaugeValue, in[b], name, b.String())
		}
		ch <- prometheus.MustNewConstMetric(shapes.breakerNextTry, prometheus.GaugeValue, nextTry, name)
	}
}
