package metrics_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/metrics"
)

// saying is a binding that gives the answer drawn for the call.
type saying struct{ answer func(chain.Call) chain.Answer }

func (s saying) Ask(_ context.Context, call chain.Call) chain.Answer { return s.answer(call) }

// drawEntry draws a participant, for the chain and for the metrics.
func drawEntry(t *rapid.T) (*chain.Participant, *metrics.Participant) {
	own := &metrics.Participant{
		Name:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"),
		Binding: metrics.Webhook,
		Mode:    rapid.SampledFrom(chain.Modes()).Draw(t, "mode"),
		Events:  rapid.SampledFrom([][]chain.Event{pre(), post(), chain.Events()}).Draw(t, "events"),
		Tools: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"shell", "mcp__*", "*__git", "m*git*"}), 0, 2,
			rapid.ID[string]).Draw(t, "tools"),
		OnFailure:  rapid.SampledFrom([]chain.OnFailure{chain.DenyOnFailure, chain.AllowOnFailure}).Draw(t, "on failure"),
		Guard:      rapid.Bool().Draw(t, "guard"),
		Causes:     webhookCauses,
		HasBreaker: true,
		State:      idle,
	}
	return &chain.Participant{
		Name: own.Name, Mode: own.Mode, Events: own.Events, Tools: own.Tools, OnFailure: own.OnFailure, Guard: own.Guard,
		Timeout: rapid.SampledFrom([]time.Duration{time.Second, time.Hour}).Draw(t, "timeout"), Shadows: chain.NewShadowBound(8),
	}, own
}

// answers are the possible behaviours of a binding: right, wrong, late and
// broken.
func answers() []func(chain.Call) chain.Answer {
	said := func(o chain.Outcome) func(chain.Call) chain.Answer {
		return func(chain.Call) chain.Answer { return chain.Answer{Outcome: o} }
	}
	all := []func(chain.Call) chain.Answer{
		said(chain.Outcome{Decision: chain.Allow}),
		said(chain.Outcome{Decision: chain.Deny}),
		said(chain.Outcome{Decision: chain.Modify, Input: json.RawMessage(`{}`)}),
		said(chain.Outcome{Decision: chain.Modify, Input: json.RawMessage(`[]`)}),
		said(chain.Outcome{Decision: chain.Replace, Output: json.RawMessage(`""`)}),
		said(chain.Outcome{Decision: chain.Replace}),
		said(chain.Outcome{}),
		func(call chain.Call) chain.Answer { return call.Expired("") },
		func(chain.Call) chain.Answer { panic("out of order") },
	}
	for _, c := range webhookCauses {
		all = append(all, func(chain.Call) chain.Answer { return chain.Fail(c, "", "") })
	}
	return all
}

// Whatever chains do, no series appears that did not exist at 0 before, and the
// counters agree with what the chain decided.
func TestM2_NothingThatAChainDoesIsMissingAtTheBeginning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var participants []*chain.Participant
		config := metrics.Chain{
			Name:        "acme",
			OnUncovered: rapid.SampledFrom([]chain.Coverage{chain.DenyUncovered, chain.AllowUncovered}).Draw(t, "on uncovered"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "participants") {
			p, own := drawEntry(t)
			p.Binding = saying{rapid.SampledFrom(answers()).Draw(t, "answer")}
			participants, config.Participants = append(participants, p), append(config.Participants, own)
		}
		m, registry := newMetrics(t)
		c := activate(t, m, metrics.Config{Chains: []metrics.Chain{config}})
		for i, p := range participants {
			p.Observer = c.Chains[0].Participants[i]
		}
		ch, err := chain.New(chain.Options{
			Name: "acme", Participants: participants, Budget: time.Minute, OnUncovered: config.OnUncovered, Observer: c.Chains[0].Chain,
		})
		if err != nil {
			t.Fatal(err)
		}
		before := everySeries(t, registry)

		decided := map[string]float64{}
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			event := rapid.SampledFrom(chain.Events()).Draw(t, "event")
			tool := rapid.SampledFrom([]string{"shell", "mcp__git", "mcp__git__push", "x__git", "read"}).Draw(t, "tool")
			v := ch.Decide(t.Context(), request(t, event, tool), 0)
			decided[v.Cause.String()+" "+v.Outcome.Decision.String()+" "+event.String()]++
		}
		ch.Wait()

		if diff := cmp.Diff(before, everySeries(t, registry)); diff != "" {
			t.Fatalf("series (-before +after):\n%s", diff)
		}
		got := map[string]float64{}
		for labels, n := range series(t, registry, "hookgate_decisions_total") {
			if n > 0 {
				l := slices.DeleteFunc(strings.Fields(labels), func(s string) bool { return s == "acme" })
				got[l[0]+" "+l[1]+" "+l[2]] += n
			}
		}
		if diff := cmp.Diff(decided, got); diff != "" {
			t.Fatalf("decisions by cause, decision and event (-decided +counted):\n%s", diff)
		}
	})
}
