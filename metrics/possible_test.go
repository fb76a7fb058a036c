package metrics_test

import (
	"slices"
	"testing"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/metrics"
)

// each returns every text with the given prefix and suffix.
func each(before string, texts []string, after string) []string {
	var all []string
	for _, text := range texts {
		all = append(all, before+text+after)
	}
	return all
}

// programCauses are the possible failures of a program: those that its binding
// reports, and those that the chain derives from its answers.
var programCauses = []string{
	"budget", "empty", "exit", "malformed", "oversize", "panic", "saturated", "signal", "spawn", "timeout",
	"unusable_rewrite", "wrong_decision",
}

func TestM2_AnswersThatAreAgainstTheContractHaveNoSeries(t *testing.T) {
	_, registry, _ := configured(t, tenant(
		program("free"),
		with(program("guard"), func(p *metrics.Participant) { p.Guard = true }),
		with(endpoint("after"), func(p *metrics.Participant) { p.Events = post() }),
		with(program("shadow"), func(p *metrics.Participant) { p.Mode, p.Events = chain.Shadow, chain.Events() }),
	))
	sameSeries(t, registry, "hookgate_hook_answers_total", slices.Concat( // labels: answer binding event hook mode
		each("", []string{"allow", "deny", "failure", "modify"}, " subprocess pre_tool_use free enforce"),
		each("", []string{"allow", "deny", "failure"}, " subprocess pre_tool_use guard enforce"),
		each("", []string{"allow", "deny", "failure", "replace"}, " webhook post_tool_use after enforce"),
		each("", []string{"allow", "deny", "failure", "modify"}, " subprocess pre_tool_use shadow shadow"),
		each("", []string{"allow", "deny", "failure", "replace"}, " subprocess post_tool_use shadow shadow"),
	))
}

func TestM2_FailuresHaveTheCausesOfTheBindingAndOfTheChain(t *testing.T) {
	_, registry, _ := configured(t, tenant(
		program("before"),
		with(program("after"), func(p *metrics.Participant) { p.Events = post() }),
		with(program("shadow"), func(p *metrics.Participant) {
			p.Mode, p.Causes = chain.Shadow, []chain.Cause{chain.Exit, chain.Budget}
		}),
		with(endpoint("bare"), func(p *metrics.Participant) { p.HasBreaker = false }),
		&metrics.Participant{
			Name: "code", Binding: metrics.InProcess, Events: pre(),
			Causes: []chain.Cause{chain.Error, chain.NoCause, chain.Uncovered, chain.Internal + 1},
		},
	))
	sameSeries(t, registry, "hookgate_hook_failures_total", slices.Concat( // labels: binding cause hook
		each("subprocess ", programCauses, " before"),
		each("subprocess ", slices.DeleteFunc(slices.Clone(programCauses), func(c string) bool { return c == "unusable_rewrite" }), " after"),
		each("subprocess ", []string{"exit", "panic", "saturated", "timeout", "unusable_rewrite", "wrong_decision"}, " shadow"),
		each("webhook ", []string{
			"auth", "budget", "connect", "empty", "malformed", "oversize", "panic", "redirect", "reset", "saturated", "status",
			"timeout", "tls", "unusable_rewrite", "wrong_decision",
		}, " bare"),
		each("in_process ", []string{"budget", "error", "panic", "timeout", "unusable_rewrite", "wrong_decision"}, " code"),
	))
}

func TestM2_OnlyWhoAllowsOnFailureFailsOpen(t *testing.T) {
	open := func(p *metrics.Participant) { p.OnFailure = chain.AllowOnFailure }
	_, registry, _ := configured(t, tenant(
		program("closed"),
		with(program("open"), open),
		with(with(program("shadow"), open), func(p *metrics.Participant) { p.Mode = chain.Shadow }),
	))
	withoutBudget := slices.DeleteFunc(slices.Clone(programCauses), func(c string) bool { return c == "budget" })
	sameSeries(t, registry, "hookgate_hook_fail_open_total", each("", withoutBudget, " open"))
}

