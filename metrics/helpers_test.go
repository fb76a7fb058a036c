package metrics_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/metrics"
)

// webhookCauses and subprocessCauses are the causes that these bindings report.
var (
	webhookCauses = []chain.Cause{
		chain.Timeout, chain.Connect, chain.TLS, chain.Auth, chain.Reset, chain.Status, chain.Redirect, chain.Empty,
		chain.Malformed, chain.Oversize, chain.WrongDecision, chain.BreakerOpen, chain.Saturated,
	}
	subprocessCauses = []chain.Cause{
		chain.Timeout, chain.Empty, chain.Malformed, chain.Oversize, chain.WrongDecision, chain.Saturated,
		chain.Spawn, chain.Exit, chain.Signal,
	}
)

func pre() []chain.Event  { return []chain.Event{chain.PreToolUse} }
func post() []chain.Event { return []chain.Event{chain.PostToolUse} }

// tester is a test, or one run of a property.
type tester interface {
	Helper()
	Fatal(args ...any)
}

// program and endpoint are participants as a hooks file declares them.
func program(name string) *metrics.Participant {
	return &metrics.Participant{Name: name, Binding: metrics.Subprocess, Events: pre(), Causes: subprocessCauses, State: idle}
}

func endpoint(name string) *metrics.Participant {
	return &metrics.Participant{
		Name: name, Binding: metrics.Webhook, Events: pre(), Causes: webhookCauses, HasBreaker: true, State: idle, Timeout: 5 * time.Second,
	}
}

// nobody is the InFlight of a process without requests.
func nobody() int { return 0 }

func idle() metrics.State { return metrics.State{Breaker: metrics.BreakerClosed} }

// with modifies a participant.
func with(p *metrics.Participant, change func(*metrics.Participant)) *metrics.Participant {
	change(p)
	return p
}

// tenant is a configuration with one chain.
func tenant(participants ...*metrics.Participant) metrics.Config {
	return metrics.Config{Chains: []metrics.Chain{{Name: "acme", Participants: participants}}}
}

func newMetrics(t tester) (*metrics.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(metrics.Options{
		Registerer: registry, MaxTimeout: 10 * time.Minute, MaxBudget: time.Hour, MaxTurn: time.Hour, InFlight: nobody, MaxInFlight: 100,
		AuditSinks: []string{"file"}, AuthReasons: []string{"missing"},
		Version: "1.2.3", Revision: "abcdef", GoVersion: "go1.26",
		Routes:  []metrics.Route{{Pattern: "/v1/decide", Codes: []int{200, 400}}},
		Clients: []metrics.Client{{Name: "gemini-cli", Degradations: []chain.Decision{chain.Modify}, Refusals: []int{400}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, registry
}

// configured returns metrics with an active configuration.
func configured(t tester, c metrics.Config) (*metrics.Metrics, *prometheus.Registry, *metrics.Configuration) {
	t.Helper()
	m, registry := newMetrics(t)
	return m, registry, activate(t, m, c)
}

func activate(t tester, m *metrics.Metrics, c metrics.Config) *metrics.Configuration {
	t.Helper()
	made, err := m.Configure(c)
	if err != nil {
		t.Fatal(err)
	}
	made.Activate()
	return made
}

// series returns the values of a metric by its label values, in the order of
// the label names. The value of a histogram is its number of observations.
func series(t tester, registry prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			all[strings.Join(labels, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}

// sameSeries compares the series of a metric, whatever their values.
func sameSeries(t *testing.T, registry prometheus.Gatherer, name string, want []string) {
	t.Helper()
	got := slices.Sorted(maps.Keys(series(t, registry, name)))
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series of %s (-want +got):\n%s", name, diff)
	}
}

// counted compares the series of a metric that are not 0.
func counted(t *testing.T, registry prometheus.Gatherer, name string, want map[string]float64) {
	t.Helper()
	got := series(t, registry, name)
	maps.DeleteFunc(got, func(_ string, value float64) bool { return value == 0 })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// everySeries returns the name and the labels of every series of the product.
func everySeries(t tester, registry prometheus.Gatherer) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "hookgate_") {
			for _, m := range f.GetMetric() {
				all = append(all, fmt.Sprint(f.GetName(), m.GetLabel()))
			}
		}
	}
	return all
}

func request(t tester, event chain.Event, tool string) *chain.Request {
	t.Helper()
	text := fmt.Sprintf(`{"hook_schema":1,"event":%q,"workspace":"/w","agent_id":"a","tool_call_id":"c","tool_name":%q,"input":{}`, event, tool)
	if event == chain.PostToolUse {
		text += `,"output":"","is_error":false`
	}
	req, err := chain.ParseRequest([]byte(text + "}"))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// aliased is a call to a tool that has an alias.
func aliased(t tester, tool, alias string) *chain.Request {
	t.Helper()
	req, err := chain.ParseRequest(fmt.Appendf(nil,
		`{"hook_schema":1,"event":"pre_tool_use","workspace":"/w","agent_id":"a","tool_call_id":"c","tool_name":%q,"tool_alias":%q,"input":{}}`, tool, alias))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func allowed() chain.Answer { return chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow}} }

func denial(cause chain.Cause, by string) *chain.Verdict {
	return &chain.Verdict{Outcome: chain.Outcome{Decision: chain.Deny}, Cause: cause, By: &chain.Participant{Name: by}}
}
