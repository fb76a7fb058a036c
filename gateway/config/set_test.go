package config

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hookgate/hookgate/chain"
)

func TestChain_TheOperatorsLimitsHoldForEveryTenant(t *testing.T) {
	tests := map[string]struct {
		operator, own string
		budget        time.Duration
		onUncovered   chain.Coverage
	}{
		"nobody says anything":           {"", "", 20 * time.Second, chain.AllowUncovered},
		"the operator alone":             {"budget_ms: 60000\non_uncovered: deny", "", time.Minute, chain.DenyUncovered},
		"the tenant alone":               {"", "budget_ms: 5000\non_uncovered: deny", 5 * time.Second, chain.DenyUncovered},
		"the operator's default holds":   {"", "budget_ms: 60000", 20 * time.Second, chain.AllowUncovered},
		"the operator is stricter":       {"budget_ms: 1000\non_uncovered: deny", "budget_ms: 2000\non_uncovered: allow", time.Second, chain.DenyUncovered},
		"the tenant is stricter":         {"budget_ms: 2000\non_uncovered: allow", "budget_ms: 1000\non_uncovered: deny", time.Second, chain.DenyUncovered},
		"the tenant cannot allow itself": {"on_uncovered: deny", "on_uncovered: allow", 20 * time.Second, chain.DenyUncovered},
		"both allow":                     {"on_uncovered: allow", "on_uncovered: allow", 20 * time.Second, chain.AllowUncovered},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{
				"hooks.yaml":    "schema: 1\nhooks: [{name: global, command: [x]}]\n" + test.operator,
				"chains/a.yaml": "schema: 1\nhooks: [{name: own, command: [x]}]\n" + test.own,
			})
			set := loaded(t, Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: filepath.Join(dir, "chains")})
			c, ok := set.Chain("a")
			if !ok || c.Budget != test.budget || c.OnUncovered != test.onUncovered {
				t.Errorf("chain = %+v, %v; want %v, %v", c, ok, test.budget, test.onUncovered)
			}
			var names []string
			for _, h := range c.Hooks {
				names = append(names, h.Name)
			}
			same(t, "hooks", []string{"global", "own"}, names)
			if operator, ok := set.Chain(OperatorChain); !ok || len(operator.Hooks) != 1 {
				t.Errorf("operator's chain = %+v, %v; want its one hook", operator, ok)
			}
			if _, ok := set.Chain("b"); ok {
				t.Error("there is a chain without a file")
			}
		})
	}
}

func TestChain_WithoutAnOperatorATenantStandsAlone(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.yaml": "schema: 1\nbudget_ms: 30000\nhooks: [{name: own, command: [x]}]\n"})
	c, ok := loaded(t, Options{ChainsDir: dir}).Chain("a")
	if !ok || len(c.Hooks) != 1 || c.Budget != 30*time.Second || c.OnUncovered != chain.AllowUncovered {
		t.Errorf("chain = %+v, %v", c, ok)
	}
}

func TestChain_TheWorstCaseIsWhatTheFoldWouldWaitFor(t *testing.T) {
	hook := func(timeout int, change func(*Hook)) *Hook {
		h := &Hook{Event: chain.PreToolUse, Timeout: time.Duration(timeout)}
		if change != nil {
			change(h)
		}
		return h
	}
	guard := func(h *Hook) { h.Guard = true }
	shadow := func(h *Hook) { h.Mode = chain.Shadow }
	post := func(h *Hook) { h.Event = chain.PostToolUse }
	of := func(tools ...string) func(*Hook) { return func(h *Hook) { h.Tools = tools } }
	guardOf := func(tools ...string) func(*Hook) { return func(h *Hook) { h.Guard, h.Tools = true, tools } }
	person := func(h *Hook) { h.Use = &Use{Guard: UseApproval} }
	tests := map[string]struct {
		hooks     []*Hook
		pre, post time.Duration
	}{
		"no hooks":                          {nil, 0, 0},
		"one after the other":               {[]*Hook{hook(1, nil), hook(2, nil)}, 3, 0},
		"neighbouring guards together":      {[]*Hook{hook(1, guard), hook(5, guard), hook(2, guard)}, 5, 0},
		"a person has time of his own":      {[]*Hook{hook(1, guard), hook(100, person), hook(5, guard)}, 6, 0},
		"guards apart":                      {[]*Hook{hook(1, guard), hook(2, nil), hook(5, guard)}, 8, 0},
		"a shadow ends no run":              {[]*Hook{hook(1, guard), hook(100, shadow), hook(5, guard)}, 5, 0},
		"a hook of the other event no more": {[]*Hook{hook(1, guard), hook(100, post), hook(5, guard)}, 5, 100},
		"each event for itself":             {[]*Hook{hook(1, nil), hook(2, post), hook(4, nil), hook(8, post)}, 5, 10},
		"one tool at a time":                {[]*Hook{hook(1, of("a")), hook(2, of("b")), hook(4, of("c", "a"))}, 5, 0},
		"patterns may all match":            {[]*Hook{hook(1, of("a*")), hook(2, of("b*")), hook(4, of("c"))}, 4, 0},
		"a pattern matches a named tool":    {[]*Hook{hook(1, of("a*")), hook(2, of("abc")), hook(4, nil)}, 7, 0},
		"a guard of another tool between":   {[]*Hook{hook(3, guardOf("a")), hook(9, of("b")), hook(4, guardOf("a"))}, 9, 0},
	}
	for name, test := range tests {
		c := Chain{Hooks: test.hooks}
		if pre, post := c.WorstCase(chain.PreToolUse), c.WorstCase(chain.PostToolUse); pre != test.pre || post != test.post {
			t.Errorf("%s: worst case = %d and %d, want %d and %d", name, pre, post, test.pre, test.post)
		}
	}
}