func TestM2_ADecisionHasACauseThatSomebodyAskedCanHave(t *testing.T) {
	_, registry, _ := configured(t, metrics.Config{Chains: []metrics.Chain{
		{Participants: []*metrics.Participant{
			with(program("shell-only"), func(p *metrics.Participant) { p.Tools = []string{"shell"} }),
			with(program("open"), func(p *metrics.Participant) {
				p.Tools, p.OnFailure, p.Guard = []string{"mcp__*"}, chain.AllowOnFailure, true
			}),
			with(program("narrow"), func(p *metrics.Participant) { p.Tools, p.Events = []string{"mcp__git__*"}, post() }),
			with(endpoint("shadow"), func(p *metrics.Participant) { p.Mode = chain.Shadow }),
		}},
		{Name: "lenient", OnUncovered: chain.AllowUncovered},
	}})
	sameSeries(t, registry, "hookgate_decisions_total", slices.Concat( // labels: cause chain decision event tool
		// At least one participant is always asked about the shell before the call.
		each("none operator ", []string{"allow", "deny", "modify"}, " pre_tool_use shell"),
		each("", append([]string{"internal"}, programCauses...), " operator deny pre_tool_use shell"),
		// A guard never modifies, and a participant that allows on failure denies
		// only when the budget is exhausted.
		each("none operator ", []string{"allow", "deny"}, " pre_tool_use mcp__*"),
		each("", []string{"internal", "budget"}, " operator deny pre_tool_use mcp__*"),
		// After the call one of the tools is covered and others are not.
		each("none operator ", []string{"allow", "deny", "replace"}, " post_tool_use mcp__*"),
		each("", []string{
			"internal", "uncovered", "budget", "empty", "exit", "malformed", "oversize", "panic", "saturated", "signal",
			"spawn", "timeout", "wrong_decision",
		}, " operator deny post_tool_use mcp__*"),
		// A shadow does not cover a call.
		each("", []string{"internal", "uncovered"}, " operator deny pre_tool_use other"),
		each("", []string{"internal", "uncovered"}, " operator deny post_tool_use other"),
		each("", []string{"internal", "uncovered"}, " operator deny post_tool_use shell"),
		each("uncovered lenient allow ", []string{"pre_tool_use", "post_tool_use"}, " other"),
		each("internal lenient deny ", []string{"pre_tool_use", "post_tool_use"}, " other"),
	))
}

func TestM2_ADenialIsOfAToolThatTheHookIsAskedAbout(t *testing.T) {
	_, registry, _ := configured(t, tenant(
		with(program("shell-only"), func(p *metrics.Participant) { p.Tools = []string{"shell"} }),
		with(program("every"), func(p *metrics.Participant) { p.Events = chain.Events() }),
		with(program("shadow"), func(p *metrics.Participant) { p.Mode = chain.Shadow }),
	))
	sameSeries(t, registry, "hookgate_denials_total", slices.Concat( // labels: chain event hook tool why
		each("acme pre_tool_use shell-only shell ", []string{"decision", "failure"}, ""),
		each("acme pre_tool_use every shell ", []string{"decision", "failure"}, ""),
		each("acme pre_tool_use every other ", []string{"decision", "failure"}, ""),
		each("acme post_tool_use every shell ", []string{"decision", "failure"}, ""),
		each("acme post_tool_use every other ", []string{"decision", "failure"}, ""),
	))
}

func TestM2_AShadowTurnsWhatItsChainsCanDecide(t *testing.T) {
	shadow := func(name string, change func(*metrics.Participant)) *metrics.Participant {
		p := with(program(name), func(p *metrics.Participant) { p.Mode = chain.Shadow })
		return with(p, change)
	}
	guard := with(program("guard"), func(p *metrics.Participant) { p.Guard, p.Events = true, chain.Events() })
	unchanged := func(*metrics.Participant) {}
	shared := shadow("shared", unchanged)
	_, registry, _ := configured(t, metrics.Config{Chains: []metrics.Chain{
		{Participants: []*metrics.Participant{
			program("rewriter"), guard,
			shadow("free", unchanged),
			shadow("promised", func(p *metrics.Participant) { p.Guard = true }),
			shadow("after", func(p *metrics.Participant) { p.Events = post() }),
			shared,
		}},
		{Name: "guarded", Participants: []*metrics.Participant{guard, shared, shadow("alone", unchanged)}},
		{Name: "denying", Participants: []*metrics.Participant{shadow("idle", unchanged)}},
		{Name: "lenient", OnUncovered: chain.AllowUncovered, Participants: []*metrics.Participant{shadow("only", unchanged)}},
	}})
	sameSeries(t, registry, "hookgate_shadow_flips_total", []string{ // labels: from hook to
		"allow free deny", "allow free modify", "modify free deny",
		"allow promised deny", "modify promised deny",
		"allow after deny", "allow after replace",
		"allow shared deny", "allow shared modify", "modify shared deny",
		"allow alone deny", "allow alone modify",
		"allow only deny", "allow only modify",
	})
}

