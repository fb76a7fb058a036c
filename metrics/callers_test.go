package metrics_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookgate/hookgate/metrics"
)

// callers is a configuration of callers with the given numbers of requests in
// flight.
func callers(requests int, all ...string) metrics.Config {
	c := tenant()
	for _, name := range all {
		c.Callers = append(c.Callers, metrics.Caller{Name: name, InFlight: func() int { return requests }})
	}
	return c
}

func TestM2_EverySeriesOfACallerBeginsAtZero(t *testing.T) {
	_, registry, _ := configured(t, callers(0, "ci"))
	sameSeries(t, registry, "hookgate_caller_requests_total", each("ci ", []string{"admitted", "chain", "in_flight", "rate", "scope"}, ""))
	sameSeries(t, registry, "hookgate_caller_in_flight", []string{"ci"})
	counted(t, registry, "hookgate_caller_requests_total", map[string]float64{})
}

func TestACallersRequestsAreCounted(t *testing.T) {
	_, registry, c := configured(t, callers(3, "ci"))
	for _, a := range metrics.Admissions() {
		c.Callers[0].Came(a)
	}
	c.Callers[0].Came(99) // not an admission: counts as a refusal
	counted(t, registry, "hookgate_caller_requests_total", map[string]float64{
		"ci admitted": 1, "ci chain": 1, "ci in_flight": 1, "ci rate": 1, "ci scope": 2,
	})
	counted(t, registry, "hookgate_caller_in_flight", map[string]float64{"ci": 3})
}

func TestM3_TheSeriesOfACallerGoWithIt(t *testing.T) {
	m, registry, c := configured(t, callers(1, "stays", "goes"))
	c.Callers[0].Came(metrics.Admitted)
	next := activate(t, m, callers(1, "stays"))
	c.Callers[1].Came(metrics.Admitted) // a request that was in flight
	if left := mentions(everySeries(t, registry), "goes"); len(left) > 0 {
		t.Errorf("it is gone, but there still are %q", left)
	}
	next.Callers[0].Came(metrics.Admitted)
	counted(t, registry, "hookgate_caller_requests_total", map[string]float64{"stays admitted": 2})
}

func TestACallerWithoutNameOrCountIsRefused(t *testing.T) {
	m, _ := newMetrics(t)
	_, err := m.Configure(metrics.Config{Callers: []metrics.Caller{{InFlight: nobody}, {Name: "a"}}})
	want := "metrics: caller 0 has no name\nmetrics: caller 1 \"a\" has no counter of its requests"
	if err == nil {
		t.Fatal("Configure took them")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestFailuresToKnowACallerAreAClosedSet(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(metrics.Options{
		Registerer: registry, MaxTimeout: 1, MaxBudget: 1, MaxTurn: 1, InFlight: nobody, MaxInFlight: 1, AuthReasons: []string{"missing", "unknown"},
		CertificateExpiry: func() time.Time { return time.Unix(1800000000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	sameSeries(t, registry, "hookgate_auth_failures_total", []string{"missing", "unknown"})
	m.AuthFailed("missing")
	m.AuthFailed("whatever a caller sends")
	counted(t, registry, "hookgate_auth_failures_total", map[string]float64{"missing": 1})
	counted(t, registry, "hookgate_tls_certificate_expiry_timestamp_seconds", map[string]float64{"": 1800000000})
}
