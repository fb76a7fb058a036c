package gateway

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/metrics"
	"github.com/hookgate/hookgate/transport/agentproc"
)

// agent is an agent of one plan.
type agent struct {
	profile agentproc.Profile
	// chain answers its requests for permission.
	chain   *chain.Chain
	metrics *metrics.AgentObserver
	seats   *seats
}

// seats are an agent's turns under way. They outlast a reload, so that the limit
// holds over one.
type seats struct{ occupied atomic.Int64 }

// take takes a seat if there are less than limit taken.
func (s *seats) take(limit int) bool {
	if s.occupied.Add(1) > int64(limit) {
		s.occupied.Add(-1)
		return false
	}
	return true
}

func (s *seats) leave() { s.occupied.Add(-1) }

func (s *seats) taken() int { return int(s.occupied.Load()) }

// agents are the agents of the set, by name.
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