func TestM2_BreakersAndStatesAreThoseThatExist(t *testing.T) {
	_, registry, _ := configured(t, tenant(
		endpoint("remote"), program("local"),
		with(program("code"), func(p *metrics.Participant) { p.Binding, p.State = metrics.InProcess, nil }),
	))
	sameSeries(t, registry, "hookgate_breaker_transitions_total", []string{ // labels: from hook to
		"closed remote open", "open remote half_open", "half_open remote open", "half_open remote closed",
	})
	sameSeries(t, registry, "hookgate_breaker_state", []string{"remote closed", "remote half_open", "remote open"})
	sameSeries(t, registry, "hookgate_hook_in_flight", []string{"remote", "local"})
	sameSeries(t, registry, "hookgate_hook_duration_seconds", []string{"webhook remote", "subprocess local", "in_process code"})
	sameSeries(t, registry, "hookgate_decision_duration_seconds", []string{"acme pre_tool_use", "acme post_tool_use"})
}

func TestM2_WhatNobodyForesawIsCountedUnderItsTrueName(t *testing.T) {
	_, registry, c := configured(t, tenant(with(program("guard"), func(p *metrics.Participant) { p.Guard = true })))
	o := c.Chains[0]
	o.Participants[0].Answered(chain.PostToolUse, chain.Answer{Outcome: chain.Outcome{Decision: chain.Replace}}, 1)
	o.Participants[0].Answered(chain.PreToolUse, chain.Fail(chain.TLS, "", ""), 1)
	o.Participants[0].FailedOpen(chain.TLS)
	o.Chain.Decided(request(t, chain.PreToolUse, "shell"), denial(chain.TLS, "guard"))
	o.Chain.Decided(request(t, chain.PostToolUse, "shell"), denial(chain.NoCause, "guard"))

	counted(t, registry, "hookgate_hook_answers_total", map[string]float64{
		"replace subprocess post_tool_use guard enforce": 1, "failure subprocess pre_tool_use guard enforce": 1,
	})
	counted(t, registry, "hookgate_hook_failures_total", map[string]float64{"subprocess tls guard": 1})
	counted(t, registry, "hookgate_hook_fail_open_total", map[string]float64{"tls guard": 1})
	counted(t, registry, "hookgate_decisions_total", map[string]float64{
		"tls acme deny pre_tool_use other": 1, "none acme deny post_tool_use other": 1,
	})
	counted(t, registry, "hookgate_denials_total", map[string]float64{
		"acme pre_tool_use guard other failure": 1, "acme post_tool_use guard other decision": 1,
	})
}

func TestM2_WhatHasNoRowIsNotCounted(t *testing.T) {
	_, registry, c := configured(t, tenant(program("local")))
	before := everySeries(t, registry)
	o := c.Chains[0]
	o.Participants[0].Flipped(chain.Allow, chain.Deny)
	o.Participants[0].Transition(metrics.BreakerClosed, metrics.BreakerOpen)
	o.Chain.Decided(request(t, chain.PreToolUse, "shell"), denial(chain.NoCause, "a stranger"))
	if after := everySeries(t, registry); !slices.Equal(before, after) {
		t.Errorf("series were %d and are %d", len(before), len(after))
	}
	counted(t, registry, "hookgate_denials_total", map[string]float64{})
	counted(t, registry, "hookgate_decisions_total", map[string]float64{"none acme deny pre_tool_use other": 1})
}
