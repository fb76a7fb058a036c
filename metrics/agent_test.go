package metrics_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/metrics"
)

// agents is a configuration of agents with the given numbers of turns in
// flight.
func agents(turns int, all ...string) metrics.Config {
	c := tenant()
	for _, name := range all {
		c.Agents = append(c.Agents, metrics.Agent{Name: name, Permission: name != "silent", InFlight: func() int { return turns }})
	}
	return c
}

func TestM2_EverySeriesOfAnAgentBeginsAtZero(t *testing.T) {
	_, registry, _ := configured(t, agents(0, "coder", "silent"))
	outcomes := []string{"abandoned", "error", "failure", "result", "timeout"}
	sameSeries(t, registry, "hookgate_turns_total", append(each("coder ", outcomes, ""), each("silent ", outcomes, "")...))
	sameSeries(t, registry, "hookgate_turn_duration_seconds", []string{"coder", "silent"})
	sameSeries(t, registry, "hookgate_turns_in_flight", []string{"coder", "silent"})
	sameSeries(t, registry, "hookgate_turn_permissions_total", []string{"coder allow", "coder deny"})
	counted(t, registry, "hookgate_turns_total", map[string]float64{})
}

func TestAnAgentsTurnsAndPermissionsAreCounted(t *testing.T) {
	_, registry, c := configured(t, agents(3, "coder", "silent"))
	for _, outcome := range metrics.TurnOutcomes() {
		c.Agents[0].Ended(outcome, time.Second)
	}
	c.Agents[0].Ended(99, time.Second) // not an outcome: counts as a failure
	c.Agents[0].Answered(true)
	c.Agents[0].Answered(false)
	c.Agents[0].Answered(false)
	c.Agents[1].Answered(false) // it may not ask, so this is not counted
	counted(t, registry, "hookgate_turns_total", map[string]float64{
		"coder abandoned": 1, "coder error": 1, "coder failure": 2, "coder result": 1, "coder timeout": 1,
	})
	counted(t, registry, "hookgate_turn_permissions_total", map[string]float64{"coder allow": 1, "coder deny": 2})
	counted(t, registry, "hookgate_turn_duration_seconds", map[string]float64{"coder": 6})
	counted(t, registry, "hookgate_turns_in_flight", map[string]float64{"coder": 3, "silent": 3})
}

func TestM3_TheSeriesOfAnAgentGoWithIt(t *testing.T) {
	m, registry, c := configured(t, agents(1, "stays", "goes"))
	c.Agents[0].Ended(metrics.TurnResult, time.Second)
	next := activate(t, m, agents(1, "stays"))
	if left := mentions(everySeries(t, registry), "goes"); len(left) > 0 {
		t.Errorf("it is gone, but there still are %q", left)
	}
	c.Agents[1].Ended(metrics.TurnResult, time.Second) // a turn that was in flight
	c.Agents[1].Answered(true)
	if left := mentions(everySeries(t, registry), "goes"); len(left) > 0 {
		t.Errorf("an old observer brought back %q", left)
	}
	next.Agents[0].Ended(metrics.TurnResult, time.Second)
	counted(t, registry, "hookgate_turns_total", map[string]float64{"stays result": 2})
}

func TestAnAgentWithoutNameOrCountIsRefused(t *testing.T) {
	m, _ := newMetrics(t)
	_, err := m.Configure(metrics.Config{Agents: []metrics.Agent{{InFlight: func() int { return 0 }}, {Name: "a"}}})
	want := "metrics: agent 0 has no name\nmetrics: agent 1 \"a\" has no counter of its turns"
	if err == nil {
		t.Fatal("Configure took them")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}