func TestWarnings_WhatIsAllowedAndProbablyNotMeantIsSaid(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"hooks.yaml": `schema: 1
hooks:
  - {name: a, command: [x], guard: true, on_failure: allow, timeout_ms: 20001}
  - {name: b, url: "http://dlp.example.com/"}
  - {name: c, url: "http://127.0.0.1:8000/"}
  - {name: d, url: "http://[::1]/"}
  - {name: e, url: "http://LocalHost/"}
  - {name: f, use: shell, tools: ["Edit|Write", "mcp__.*", "mcp__*", fs.read, "mcp__{a,b}__*", "Bas?", " Bash", "Edit, Write"]}
  - {name: g, use: shell, when: [{field: /inputs/command, exists: true}, {field: /session, exists: true}, {field: /input, exists: true}, {field: /tool_alias, exists: true}]}
  - {name: h, use: shell, event: post_tool_use, on_failure: allow, when: [{field: /output, exists: true}]}
budget_ms: 20000
`,
		"chains/a.yaml": "schema: 1\nhooks: []\n",
		"chains/b.yaml": "schema: 1\nbudget_ms: 4000\nhooks: [{name: z, use: shell, timeout_ms: 4001, event: post_tool_use}]\n",
		"chains/README": "",
	})
	set := loaded(t, Options{
		ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: filepath.Join(dir, "chains"), Guards: []string{"shell"},
	})
	var got []string
	for _, w := range set.Warnings {
		got = append(got, w.String()[len(dir)+1:])
	}
	same(t, "warnings", []string{
		`hooks.yaml:3: hooks[0] "a": timeout_ms 20001 is longer than the budget of the whole chain (budget_ms 20000)`,
		`hooks.yaml:3: hooks[0] "a": on_failure: a guard that allows on failure guards nothing while it is down`,
		`hooks.yaml:4: hooks[1] "b": url: calls and answers are sent to dlp.example.com in plain text: anyone on the network path can read and change them`,
		`hooks.yaml:8: hooks[5] "f": tools[0]: "Edit|Write" is taken literally, not as a regular expression: only * is a wildcard`,
		`hooks.yaml:8: hooks[5] "f": tools[1]: "mcp__.*" is taken literally, not as a regular expression: only * is a wildcard`,
		`hooks.yaml:8: hooks[5] "f": tools[4]: "mcp__{a,b}__*" is taken literally, not as a regular expression: only * is a wildcard`,
		`hooks.yaml:8: hooks[5] "f": tools[5]: "Bas?" is taken literally, not as a regular expression: only * is a wildcard`,
		`hooks.yaml:8: hooks[5] "f": tools[6]: " Bash" is taken literally, as the name of one tool: blanks and commas are part of it`,
		`hooks.yaml:8: hooks[5] "f": tools[7]: "Edit, Write" is taken literally, as the name of one tool: blanks and commas are part of it`,
		`hooks.yaml:9: hooks[6] "g": when[0].field: "/inputs" is not a standard field of the envelope: it exists only if the agent's runtime sends it; did you mean "input"?`,
		`hooks.yaml:9: hooks[6] "g": when[1].field: "/session" is not a standard field of the envelope: it exists only if the agent's runtime sends it`,
		`hooks.yaml:10: hooks[7] "h": on_failure: a guard that allows on failure guards nothing while it is down`,
		`hooks.yaml:11: the hooks of chain "operator" can take 50001 ms in total at pre_tool_use, but budget_ms is 20000: a chain that runs out of time denies`,
		`chains/b.yaml:2: the hooks of chain "b" can take 50001 ms in total at pre_tool_use, but budget_ms is 4000: a chain that runs out of time denies`,
		`chains/b.yaml:3: hooks[0] "z": timeout_ms 4001 is longer than the budget of the whole chain (budget_ms 4000)`,
		`chains/README: is ignored: a chain is a file NAME.yaml, NAME.yml or NAME.json`,
	}, got)
}

func TestWarnings_AChainThatAllowsEverythingIsSaid(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"hooks.yaml": "schema: 1\nhooks: []\n", "strict.yaml": "schema: 1\nhooks: []\non_uncovered: deny\n"})
	open := filepath.Join(dir, "hooks.yaml")
	same(t, "warnings", []Warning{
		{Position{File: open, Line: 1, Column: 1}, "this chain has no hooks: every call is allowed"},
	}, loaded(t, Options{ConfigFile: open}).Warnings)
	write(t, dir, map[string]string{"shadows.yaml": "schema: 1\nhooks: [{name: a, command: [x], mode: shadow}]\n"})
	shadows := filepath.Join(dir, "shadows.yaml")
	same(t, "warnings", []Warning{
		{Position{File: shadows, Line: 1, Column: 1}, "all hooks of this chain are in shadow mode: every call is allowed"},
	}, loaded(t, Options{ConfigFile: shadows}).Warnings)
	if got := loaded(t, Options{ConfigFile: filepath.Join(dir, "strict.yaml")}).Warnings; got != nil {
		t.Errorf("warnings = %v, want none", got)
	}
}
