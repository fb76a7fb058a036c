package gateway

import (
	"sync"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/access"
	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/metrics"
)

// plan is one configuration: its chains and everything they are made of.
type plan struct {
	sum    string // hex digest of the files
	chains map[string]*chain.Chain
	hooks  []*member // in the order in which they are asked
	agents map[string]*agent
	// access is nil if callers are not authenticated.
	access  *access.Access
	callers map[*access.Caller]*metrics.CallerObserver
	audit   config.Audit
	// members maps the participants of the chains to their hooks.
	members map[*chain.Participant]*member

	mu       sync.Mutex
	inside   int  // requests in progress
	replaced bool // no new requests may enter
	release  func()
}

// chain returns the named chain, nil if there is none.
func (p *plan) chain(name string) *chain.Chain { return p.chains[name] }

// enter counts a request in. It returns false if the plan was replaced.
func (p *plan) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replaced {
		return false
	}
	p.inside++
	return true
}

// leave counts a request out. The last request of a replaced plan releases what
// only that plan held.
func (p *plan) leave() {
	p.mu.Lock()
	p.inside--
	last := p.replaced && p.inside == 0
	p.mu.Unlock()
	if last {
		p.release()
	}
}

// retire blocks new requests and calls release once the last one has left.
func (p *plan) retire(release func()) {
	p.mu.Lock()
	p.replaced, p.release = true, release
	empty := p.inside == 0
	p.mu.Unlock()
	if empty {
		release()
	}
}

// plans holds the plan in force (G2). Its zero value holds none (G4).
type plans struct {
	mu  sync.RWMutex
	now *plan
}

// current returns the plan in force, nil if there is none.
func (s *plans) current() *plan {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.now
}

// sum returns the digest of the files in force, empty if there are none.
func (s *plans) sum() string {
	if p := s.current(); p != nil {
		return p.sum
	}
	return ""
}

// enter counts a request into the plan in force and returns the plan; nil if
// there is none. The caller must call leave on it.
func (s *plans) enter() *plan {
	for {
		p := s.current()
		if p == nil || p.enter() {
			return p
		}
		// The plan was replaced in between, so the new one is already there.
	}
}

// put puts next in force and returns the previous plan.
func (s *plans) put(next *plan) *plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.now
	s.now = next
	return before
}
