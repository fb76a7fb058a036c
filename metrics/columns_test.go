package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func (s *shapes) all() map[string]*shape {
	return map[string]*shape{
		"decisions": s.decisions, "denials": s.denials, "answers": s.answers, "failures": s.failures,
		"failOpen": s.failOpen, "flips": s.flips, "transitions": s.transitions,
		"turns": s.turns, "permissions": s.permissions, "callers": s.callers,
	}
}

func TestM1_EveryColumnIsALabelSetOfItsOwn(t *testing.T) {
	for name, s := range newShapes(time.Hour, time.Minute, time.Hour).all() {
		if len(s.columns) > 64 {
			t.Errorf("%s: %d columns do not fit into the 64 bits that say which are shown", name, len(s.columns))
		}
		if s.rowLabels > len(names{}) {
			t.Errorf("%s: %d labels do not fit into the names of a row", name, s.rowLabels)
		}
		seen := map[string]bool{}
		for _, values := range s.columns {
			text := strings.Join(values, " ")
			if seen[text] {
				t.Errorf("%s: two columns are %q", name, text)
			}
			seen[text] = true
		}
	}
}

func TestM1_AnIndexStandsForItsLabels(t *testing.T) {
	got := map[string][]string{}
	for _, c := range append(chain.Causes(), chain.NoCause, chain.Internal+1) {
		got["cause "+c.String()] = causeColumns()[causeColumn(c)]
	}
	for _, e := range chain.Events() {
		for _, m := range chain.Modes() {
			for _, d := range append(chain.Decisions(), chain.Undecided) {
				if values := answerColumns()[answerColumn(e, m, decisionColumn(d))]; !cmp.Equal(values, []string{e.String(), m.String(), d.String()}) {
					t.Errorf("answer %s %s %s counts as %q", e, m, d, values)
				}
			}
			if values := answerColumns()[answerColumn(e, m, failureAnswer)]; !cmp.Equal(values, []string{e.String(), m.String(), "failure"}) {
				t.Errorf("failure at %s of a %s counts as %q", e, m, values)
			}
		}
		got["said no at "+e.String()] = denialColumns()[denialColumn(e, chain.NoCause)]
		got["failed at "+e.String()] = denialColumns()[denialColumn(e, chain.Timeout)]
	}
	for _, d := range append(chain.Decisions(), chain.Undecided) {
		if values := outcomeColumns()[outcomeColumn(d, chain.NoCause)]; !cmp.Equal(values, []string{d.String(), "none"}) {
			t.Errorf("%s by answers counts as %q", d, values)
		}
		for _, to := range chain.Decisions() {
			if values := flipColumns()[flipColumn(d, to)]; !cmp.Equal(values, []string{d.String(), to.String()}) {
				t.Errorf("a flip from %s to %s counts as %q", d, to, values)
			}
		}
	}
	for _, d := range []chain.Decision{chain.Allow, chain.Deny} {
		if values := outcomeColumns()[outcomeColumn(d, chain.Uncovered)]; !cmp.Equal(values, []string{d.String(), "uncovered"}) {
			t.Errorf("%s of an uncovered call counts as %q", d, values)
		}
	}
	for _, c := range chain.Causes() {
		if values := outcomeColumns()[outcomeColumn(chain.Deny, c)]; !cmp.Equal(values, []string{"deny", c.String()}) {
			t.Errorf("a deny for %s counts as %q", c, values)
		}
	}
	for _, from := range BreakerStates() {
		for _, to := range BreakerStates() {
			if values := transitionColumns()[transitionColumn(from, to)]; !cmp.Equal(values, []string{from.String(), to.String()}) {
				t.Errorf("a transition from %s to %s counts as %q", from, to, values)
			}
		}
	}

	want := map[string][]string{
		"cause none":              {"internal"}, // not a failure, so reporting it is a fault
		"said no at pre_tool_use": {"pre_tool_use", "decision"}, "failed at pre_tool_use": {"pre_tool_use", "failure"},
		"said no at post_tool_use": {"post_tool_use", "decision"}, "failed at post_tool_use": {"post_tool_use", "failure"},
	}
	for _, c := range chain.Causes() {
		want["cause "+c.String()] = []string{c.String()}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestM1_WhatIsUnsetReadsSoInLabels(t *testing.T) {
	if got := Binding(0).String(); got != "unset" {
		t.Errorf("the zero binding reads %q", got)
	}
	if got := BreakerState(0).String(); got != "unset" {
		t.Errorf("the zero breaker state reads %q", got)
	}
}

func TestM8_TheTopBucketIsNotBelowTheLongestTime(t *testing.T) {
	for longest, want := range map[time.Duration]struct {
		buckets int
		top     float64
	}{
		time.Nanosecond:        {1, 0.0001},
		100 * time.Microsecond: {1, 0.0001},
		time.Millisecond:       {4, 0.001},
		7 * time.Second:        {16, 10},
		10 * time.Minute:       {22, 1000},
		time.Hour:              {24, 5000},
	} {
		buckets := ladder(longest)
		if got := buckets[len(buckets)-1]; len(buckets) != want.buckets || got != want.top {
			t.Errorf("for %v there are %d buckets up to %v, want %d up to %v", longest, len(buckets), got, want.buckets, want.top)
		}
	}
	if diff := cmp.Diff([]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01}, ladder(10*time.Millisecond)); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
}

func TestAConfigurationHoldsNothingOfTheOneBefore(t *testing.T) {
	m := &Metrics{shapes: newShapes(time.Hour, time.Minute, time.Hour)}
	m.active.Store(&active{catalogue: m.shapes.catalogue(&catalogue{})})
	c, err := m.Configure(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range c.catalogue.tables() {
		if table.before != nil {
			t.Error("a table still holds the rows before")
		}
	}
	for _, h := range c.catalogue.histograms() {
		if h.before != nil {
			t.Error("a histogram still holds the series before")
		}
	}
}
