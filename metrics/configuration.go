package metrics

import (
	"encoding/hex"

	"github.com/hookgate/hookgate/chain"
)

// Configuration is a configuration whose series have been created. They are
// exposed once it is activated.
type Configuration struct {
	// Chains are the observers of each chain, in the order of [Config].Chains.
	Chains []ChainObservers
	// Agents are the observers of each agent, in the order of [Config].Agents.
	Agents []*AgentObserver

	// Callers are the observers of each caller, in the order of [Config].Callers.
	Callers []*CallerObserver

	metrics   *Metrics
	catalogue *catalogue
}

// ChainObservers are the observers of one chain.
type ChainObservers struct {
	Chain *ChainObserver
	// Participants are in the order of [Chain].Participants. A participant of
	// several chains has one observer.
	Participants []*ParticipantObserver
}

// Configure creates the series of a configuration, or returns an error that
// lists every problem with it. Series that the active configuration also has
// keep their counts (M3). A Configuration that is not to be activated can
// simply be dropped (M6).
func (m *Metrics) Configure(c Config) (*Configuration, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	before := &catalogue{}
	if a := m.active.Load(); a != nil {
		before = a.catalogue
	}
	d := draft{catalogue: m.shapes.catalogue(before), seen: map[*Participant]*ParticipantObserver{}}
	d.sum = hex.EncodeToString(c.Sum[:])
	made := &Configuration{metrics: m, catalogue: d.catalogue}
	for _, ch := range c.Chains {
		made.Chains = append(made.Chains, d.chain(&ch))
	}
	for i := range c.Agents {
		made.Agents = append(made.Agents, d.agent(&c.Agents[i]))
	}
	for i := range c.Callers {
		made.Callers = append(made.Callers, d.caller(&c.Callers[i]))
	}
	d.made()
	return made, nil
}

// Activate exposes the series of this configuration instead of the previous
// one's. Except for the first configuration, it counts a successful reload. It
// cannot fail, so call it right before calls begin to use the new chains.
func (c *Configuration) Activate() { c.metrics.activate(c.catalogue) }

// draft is a catalogue under construction.
type draft struct {
	*catalogue
	seen map[*Participant]*ParticipantObserver
}

// chain creates the series of a chain and its participants.
func (d *draft) chain(c *Chain) ChainObservers {
	o := &ChainObserver{tools: newTools(c.Participants), denials: map[string][]*row{}}
	made := ChainObservers{Chain: o}
	for _, p := range c.Participants {
		made.Participants = append(made.Participants, d.participant(c, p))
	}
	for _, e := range chain.Events() {
		o.durations[eventColumn(e)] = d.decisionDurations.series([2]string{c.label(), e.String()})
	}
	for tool, label := range o.tools.labels {
		asked := make([]reach, len(c.Participants))
		for i, p := range c.Participants {
			asked[i] = label.reachedBy(p.Tools)
			if p.Mode == chain.Enforce && asked[i] != reachesNone {
				o.deniedBy(p, tool, d.denials.row(names{c.label(), clean(p.Name), clean(label.text)}, p.denials()))
			}
		}
		for _, e := range chain.Events() {
			r := d.decisions.row(names{c.label(), e.String(), clean(label.text)}, c.outcomes(e, asked))
			o.decisions[eventColumn(e)] = append(o.decisions[eventColumn(e)], r)
		}
	}
	return made
}

// participant creates the series of a participant of the chain.
func (d *draft) participant(c *Chain, p *Participant) *ParticipantObserver {
	name, binding := clean(p.Name), p.Binding.String()
	o, ok := d.seen[p]
	if !ok {
		answers, failures := p.answers()
		o = &ParticipantObserver{
			mode:     p.Mode,
			answers:  d.answers.row(names{name, binding}, answers),
			failures: d.failures.row(names{name, binding}, failures),
			failOpen: d.failOpen.row(names{name}, p.failsOpen()),
			timeout:  p.Timeout,
			duration: d.hookDurations.series([2]string{name, binding}),
		}
		if p.HasBreaker {
			o.transitions = d.transitions.row(names{name}, p.transitions())
		}
		d.way(o, name, p)
		if p.State != nil {
			d.states.add(name, p)
		}
		d.seen[p] = o
	}
	if p.Mode == chain.Shadow {
		o.flips = d.flips.row(names{name}, c.flips(p)) // which flips are possible depends on the chain
	}
	return o
}
