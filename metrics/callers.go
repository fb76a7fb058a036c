package metrics

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Caller describes an authenticated caller of a configuration.
type Caller struct {
	// Name is the value of its series' label.
	Name string
	// InFlight returns how many of its requests are in flight. It is called on
	// every scrape and must be safe for concurrent use.
	InFlight func() int
}

func (c *Caller) check() error {
	switch {
	case c.Name == "":
		return errors.New("has no name")
	case c.InFlight == nil:
		return fmt.Errorf("%q has no counter of its requests", c.Name)
	}
	return nil
}

// Admission says whether a request of an authenticated caller was admitted, or
// why it was refused. The zero Admission is a refusal.
type Admission uint8

// The admissions.
const (
	// RefusedScope means that the caller lacks the scope for the request.
	RefusedScope Admission = iota
	// RefusedChain means that the caller may not use the chain.
	RefusedChain
	// RefusedRate and RefusedInFlight mean that the caller exceeded its limits.
	RefusedRate
	RefusedInFlight
	// Admitted means that the request was admitted.
	Admitted
)

// Admissions returns every admission.
func Admissions() []Admission {
	return []Admission{RefusedScope, RefusedChain, RefusedRate, RefusedInFlight, Admitted}
}

// String returns the admission's label value.
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

// CallerObserver counts the requests of one caller. It is safe for concurrent
// use, and may be used before its configuration is activated and after it was
// replaced.
type CallerObserver struct{ requests *row }

// Came counts a request of the caller.
func (o *CallerObserver) Came(a Admission) {
	if a > Admitted {
		a = RefusedScope
	}
	o.requests.inc(int(a))
}

// caller creates the series of a caller.
func (d *draft) caller(c *Caller) *CallerObserver {
	name := clean(c.Name)
	d.callersInFlight[name] = c.InFlight
	return &CallerObserver{requests: d.callers.row(names{name}, 1<<len(Admissions())-1)}
}

// newAuthFailures creates the counter of requests whose authentication failed,
// and its series by reason.
func newAuthFailures(reasons []string) (*prometheus.CounterVec, map[string]prometheus.Counter) {
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: namespace + "auth_failures_total",
		Help: "Requests that were refused because their caller could not be authenticated, by reason.",
	}, []string{"reason"})
	known := make(map[string]prometheus.Counter, len(reasons))
	for _, reason := range reasons {
		known[reason] = total.WithLabelValues(clean(reason))
	}
	return total, known
}

// AuthFailed counts a request whose authentication failed. It ignores a reason
// that is not in [Options].AuthReasons.
func (m *Metrics) AuthFailed(reason string) {
	if c, ok := m.authReasons[reason]; ok {
		c.Inc()
	}
}
