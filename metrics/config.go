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

// Config is the part of a configuration that determines which series exist.
type Config struct {
	// Sum is the configuration's digest, which shows whether replicas differ.
	Sum [sha256.Size]byte
	// Chains are all chains, including the operator's.
	Chains []Chain
	// Agents are all agents. Their names must be unique.
	Agents []Agent
	// Callers are all callers. Their names must be unique.
	Callers []Caller
}

// Chain describes one chain of a configuration.
type Chain struct {
	// Name is the value of its series' label. Empty means the operator's chain.
	// Chains with the same name share their series.
	Name string
	// OnUncovered is its decision if no enforcing participant applies.
	OnUncovered chain.Coverage
	// Participants are the participants, in order. A participant of several chains
	// must be the same pointer in each of them.
	Participants []*Participant
}

// Participant describes one entry of a configuration. Participants with the
// same name share their series.
type Participant struct {
	// Name is the value of its series' label.
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
	// Timeout is how long a call to it may take. Zero exposes no timeout.
	Timeout time.Duration
	// Causes are the failures that its binding can report. Failures that the chain
	// derives from an answer are known here and need not be listed.
	Causes []chain.Cause
	// HasBreaker says that it has a circuit breaker.
	HasBreaker bool
	// TLS says that it is reached over TLS.
	TLS bool
	// Certificates are the certificates that connections to it depend on, by kind,
	// with the earliest expiry time of each kind. It may be nil.
	Certificates map[Certificate]time.Time
	// WarmsUp says that it is pinged to keep it warm.
	WarmsUp bool
	// CanaryPassing reports whether it denied its last canary call. It is called
	// on every scrape and must be safe for concurrent use. It is nil if the
	// participant has no canary.
	CanaryPassing func() bool
	// State returns its state. It is called on every scrape and must be safe for
	// concurrent use. It is nil if there is no state to read.
	State func() State
}

// State is a snapshot of one participant's state.
type State struct {
	// InFlight is the number of calls in flight.
	InFlight int
	// Breaker is the state of its circuit breaker, if it has one.
	Breaker BreakerState
	// NextTry is when the breaker lets the next call through. It is zero if the
	// breaker is not open.
	NextTry time.Time
}

// Certificate is the kind of a certificate. The zero Certificate is invalid.
type Certificate uint8

// The kinds of certificates.
const (
	// ClientCertificate authenticates the gateway to the endpoint.
	ClientCertificate Certificate = iota + 1
	// CACertificate is an authority that the endpoint's certificate is verified
	// with.
	CACertificate
)

// String returns the kind's label value.
func (c Certificate) String() string {
	switch c {
	case ClientCertificate:
		return "client"
	case CACertificate:
		return "ca"
	}
	return "unset"
}

// Binding is how a participant is reached. The zero Binding is invalid.
type Binding uint8

// The bindings.
const (
	InProcess Binding = iota + 1
	Subprocess
	Webhook
)

// String returns the binding's label value.
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

// BreakerState is a state of a circuit breaker. The zero BreakerState is
// invalid.
type BreakerState uint8

// The states of a circuit breaker.
const (
	BreakerClosed BreakerState = iota + 1
	BreakerHalfOpen
	BreakerOpen
)

// BreakerStates returns every state.
func BreakerStates() []BreakerState {
	return []BreakerState{BreakerClosed, BreakerHalfOpen, BreakerOpen}
}

// String returns the state's label value.
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

// check returns an error that lists every problem with the configuration.
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
		return fmt.Errorf("%q has a circuit breaker, but nothing to read its state", p.Name)
	}
	return nil
}

// label is the chain's label value.
func (c *Chain) label() string {
	if c.Name == "" {
		return OperatorChain
	}
	return clean(c.Name)
}

// clean makes a label value valid for Prometheus. Configuration refuses names
// that are not UTF-8; if one came through nevertheless, it must not crash the
// process.
func clean(value string) string { return strings.ToValidUTF8(value, "\uFFFD") }
