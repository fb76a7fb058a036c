package metrics_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/metrics"
)

// report makes a participant and its chain report one thing of each kind.
func report(tb testing.TB, o metrics.ChainObservers, who int, name string) {
	tb.Helper()
	p := o.Participants[who]
	p.Answered(chain.PreToolUse, allowed(), time.Millisecond)
	p.Answered(chain.PreToolUse, chain.Fail(chain.Timeout, "", ""), time.Second)
	p.FailedOpen(chain.Timeout)
	p.Flipped(chain.Allow, chain.Deny)
	p.Transition(metrics.BreakerClosed, metrics.BreakerOpen)
	o.Chain.Decided(request(tb, chain.PreToolUse, "shell"), denial(chain.Timeout, name))
}

// mentions returns the series with a text in their labels.
func mentions(all []string, text string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.Contains(s, `"`+text+`"`) })
}

func TestM3_WhatConfigurationNoLongerHasIsGoneAndWhatStaysKeepsItsCounts(t *testing.T) {
	stays, goes := endpoint("stays"), endpoint("goes")
	m, registry, c := configured(t, metrics.Config{Chains: []metrics.Chain{
		{Name: "acme", Participants: []*metrics.Participant{stays, goes}},
		{Name: "closing", Participants: []*metrics.Participant{stays}},
	}})
	report(t, c.Chains[0], 0, "stays")
	report(t, c.Chains[0], 1, "goes")
	report(t, c.Chains[1], 0, "stays")
	if len(mentions(everySeries(t, registry), "goes")) == 0 || len(mentions(everySeries(t, registry), "closing")) == 0 {
		t.Fatal("nothing mentions what is going to go")
	}

	// A reload creates all series anew.
	next := activate(t, m, tenant(endpoint("comes"), endpoint("stays")))
	for _, gone := range []string{"goes", "closing"} {
		if left := mentions(everySeries(t, registry), gone); len(left) > 0 {
			t.Errorf("%q is gone, but there still are %q", gone, left)
		}
	}
	counted(t, registry, "hookgate_hook_answers_total", map[string]float64{
		"allow webhook pre_tool_use stays enforce": 2, "failure webhook pre_tool_use stays enforce": 2,
	})
	counted(t, registry, "hookgate_decisions_total", map[string]float64{"timeout acme deny pre_tool_use other": 2})
	counted(t, registry, "hookgate_hook_duration_seconds", map[string]float64{"webhook stays": 4})

	report(t, next.Chains[0], 1, "stays")
	counted(t, registry, "hookgate_denials_total", map[string]float64{"acme pre_tool_use stays other failure": 2})
	counted(t, registry, "hookgate_breaker_transitions_total", map[string]float64{"closed stays open": 3})
	counted(t, registry, "hookgate_decision_duration_seconds", map[string]float64{"acme pre_tool_use": 3})
}

func TestM3_WhatAHookStopsDoingIsGone(t *testing.T) {
	m, registry, c := configured(t, tenant(with(program("guard"), func(p *metrics.Participant) {
		p.OnFailure = chain.AllowOnFailure
	})))
	report(t, c.Chains[0], 0, "guard")
	counted(t, registry, "hookgate_hook_fail_open_total", map[string]float64{"timeout guard": 1})

	activate(t, m, tenant(with(program("guard"), func(p *metrics.Participant) { p.Events = post() })))
	sameSeries(t, registry, "hookgate_hook_fail_open_total", nil)
	sameSeries(t, registry, "hookgate_hook_answers_total", each("", []string{"allow", "deny", "failure", "replace"}, " subprocess post_tool_use guard enforce"))
}

func TestM3_WhatComesBackBeginsAtZero(t *testing.T) {
	m, registry, c := configured(t, tenant(program("guard")))
	report(t, c.Chains[0], 0, "guard")
	activate(t, m, tenant())
	activate(t, m, tenant(program("guard")))
	counted(t, registry, "hookgate_hook_answers_total", map[string]float64{})
	counted(t, registry, "hookgate_hook_duration_seconds", map[string]float64{})
}

func TestM4_AnOldObserverBringsNothingBack(t *testing.T) {
	m, registry, old := configured(t, tenant(endpoint("goes"), endpoint("stays")))
	activate(t, m, tenant(with(endpoint("stays"), func(p *metrics.Participant) { p.Guard = true })))
	before := everySeries(t, registry)

	report(t, old.Chains[0], 0, "goes")
	report(t, old.Chains[0], 1, "stays")
	old.Chains[0].Participants[1].Answered(chain.PostToolUse, allowed(), time.Millisecond)
	if diff := cmp.Diff(before, everySeries(t, registry)); diff != "" {
		t.Errorf("series (-before +after):\n%s", diff)
	}
	counted(t, registry, "hookgate_hook_failures_total", map[string]float64{"webhook timeout stays": 1})
}

func TestM6_AConfigurationThatIsNotActivatedLeavesNoTrace(t *testing.T) {
	m, registry, c := configured(t, tenant(program("guard")))
	report(t, c.Chains[0], 0, "guard")
	before := everySeries(t, registry)

	given, err := m.Configure(tenant(program("guard"), program("new")))
	if err != nil {
		t.Fatal(err)
	}
	report(t, given.Chains[0], 1, "new")
	m.ReloadRefused()
	if diff := cmp.Diff(before, everySeries(t, registry)); diff != "" {
		t.Errorf("series (-before +after):\n%s", diff)
	}
	counted(t, registry, "hookgate_config_reloads_total", map[string]float64{"invalid": 1})
}

