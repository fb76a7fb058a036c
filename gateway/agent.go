package gateway

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/metrics"
	"github.com/hookgate/hookgate/transport/agentproc"
)

// agent is one configured agent in one plan.
type agent struct {
	profile agentproc.Profile
	// chain decides the agent's permission requests.
	chain   *chain.Chain
	metrics *metrics.AgentObserver
	seats   *seats
}

// seats counts an agent's turns in progress. It outlives a reload, so that the
// limit (MaxTurns) holds across reloads.
type seats struct{ occupied atomic.Int64 }

// take reserves a seat and reports whether fewer than limit were taken.
func (s *seats) take(limit int) bool {
	if s.occupied.Add(1) > int64(limit) {
		s.occupied.Add(-1)
		return false
	}
	return true
}

func (s *seats) leave() { s.occupied.Add(-1) }

func (s *seats) taken() int { return int(s.occupied.Load()) }

// agents returns the configured agents, sorted by name.
func (b *builder) agents() []*agent {
	var all []*agent
	for _, name := range slices.Sorted(maps.Keys(b.set.Agents)) {
		a := &agent{profile: b.set.Agents[name].Profile, seats: b.seats[name]}
		if a.seats == nil {
			a.seats = &seats{}
		}
		all = append(all, a)
	}
	return all
}

func seatsOf(agents []*agent) map[string]*seats {
	all := make(map[string]*seats, len(agents))
	for _, a := range agents {
		all[a.profile.Name] = a.seats
	}
	return all
}
