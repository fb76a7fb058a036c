package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestTheFoldAgreesWithANaiveModel compares random chains of answers, failures,
// policies, guards and shadows with a model that has neither goroutines nor
// envelopes: a loop over a list.
func TestTheFoldAgreesWithANaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		event := rapid.SampledFrom(Events()).Draw(t, "event")
		text := preText
		if event == PostToolUse {
			text = postText
		}
		drawn := rapid.SliceOfN(rapid.Custom(drawParticipant), 0, 8).Draw(t, "participants")
		uncovered := rapid.SampledFrom([]Coverage{DenyUncovered, AllowUncovered}).Draw(t, "on uncovered")

		participants := make([]*Participant, len(drawn))
		for i, m := range drawn {
			participants[i] = m.participant(i)
		}
		c, err := New(Options{Name: "test", Participants: participants, Budget: 1e12, OnUncovered: uncovered})
		if err != nil {
			t.Fatal(err)
		}
		req, err := ParseRequest([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := c.Decide(context.Background(), req, 0)
		c.Wait()
		want := naively(event, drawn, uncovered)
		if diff := cmp.Diff(want, got.Outcome); diff != "" {
			t.Fatalf("outcome (-model +chain):\n%s", diff)
		}
	})
}

// modelled is a participant as the model sees it.
type modelled struct {
	Name      string
	Events    []Event
	Tools     []string
	Kind      Kind
	OnFailure OnFailure
	Guard     bool
	Mode      Mode
	Holds     bool // whether its condition holds
	Answer    Answer
}

func (m modelled) participant(int) *Participant {
	return &Participant{
		Name: m.Name, Kind: m.Kind, Binding: says(m.Answer), Events: m.Events, Tools: m.Tools, Timeout: 1e12,
		OnFailure: m.OnFailure, Guard: m.Guard, Mode: m.Mode, Shadows: NewShadowBound(8), When: func(*Request, time.Time) bool { return m.Holds },
	}
}

func drawParticipant(t *rapid.T) modelled {
	m := modelled{
		Name:   rapid.StringMatching(`[a-d]`).Draw(t, "name"),
		Events: rapid.SampledFrom([][]Event{{PreToolUse}, {PostToolUse}, Events()}).Draw(t, "events"),
		Tools:  rapid.SampledFrom([][]string{nil, {"shell"}, {"read", "sh*"}, {"other"}}).Draw(t, "tools"),
		Kind:   rapid.SampledFrom([]Kind{Hook, Interceptor}).Draw(t, "kind"),
		Guard:  rapid.Bool().Draw(t, "guard"),
		Mode:   rapid.SampledFrom([]Mode{Enforce, Enforce, Enforce, Shadow}).Draw(t, "mode"),
		Holds:  rapid.SampledFrom([]bool{true, true, true, false}).Draw(t, "holds"),
	}
	if m.Kind == Hook {
		m.OnFailure = rapid.SampledFrom([]OnFailure{DenyOnFailure, AllowOnFailure}).Draw(t, "on failure")
	}
	if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
		m.Answer = Fail(rapid.SampledFrom(Causes()).Draw(t, "cause"), "broke", "")
		return m
	}
	m.Answer.Outcome = Outcome{
		Decision: rapid.SampledFrom([]Decision{Undecided, Deny, Allow, Allow, Modify, Replace}).Draw(t, "decision"),
		Reason:   rapid.SampledFrom([]string{"", "because"}).Draw(t, "reason"),
		Input:    json.RawMessage(rapid.SampledFrom([]string{`{}`, `{"n":1}`, `[]`, `"x"`, ``}).Draw(t, "input")),
		Output:   json.RawMessage(rapid.SampledFrom([]string{`null`, `"x"`, `{"n":1}`, ``}).Draw(t, "output")),
		IsError:  rapid.SampledFrom([]*bool{nil, yes(), no()}).Draw(t, "is error"),
	}
	return m
}

// naively implements the contract as a simple loop.
func naively(event Event, participants []modelled, uncovered Coverage) Outcome {
	covered, isError := false, event == PostToolUse // as the request says
	var hands, opened []string
	var last *Outcome
	for _, m := range participants {
		applies := false
		for _, e := range m.Events {
			applies = applies || e == event
		}
		if len(m.Tools) > 0 && m.Tools[0] == "other" {
			applies = false
		}
		if !applies || m.Mode == Shadow {
			continue
		}
		covered = true
		if !m.Holds {
			continue
		}
		who := fmt.Sprintf("%v '%s'", m.Kind, m.Name)
		a, failed := m.Answer.Outcome, ""
		switch {
		case m.Answer.Failure != nil:
			failed = m.Answer.Failure.Text
		case a.Decision == Undecided:
			failed = "answered without a decision"
		case (a.Decision == Modify && event == PostToolUse) || (a.Decision == Replace && event == PreToolUse):
			failed = fmt.Sprintf("answered %v, which is not allowed at %v", a.Decision, event)
		case m.Guard && a.Decision != Allow && a.Decision != Deny:
			failed = fmt.Sprintf("answered %v, but a guard may only allow or deny", a.Decision)
		case a.Decision == Modify && !strings.HasPrefix(string(a.Input), "{"):
			failed = "answered modify with an input that is not a JSON object"
		case a.Decision == Replace && len(a.Output) == 0:
			failed = "answered replace without an output"
		}
		because := who
		if a.Reason != "" {
			because += ": " + a.Reason
		}
		switch {
		case failed != "" && m.Answer.Failure != nil && m.Answer.Failure.Cause == Budget:
			return Outcome{Decision: Deny, Reason: who + " could not answer within the chain's budget of 1000000 ms: " + failed}
		case failed != "" && m.OnFailure == AllowOnFailure:
			opened = append(opened, who+" could not answer and allows on failure: "+failed)
		case failed != "":
			return Outcome{Decision: Deny, Reason: who + " could not answer and denies on failure: " + failed}
		case a.Decision == Deny:
			return Outcome{Decision: Deny, Reason: "denied by " + because}
		case a.Decision == Modify:
			hands = append(hands, because)
			last = &Outcome{Decision: Modify, Input: a.Input}
		case a.Decision == Replace:
			hands = append(hands, because)
			if a.IsError != nil {
				isError = *a.IsError
			}
			last = &Outcome{Decision: Replace, Output: a.Output}
		}
	}
	switch {
	case !covered && uncovered == AllowUncovered:
		return Outcome{Decision: Allow}
	case !covered:
		return Outcome{Decision: Deny, Reason: fmt.Sprintf("denied: no participant of chain 'test' applies to tool 'shell' at %v", event)}
	case last == nil:
		return Outcome{Decision: Allow, Reason: strings.Join(opened, "; ")}
	}
	last.Reason = strings.Join(append(hands, opened...), "; ")
	if last.Decision == Replace {
		last.IsError = &isError
	}
	return *last
}