func TestThatFilesAreRefusedIsSeenUntilTheyAreGoodAgain(t *testing.T) {
	m, registry, _ := configured(t, tenant(program("guard")))
	for _, step := range []struct {
		happens func()
		want    float64
	}{{func() {}, 1}, {m.ReloadRefused, 0}, {m.ReloadRefused, 0}, {m.ReloadUnchanged, 1}} {
		step.happens()
		if got := series(t, registry, "hookgate_config_last_reload_successful")[""]; got != step.want {
			t.Errorf("hookgate_config_last_reload_successful is %v, want %v", got, step.want)
		}
	}
}

func TestM6_BeforeTheFirstConfigurationThereIsNoneToSee(t *testing.T) {
	_, registry := newMetrics(t)
	for _, name := range []string{"hookgate_config_info", "hookgate_config_last_reload_success_timestamp_seconds", "hookgate_decisions_total"} {
		sameSeries(t, registry, name, nil)
	}
	sameSeries(t, registry, "hookgate_config_reloads_total", []string{"ok", "invalid"})
}

func TestTheFirstConfigurationIsNoReload(t *testing.T) {
	m, registry, _ := configured(t, tenant())
	counted(t, registry, "hookgate_config_reloads_total", map[string]float64{})
	c := tenant()
	c.Sum[0], c.Sum[31] = 0xab, 0x01
	activate(t, m, c)
	counted(t, registry, "hookgate_config_reloads_total", map[string]float64{"ok": 1})
	counted(t, registry, "hookgate_config_info", map[string]float64{"ab" + strings.Repeat("00", 30) + "01": 1})
}

func TestM7_StatesAreReadWhenSomebodyLooks(t *testing.T) {
	reads := 0
	states := []metrics.State{
		{InFlight: 2, Breaker: metrics.BreakerClosed},
		{InFlight: 3, Breaker: metrics.BreakerOpen},
	}
	reading := func(i int) func() metrics.State {
		return func() metrics.State { reads++; return states[i] }
	}
	shared := with(endpoint("dlp"), func(p *metrics.Participant) { p.State = reading(0) })
	_, registry, c := configured(t, metrics.Config{Chains: []metrics.Chain{
		{Participants: []*metrics.Participant{shared}},
		{Name: "acme", Participants: []*metrics.Participant{
			shared, with(endpoint("dlp"), func(p *metrics.Participant) { p.State = reading(1) }),
		}},
	}})
	report(t, c.Chains[1], 0, "dlp")
	if reads != 0 {
		t.Errorf("%d states were read before anybody looked", reads)
	}

	// A participant of two chains is read once. Participants with the same name
	// add up.
	counted(t, registry, "hookgate_hook_in_flight", map[string]float64{"dlp": 5})
	if reads != 2 {
		t.Errorf("%d states were read for one look, want 2", reads)
	}
	counted(t, registry, "hookgate_breaker_state", map[string]float64{"dlp closed": 1, "dlp open": 1})

	states[1] = metrics.State{Breaker: metrics.BreakerHalfOpen}
	counted(t, registry, "hookgate_breaker_state", map[string]float64{"dlp closed": 1, "dlp half_open": 1})
	counted(t, registry, "hookgate_hook_in_flight", map[string]float64{"dlp": 2})
}

func TestParticipantsOfOneNameShareTheirSeries(t *testing.T) {
	_, registry, c := configured(t, metrics.Config{Chains: []metrics.Chain{
		{Name: "acme", Participants: []*metrics.Participant{program("guard"), endpoint("guard"), program("guard")}},
		{Name: "acme", Participants: []*metrics.Participant{program("guard")}},
	}})
	for _, chainObservers := range c.Chains {
		for i := range chainObservers.Participants {
			report(t, chainObservers, i, "guard")
		}
	}
	counted(t, registry, "hookgate_hook_answers_total", map[string]float64{
		"allow subprocess pre_tool_use guard enforce": 3, "failure subprocess pre_tool_use guard enforce": 3,
		"allow webhook pre_tool_use guard enforce": 1, "failure webhook pre_tool_use guard enforce": 1,
	})
	counted(t, registry, "hookgate_denials_total", map[string]float64{"acme pre_tool_use guard other failure": 4})
	counted(t, registry, "hookgate_hook_fail_open_total", map[string]float64{"timeout guard": 4})
}

func TestM4_ReloadsDisturbNoCallInFlight(t *testing.T) {
	const workers, calls, reloads = 4, 300, 20
	m, registry, c := configured(t, tenant(endpoint("stays"), endpoint("gen-0")))
	var current atomic.Pointer[metrics.Configuration] // as a gateway holds its chains
	current.Store(c)

	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range calls {
				o := current.Load().Chains[0]
				report(t, o, 0, "stays")
				report(t, o, 1, "goes")
			}
		})
	}
	for n := range reloads {
		current.Store(activate(t, m, tenant(endpoint("stays"), endpoint(fmt.Sprintf("gen-%d", n+1)))))
		if _, err := registry.Gather(); err != nil {
			t.Error(err)
		}
	}
	all.Wait()

	counted(t, registry, "hookgate_denials_total", map[string]float64{"acme pre_tool_use stays other failure": workers * calls})
	if got := series(t, registry, "hookgate_hook_answers_total")["allow webhook pre_tool_use stays enforce"]; got != workers*calls {
		t.Errorf("%v answers were counted, want %d", got, workers*calls)
	}
	if left := mentions(everySeries(t, registry), "gen-0"); len(left) > 0 {
		t.Errorf("the first configuration is gone, but there still are %q", left)
	}
}
