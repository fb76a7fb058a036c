package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/approval"
	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/metrics"
	"github.com/hookgate/hookgate/transport"
)

// Report describes valid configuration files.
type Report struct {
	// Files names what was read, for people.
	Files string
	// Chains lists all chains, the operator's first.
	Chains []ChainReport
	// Warnings lists settings that are valid but probably not intended.
	Warnings []string
}

// ChainReport summarizes one chain.
type ChainReport struct {
	Name  string
	Hooks int
	// Budget is the maximum duration of a decision.
	Budget time.Duration
	// WorstCase is, by event, how long the participants take if all of them
	// hang.
	WorstCase map[chain.Event]time.Duration
	// PersonCase is, by event, how much longer it can take to wait for people.
	PersonCase map[chain.Event]time.Duration
}

// Check reads the files that o names and builds everything that a gateway would,
// without starting a process or asking a participant. It looks only at the
// properties of the audit outputs, so they need no sink. The error lists every
// mistake.
func Check(o Options) (*Report, error) {
	o.AllowAnonymous = true // the listen address is not part of the files
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	set, err := loadFiles(o)
	if err != nil {
		return nil, err
	}
	shown, err := loadCertificate(o.TLSCertFile, o.TLSKeyFile)
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(o, prometheus.NewRegistry(), new(atomic.Int64), shown, metrics.Approvals{})
	if err != nil {
		return nil, err
	}
	made, err := (&builder{options: &o, metrics: m, set: set, dry: true}).build()
	if err != nil {
		return nil, err
	}
	for _, l := range made.lives {
		l.binding.Close()
	}
	r := reportOn(o, set)
	r.Warnings = append(r.Warnings, unfindable(made.plan.hooks, set.Agents)...)
	if err := auditMistake(o.Audit, set); err != nil && !o.AuditState {
		r.Warnings = append(r.Warnings, err.Error())
	}
	if o.StateDir == "" && o.DatabaseURL == "" {
		r.Warnings = append(r.Warnings, homeless(made.plan.hooks)...)
	}
	return r, nil
}

func reportOn(o Options, set *config.Set) *Report {
	r := &Report{Files: set.Operator.Path}
	if o.ChainsDir != "" {
		r.Files += fmt.Sprintf(" and %s of %s", numberOf(len(set.Chains), "chain"), o.ChainsDir)
	}
	if o.AgentsDir != "" {
		r.Files += fmt.Sprintf(" and %s of %s", numberOf(len(set.Agents), "agent"), o.AgentsDir)
	}
	if set.Callers != nil {
		r.Files += fmt.Sprintf(" and %s of %s", numberOf(len(set.Callers.Callers), "caller"), o.CallersFile)
	}
	for _, name := range append([]string{config.OperatorChain}, slices.Sorted(maps.Keys(set.Chains))...) {
		c, _ := set.Chain(name) // the names are the set's own
		report := ChainReport{Name: name, Hooks: len(c.Hooks), Budget: c.Budget, WorstCase: map[chain.Event]time.Duration{}, PersonCase: map[chain.Event]time.Duration{}}
		for _, event := range chain.Events() {
			report.WorstCase[event], report.PersonCase[event] = c.WorstCase(event), c.PersonCase(event)
		}
		r.Chains = append(r.Chains, report)
	}
	for _, w := range set.Warnings {
		r.Warnings = append(r.Warnings, w.String())
	}
	return r
}

// numberOf formats a count with its noun in singular or plural.
func numberOf(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// homeless warns of hooks whose approvals have nowhere to be stored; a gateway
// refuses to start with such hooks. It is only a warning because the files may
// be checked on a different machine.
func homeless(members []*member) []string {
	var warnings []string
	for _, m := range members {
		if m.entry != nil && m.entry.IsApproval() {
			w := config.Warning{Position: m.entry.Position, Message: approval.ErrNoStore.Error()}
			warnings = append(warnings, w.String())
		}
	}
	return warnings
}

// unfindable warns of programs that do not exist. It is only a warning because
// they may be installed before the first call, and the files may be checked on a
// different machine.
func unfindable(members []*member, agents map[string]*config.Agent) []string {
	var warnings []string
	for _, m := range members {
		program, ok := m.binding.(*transport.Command)
		if !ok {
			continue
		}
		if err := program.Findable(); err != nil {
			w := config.Warning{Position: m.entry.Position, Message: "cannot be started from here: " + err.Error()}
			warnings = append(warnings, w.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		if err := agents[name].Profile.Findable(); err != nil {
			w := config.Warning{Position: agents[name].Position, Message: err.Error()}
			warnings = append(warnings, w.String())
		}
	}
	return warnings
}

// String formats the report for the terminal.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ok\n", r.Files)
	for _, c := range r.Chains {
		fmt.Fprintf(&b, "chain %s: %s, budget %d ms", c.Name, numberOf(c.Hooks, "hook"), c.Budget.Milliseconds())
		for _, event := range chain.Events() {
			fmt.Fprintf(&b, ", %s at most %d ms", event, min(c.WorstCase[event], c.Budget).Milliseconds())
			if worst := c.WorstCase[event]; worst > c.Budget {
				fmt.Fprintf(&b, " (its hooks could take %d ms)", worst.Milliseconds())
			}
			if person := c.PersonCase[event]; person > 0 {
				fmt.Fprintf(&b, " and a person's %d ms", person.Milliseconds())
			}
		}
		b.WriteString("\n")
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}
