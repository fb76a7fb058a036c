package metrics

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Caller is one caller of a configuration that tells callers apart.
type Caller struct {
	// Name labels its series.
	Name string
	// InFlight counts its requests under way. It is called for every scrape,
	// from any goroutine.
	InFlight func() int
}

func (c *Caller) check() error {
	switch {
	case c.Name == "":
		return errors.New("has no name")
	case c.InFlight == nil:
		return fmt.Errorf("%q has nothing that counts its requests", c.Name)
	}
	return nil
}

// Admission is what became of a request of a caller who is known. The zero
// Admission is a refusal.
type Admission uint8

// The admissions.
const (
	// RefusedScope is something that the caller may not do.
	RefusedScope Admission = iota
	// RefusedChain is a chain that the caller does not reach.
	RefusedChain
	// RefusedRate and RefusedInFlight are limits of the caller.
	RefusedRate
	RefusedInFlight
	// Admitted is a request that was let in.
	Admitted
)

// Admissions returns every admission.
func Admissions() []Admission {
	return []Admission{RefusedScope, RefusedChain, RefusedRate, RefusedInFlight, Admitted}
}

// String returns the admission as it stands in labels.
func (a Admission) String() string {
	switch a {
	case RefusedChain:
		return "chain"
	case RefusedRate:
		return "rate"
	case RefusedInFlight:
		return "in_flight"
	case Admitted:
		return "admitted"
	case RefusedScope:
	}
	return "scope"
}

func admissionColumns() [][]string {
	var columns [][]string
	for _, a := range Admissions() {
		columns = append(columns, []string{a.String()})
	}
	return columns
}

// CallerObserver counts what one caller does. It is safe for concurrent use,
// before and after its configuration was active.
type CallerObserver struct{ requests *row }

// Came counts a request of the caller.
func (o *CallerObserver) Came(a Admission) {
	if a > Admitted {
		a = RefusedScope
	}
	o.requests.inc(int(a))
}

// caller makes the series of a caller.
func (d *draft) caller(c *Caller) *CallerObserver {
	name := clean(c.Name)
	d.callersInFlight[name] = c.InFlight
	return &CallerObserver{requests: d.callers.row(names{name}, 1<<len(Admissions())-1)}
}

// newAuthFailures makes the counter of requests by which nobody is known, and
// its series by reason.
func newAuthFailures(reasons []string) (*prometheus.CounterVec, map[string]prometheus.Counter) {
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: namespace + "auth_failures_total",
		Help: "Requests that were refused because nobody is known by them, by reason.",
	}, []string{"reason"})
	known := make(map[string]prometheus.Counter, len(reasons))
	for _, reason := range reasons {
		known[reason] = total.WithLabelValues(clean(reason))
	}
	return total, known
}

// AuthFailed counts a request by which nobody is known. A reason that is none of
// [Options].AuthReasons counts nothing.
func (m *Metrics) AuthFailed(reason string) {
	if c, ok := m.authReasons[reason]; ok {
		c.Inc()
	}
}
