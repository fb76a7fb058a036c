package metrics

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// OperatorChain is the label of the operator's own chain.
const OperatorChain = "operator"

// Config is everything of a configuration that decides which series there are.
type Config struct {
	// Sum is the digest by which replicas that differ are seen.
	Sum [sha256.Size]byte
	// Chains are all chains, the operator's own included.
	Chains []Chain
	// Agents are all agents, each with a name of its own.
	Agents []Agent
	// Callers are all callers, each with a name of its own.
	Callers []Caller
}

// Chain is one chain of a configuration.
type Chain struct {
	// Name labels its series. Empty stands for the operator's chain. Chains of
	// one name share their series.
	Name string
	// OnUncovered is what it answers where no enforcing participant applies.
	OnUncovered chain.Coverage
	// Participants are everybody it asks, in order. One that is asked by many
	// chains is one Participant: the same pointer in each of them.
	Participants []*Participant
}

// Participant is one entry of a configuration. Participants of one name share
// their series.
type Participant struct {
	// Name labels its series.
	Name string
	// Binding is how it is reached.
	Binding Binding
	// Mode, Events, Tools, OnFailure and Guard are those of the
	// [chain.Participant].
	Mode      chain.Mode
	Events    []chain.Event
	Tools     []string
	OnFailure chain.OnFailure
	Guard     bool
	// Timeout is how long a call to it may take. Zero shows none.
	Timeout time.Duration
	// Causes are the failures that its binding can report. Those that the
	// chain makes of any answer are known here and need not be listed.
	Causes []chain.Cause
	// HasBreaker says that a circuit breaker stands before it.
	HasBreaker bool
	// TLS says that the way to it is secured by TLS.
	TLS bool
	// Certificates are those that the way to it rests on and that end, each with
	// when the first of them does; nil is none.
	Certificates map[Certificate]time.Time
	// WarmsUp says that it is asked before it is needed.
	WarmsUp bool
	// CanaryPassing says whether it denied the last time what it has to deny. It
	// is called for every scrape, from any goroutine. Nil where it is not
	// checked.
	CanaryPassing func() bool
	// State reads its state. It is called for every scrape, from any
	// goroutine. Nil where there is no state to read.
	State func() State
}

// State is the state of one participant at one moment.
type State struct {
	// InFlight is how many calls to it are under way.
	InFlight int
	// Breaker is the state of its circuit breaker, if it has one.
	Breaker BreakerState
	// NextTry is when that lets the next call through; zero where it is not
	// open.
	NextTry time.Time
}

// Certificate is what a certificate is for. The zero Certificate is for nothing.
type Certificate uint8

// The certificates.
const (
	// ClientCertificate shows the endpoint who asks.
	ClientCertificate Certificate = iota + 1
	// CACertificate is of those that the endpoint's has to come from.
	CACertificate
)

// String returns what it is for as it stands in labels.
func (c Certificate) String() string {
	switch c {
	case ClientCertificate:
		return "client"
	case CACertificate:
		return "ca"
	}
	return "unset"
}

// Binding is how a participant is reached. The zero Binding is no way at all.
type Binding uint8

// The bindings.
const (
	InProcess Binding = iota + 1
	Subprocess
	Webhook
)

// String returns the binding as it stands in labels.
func (b Binding) String() string {
	switch b {
	case InProcess:
		return "in_process"
	case Subprocess:
		return "subprocess"
	case Webhook:
		return "webhook"
	}
	return "unset"
}

// BreakerState is a state of a circuit breaker. The zero BreakerState is none
// of them.
type BreakerState uint8

// The states.
const (
	BreakerClosed BreakerState = iota + 1
	BreakerHalfOpen
	BreakerOpen
)

// BreakerStates returns every state.
func BreakerStates() []BreakerState {
	return []BreakerState{BreakerClosed, BreakerHalfOpen, BreakerOpen}
}

// String returns the state as it stands in labels.
func (s BreakerState) String() string {
	switch s {
	case BreakerClosed:
		return "closed"
	case BreakerHalfOpen:
		return "half_open"
	case BreakerOpen:
		return "open"
	}
	return "unset"
}

func (s BreakerState) known() bool { return s >= BreakerClosed && s <= BreakerOpen }

// check returns every reason why series cannot be made for the configuration.
func (c *Config) check() error {
	var errs []error
	for _, ch := range c.Chains {
		for i, p := range ch.Participants {
			if err := p.check(); err != nil {
				errs = append(errs, fmt.Errorf("metrics: chain %q: participant %d %w", ch.label(), i, err))
			}
		}
	}
	for i := range c.Agents {
		if err := c.Agents[i].check(); err != nil {
			errs = append(errs, fmt.Errorf("metrics: agent %d %w", i, err))
		}
	}
	for i := range c.Callers {
		if err := c.Callers[i].check(); err != nil {
			errs = append(errs, fmt.Errorf("metrics: caller %d %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func (p *Participant) check() error {
	switch {
	case p == nil:
		return errors.New("is missing")
	case p.Name == "":
		return errors.New("has no name")
	case p.Binding < InProcess || p.Binding > Webhook:
		return fmt.Errorf("%q has no binding", p.Name)
	case len(p.Events) == 0:
		return fmt.Errorf("%q has no event", p.Name)
	case p.HasBreaker && p.State == nil:
		return fmt.Errorf("%q has a breaker, but nothing reads its state", p.Name)
	}
	return nil
}

// label is the chain's name as it stands in labels.
func (c *Chain) label() string {
	if c.Name == "" {
		return OperatorChain
	}
	return clean(c.Name)
}

// clean returns a label value that Prometheus takes. Configuration refuses
// names that are not UTF-8; should one come through, it must not take down the
// process.
func clean(value string) string { return strings.ToValidUTF8(value, "\uFFFD") }
