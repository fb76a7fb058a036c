package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// State is the state of an approval. The zero State allows nothing (P1).
type State uint8

// The states. All but Pending are final.
const (
	Unset State = iota
	// Pending waits for a person.
	Pending
	// Allowed was allowed by a person.
	Allowed
	// Denied was denied by a person.
	Denied
	// Expired was not answered in time.
	Expired
	// Withdrawn means that the caller stopped waiting, or the gateway stopped.
	Withdrawn
)

// States returns every state that an approval can be in.
func States() []State { return []State{Pending, Allowed, Denied, Expired, Withdrawn} }

// String returns the state's name.
func (s State) String() string {
	switch s {
	case Pending:
		return "pending"
	case Allowed:
		return "allowed"
	case Denied:
		return "denied"
	case Expired:
		return "expired"
	case Withdrawn:
		return "withdrawn"
	case Unset:
	}
	return "unset"
}

// ParseState returns the state with exactly that name.
func ParseState(name string) (State, error) {
	for _, s := range States() {
		if s.String() == name {
			return s, nil
		}
	}
	return Unset, fmt.Errorf("state %.40q is not one of pending, allowed, denied, expired, withdrawn", name)
}

// MarshalText implements [encoding.TextMarshaler].
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *State) UnmarshalText(text []byte) (err error) {
	*s, err = ParseState(string(text))
	return err
}

// Question is a call that a person is asked about.
type Question struct {
	// ID is a UUID of version 7, so that ids sort by time.
	ID string
	// Chain is the chain that asks, and Asker the hook in it or the agent's
	// profile.
	Chain, Asker string
	// DecisionID is the chain's decision that led to the question; empty if the
	// question is part of a decision.
	DecisionID string
	// Envelope is the call as it now stands, byte for byte, and Digest its
	// [Digest] (P3).
	Envelope []byte
	Digest   string
	// Tool and Agent are copied from the envelope, for filters.
	Tool, Agent string
}

// Digest returns the hex SHA-256 of an envelope.
func Digest(envelope []byte) string {
	sum := sha256.Sum256(envelope)
	return hex.EncodeToString(sum[:])
}

// NewQuestion returns the question about a call.
func NewQuestion(id, chainName, asker string, call *chain.Request) Question {
	envelope := call.JSON()
	return Question{
		ID: id, Chain: chainName, Asker: asker, Envelope: envelope, Digest: Digest(envelope),
		Tool: call.ToolName(), Agent: call.AgentID(),
	}
}

// Call parses the call that is asked about.
func (q *Question) Call() (*chain.Request, error) { return chain.ParseRequest(q.Envelope) }

// Approval is a question and its state.
type Approval struct {
	Question
	State     State
	CreatedAt time.Time
	// ExpiresAt is when it can no longer be answered.
	ExpiresAt time.Time

	// The fields below are set once it is settled.
	SettledAt time.Time
	Settlement
	// Used is whether it has let its call run (P4).
	Used bool

	// Deserted reports whether a pending approval seems to have no caller left:
	// the gateway at which its caller waits has not attended to it for
	// [Attention]. It is computed on each read.
	Deserted bool `json:"-"`
}

// Attention is how long a caller counts as waiting after its gateway last
// attended to the approval.
const Attention = 15 * time.Second

// Settlement is how an approval was settled.
type Settlement struct {
	// By names the person; empty if the approval expired or was withdrawn.
	By string
	// Message is the reason, in that person's words.
	Message string
	// UpdatedInput is the input to run instead, one JSON object. Only with
	// Allowed.
	UpdatedInput []byte
}

// Filter selects approvals. Apart from Limit its zero value selects all.
type Filter struct {
	// State must match; Unset matches any.
	State State
	// Chain, Tool and Agent must match exactly; empty matches any.
	Chain, Tool, Agent string
	// Chains are glob patterns, of which one must match the chain's name. Nil
	// matches any chain, an empty list none.
	Chains []string
	// Limit is the maximum number of results. It must be positive.
	Limit int
}

// Holds reports whether an approval passes the filter.
func (f Filter) Holds(a *Approval) bool {
	return (f.State == Unset || f.State == a.State) && is(f.Chain, a.Chain) && is(f.Tool, a.Tool) && is(f.Agent, a.Agent) && f.holdsChain(a.Chain)
}

func (f Filter) holdsChain(name string) bool {
	return f.Chains == nil || slices.ContainsFunc(f.Chains, func(pattern string) bool { return chain.MatchTool(pattern, name) })
}

func is(filter, value string) bool { return filter == "" || filter == value }

// ErrUnknown reports that no approval has the given id.
var ErrUnknown = errors.New("there is no approval with that id")

// Store keeps approvals. It is safe for concurrent use. Expiry follows the
// store's own clock, so that replicas whose clocks differ agree.
type Store interface {
	// Create stores a question as pending for the duration ttl. If the id exists,
	// Create changes nothing and returns the existing approval.
	Create(ctx context.Context, q Question, ttl time.Duration) (Approval, error)
	// Get returns the approval with the given id, or [ErrUnknown].
	Get(ctx context.Context, id string) (Approval, error)
	// List returns the approvals that pass the filter: pending ones oldest first,
	// others newest first.
	List(ctx context.Context, f Filter) ([]Approval, error)
	// Settle settles a pending approval that has not expired, and expires one
	// that has (P2, P5). It returns the approval's new state and whether this
	// call settled it. to must be a final state.
	Settle(ctx context.Context, id string, to State, s Settlement) (now Approval, won bool, err error)
	// Redeem marks an allowed approval as used. It returns true if this is the
	// first use and the digest matches the approval's (P3, P4).
	Redeem(ctx context.Context, id, digest string) (bool, error)
	// Attend records that callers still wait for those of the approvals that are
	// pending. A store that no other gateway reads may ignore it.
	Attend(ctx context.Context, ids []string) error
	// Tidy expires overdue approvals and deletes those settled long ago.
	Tidy(ctx context.Context) error
	// Watch calls changed with the id of each approval that is created or
	// settled, by whatever replica, until ctx ends; an empty id means that
	// changes may have been missed. Notifications are best effort: whoever waits
	// must poll as well.
	Watch(ctx context.Context, changed func(id string))
}
