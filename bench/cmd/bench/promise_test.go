package main

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAPromiseIsJudgedByItsMedian(t *testing.T) {
	for name, c := range map[string]struct {
		p    promise
		kept bool
	}{
		"at least, and it is":      {atLeast(1, "rate", []float64{0.5, 1, 1.2}), true},
		"at least, and it is not":  {atLeast(1, "rate", []float64{0.5, 0.9, 7}), false},
		"at most, and it is":       {atMost(20, "MB", "memory", []float64{20, 20}), true},
		"at most, and it is not":   {atMost(20, "MB", "memory", []float64{20, 20.2}), false},
		"what is not a number":     {atMost(1, "×", "ratio", []float64{math.NaN()}), false},
		"what is not a number too": {atLeast(1, "ratio", []float64{math.NaN()}), false},
	} {
		if got := c.p.Kept(); got != c.kept {
			t.Errorf("%s: kept is %v: %s", name, got, c.p)
		}
	}
}

func TestAPromiseIsALineOfATable(t *testing.T) {
	want := "   BROKEN    0.875 ×    [0.5–1.25] ≥ 1     rate of the proxy"
	if diff := cmp.Diff(want, atLeast(1, "rate of the proxy", []float64{1.25, 0.5}).String()); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestRatiosAreFormedWithinARound(t *testing.T) {
	gateway := visits{{rate: 10}, {rate: 300}}
	proxy := visits{{rate: 20}, {rate: 100}}
	if diff := cmp.Diff([]float64{0.5, 3}, gateway.ratio(proxy, rate)); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
}

func TestTimesAreGivenInTheUnitOfTheirColumn(t *testing.T) {
	v := visit{cpu: 1500 * time.Nanosecond, p50: 2 * time.Millisecond, p99: time.Second}
	if diff := cmp.Diff([]float64{1.5, 2000, 1e6, 2}, []float64{cpu(v), p50(v), p99(v), millis(v.p50)}); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestAScenarioThatIsNotKnownIsRefused(t *testing.T) {
	if _, err := run(t.Context(), settings{}, []string{"remote", "remtoe"}); err == nil {
		t.Error("no error")
	}
}
