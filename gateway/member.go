package gateway

import (
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/metrics"
	"github.com/hookgate/hookgate/transport"
)

// binding is what the gateway needs of a participant's binding.
type binding interface {
	chain.Binding
	Status() transport.Status
	Close()
}

// member is one participant of a plan with everything the gateway knows about
// it.
type member struct {
	*live
	participant *chain.Participant
	reached     metrics.Binding
	chain       string       // the tenant's chain that declares it; empty for the operator's
	entry       *config.Hook // nil for interceptors
}

// live is what survives a reload that did not change the entry (G5): the
// binding, with its breaker and its processes, and the counts.
type live struct {
	binding binding
	counts  counts
	events  events
	// upkeep runs the entry's background tasks.
	upkeep upkeep
	warmup *warmup      // nil if there is none
	canary *canaryWatch // nil if there is none
	// declared is the entry as the latest plan in force declares it.
	declared atomic.Pointer[config.Hook]
	// holders is the number of plans that use it; the last one to release it
	// closes it.
	holders atomic.Int64
}

// counts are the answers of one entry since it came into force.
type counts struct {
	allow, deny, modify, replace, failure, failedOpen atomic.Int64
	lastFailure                                       atomic.Pointer[failure]
}

// failure is a failure with the time when it happened.
type failure struct {
	at  time.Time
	why chain.Failure
}

// observer counts for /v1/hooks and forwards to the metrics of one plan.
type observer struct {
	*counts
	metrics chain.ParticipantObserver
}

// Answered implements [chain.ParticipantObserver].
func (o observer) Answered(event chain.Event, a chain.Answer, took time.Duration) {
	o.metrics.Answered(event, a, took)
	if a.Failure != nil {
		o.failure.Add(1)
		o.lastFailure.Store(&failure{at: time.Now(), why: *a.Failure})
		return
	}
	switch a.Outcome.Decision {
	case chain.Allow:
		o.allow.Add(1)
	case chain.Modify:
		o.modify.Add(1)
	case chain.Replace:
		o.replace.Add(1)
	case chain.Deny, chain.Undecided:
		o.deny.Add(1)
	}
}

// FailedOpen implements [chain.ParticipantObserver].
func (o observer) FailedOpen(cause chain.Cause) {
	o.metrics.FailedOpen(cause)
	o.failedOpen.Add(1)
}

// Flipped implements [chain.ParticipantObserver].
func (o observer) Flipped(from, to chain.Decision) { o.metrics.Flipped(from, to) }

// HookEntry is one participant as GET /v1/hooks shows it.
type HookEntry struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Binding   string   `json:"binding"`
	Chain     string   `json:"chain,omitempty"`
	File      string   `json:"file,omitempty"`
	Line      int      `json:"line,omitempty"`
	Events    []string `json:"events"`
	Tools     []string `json:"tools"`
	Mode      string   `json:"mode"`
	Guard     bool     `json:"guard"`
	OnFailure string   `json:"on_failure"`
	TimeoutMS int64    `json:"timeout_ms"`
	// FirstCallTimeoutMS replaces TimeoutMS while the hook is cold.
	FirstCallTimeoutMS int64         `json:"first_call_timeout_ms,omitempty"`
	InFlight           int           `json:"in_flight"`
	Breaker            *BreakerEntry `json:"breaker,omitempty"`
	Warmup             *WarmupEntry  `json:"warmup,omitempty"`
	Canary             *CanaryEntry  `json:"canary,omitempty"`
	Workers            *WorkersEntry `json:"workers,omitempty"`
	Counts             CountsEntry   `json:"counts"`
	LastFailure        *FailureEntry `json:"last_failure,omitempty"`
}

// BreakerEntry is the state of a circuit breaker.
type BreakerEntry struct {
	State               string       `json:"state"`
	ConsecutiveFailures int          `json:"consecutive_failures"`
	Window              *WindowEntry `json:"window,omitempty"`
	RetryAt             *time.Time   `json:"retry_at,omitempty"`
	Throttled           bool         `json:"throttled,omitempty"`
}

// WindowEntry is the sample of a breaker that opens at a failure ratio.
type WindowEntry struct {
	Calls    int `json:"calls"`
	Failures int `json:"failures"`
}

// WorkersEntry is the state of a pool of worker processes.
type WorkersEntry struct {
	Processes int   `json:"processes"`
	Alive     int   `json:"alive"`
	Restarts  int64 `json:"restarts"`
}

// CountsEntry counts the answers of an entry since it came into force.
type CountsEntry struct {
	Allow      int64 `json:"allow"`
	Deny       int64 `json:"deny"`
	Modify     int64 `json:"modify"`
	Replace    int64 `json:"replace"`
	Failure    int64 `json:"failure"`
	FailedOpen int64 `json:"failed_open"`
}

// FailureEntry is the latest failure of an entry.
type FailureEntry struct {
	Time   time.Time `json:"time"`
	Cause  string    `json:"cause"`
	Text   string    `json:"text"`
	Detail string    `json:"detail,omitempty"`
}

// describe returns the member as /v1/hooks shows it.
func (m *member) describe() HookEntry {
	p, status := m.participant, m.binding.Status()
	e := HookEntry{
		Name: p.Name, Kind: p.Kind.String(), Binding: m.reached.String(), Chain: m.chain,
		Events: []string{}, Tools: append([]string{}, p.Tools...),
		Mode: p.Mode.String(), Guard: p.Guard, OnFailure: p.OnFailure.String(), TimeoutMS: p.Timeout.Milliseconds(),
		FirstCallTimeoutMS: p.FirstTimeout.Milliseconds(),
		InFlight:           status.InFlight,
		Counts: CountsEntry{
			Allow: m.counts.allow.Load(), Deny: m.counts.deny.Load(), Modify: m.counts.modify.Load(),
			Replace: m.counts.replace.Load(), Failure: m.counts.failure.Load(), FailedOpen: m.counts.failedOpen.Load(),
		},
	}
	for _, event := range p.Events {
		e.Events = append(e.Events, event.String())
	}
	if m.entry != nil {
		e.File, e.Line = m.entry.Position.File, m.entry.Position.Line
	}
	if b := status.Breaker; b != nil {
		e.Breaker = &BreakerEntry{State: b.State.String(), ConsecutiveFailures: b.ConsecutiveFailures, Throttled: b.Throttled}
		if b.Window != nil {
			e.Breaker.Window = &WindowEntry{Calls: b.Window.Calls, Failures: b.Window.Failures}
		}
		if !b.RetryAt.IsZero() {
			e.Breaker.RetryAt = &b.RetryAt
		}
	}
	if w := status.Workers; w != nil {
		e.Workers = &WorkersEntry{Processes: w.Processes, Alive: w.Alive, Restarts: w.Restarts}
	}
	e.Warmup, e.Canary = m.warmup.describe(), m.canary.describe()
	e.LastFailure = m.counts.lastFailure.Load().describe()
	return e
}

// describe returns the failure as /v1/hooks shows it, nil for a nil failure.
func (f *failure) describe() *FailureEntry {
	if f == nil {
		return nil
	}
	return &FailureEntry{Time: f.at, Cause: f.why.Cause.String(), Text: clip(f.why.Text), Detail: clip(f.why.Detail)}
}
