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

// State is where an approval stands. The zero State lets nothing go (P1).
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
	// Expired was answered by nobody in its time.
	Expired
	// Withdrawn is of a caller that stopped waiting, or of a gateway that stopped.
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

// ParseState returns the state of that exact name.
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
	// ID names it. It is a UUID of version 7, so that names sort by time.
	ID string
	// Chain is the chain that asks, and Asker who of it: a hook, or an agent's
	// profile.
	Chain, Asker string
	// DecisionID names the chain's decision that led to it. Empty where the
	// question is part of one.
	DecisionID string
	// Envelope is the call as it now stands, byte for byte, and Digest what
	// [Digest] makes of it (P3).
	Envelope []byte
	Digest   string
	// Tool and Agent are the envelope's, to narrow lists by.
	Tool, Agent string
}

// Digest is the hex SHA-256 of an envelope.
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

// Call is the call that is asked about.
func (q *Question) Call() (*chain.Request, error) { return chain.ParseRequest(q.Envelope) }

// Approval is a question with what became of it.
type Approval struct {
	Question
	State     State
	CreatedAt time.Time
	// ExpiresAt is when it can no longer be answered.
	ExpiresAt time.Time

	// What follows is set once it is settled.
	SettledAt time.Time
	Settlement
	// Used is whether it let its call go (P4).
	Used bool

	// Deserted is whether nobody seems to wait any more for the answer to a
	// pending one: the gateway where its caller waits did not say so for
	// [Attention]. It is found out whenever the approval is read.
	Deserted bool `json:"-"`
}

// Attention is for how long a caller counts as waiting after its gateway has last
// said so.
const Attention = 15 * time.Second

// Settlement is what settles an approval.
type Settlement struct {
	// By is who did. Empty where nobody did, and time or its caller's end did.
	By string
	// Message is why, in that person's words.
	Message string
	// UpdatedInput is the input to run instead, one JSON object. Only with
	// Allowed.
	UpdatedInput []byte
}

// Filter narrows a list. Its zero value lets everything through.
type Filter struct {
	// State is the state to be in; Unset is any.
	State State
	// Chain, Tool and Agent are exact; empty is any.
	Chain, Tool, Agent string
	// Chains are patterns of which the chain's name has to match one, as tools'
	// names do in a hooks file. Nil is any chain, and an empty list none.
	Chains []string
	// Limit is how many at the most. It must be positive.
	Limit int
}

// Holds reports whether the filter lets an approval through.
func (f Filter) Holds(a *Approval) bool {
	return (f.State == Unset || f.State == a.State) && is(f.Chain, a.Chain) && is(f.Tool, a.Tool) && is(f.Agent, a.Agent) && f.holdsChain(a.Chain)
}

func (f Filter) holdsChain(name string) bool {
	return f.Chains == nil || slices.ContainsFunc(f.Chains, func(pattern string) bool { return chain.MatchTool(pattern, name) })
}

func is(filter, value string) bool { return filter == "" || filter == value }

// ErrUnknown says that there is no approval of that id.
var ErrUnknown = errors.New("there is no approval of that id")

// Store keeps approvals. It is safe for concurrent use. Its own clock says what
// is over, so that replicas whose clocks differ agree.
type Store interface {
	// Create keeps a question as pending for the time it has. Another of the same
	// id stays as it is, and is returned.
	Create(ctx context.Context, q Question, ttl time.Duration) (Approval, error)
	// Get returns the approval of an id, or [ErrUnknown].
	Get(ctx context.Context, id string) (Approval, error)
	// List returns those that the filter lets through: pending ones with the
	// oldest first, others with the newest first.
	List(ctx context.Context, f Filter) ([]Approval, error)
	// Settle settles a pending approval whose time is not over, and expires one
	// whose time is (P2, P5). It returns the approval as it then stands, and
	// whether it is this call that settled it. to is final.
	Settle(ctx context.Context, id string, to State, s Settlement) (now Approval, won bool, err error)
	// Redeem marks an allowed approval as used. It returns whether this is the
	// first time, and the digest the approval's own (P3, P4).
	Redeem(ctx context.Context, id, digest string) (bool, error)
	// Attend says that somebody still waits for those of them that are pending. A
	// store that no other gateway reads need not remember it.
	Attend(ctx context.Context, ids []string) error
	// Tidy expires what is over and forgets what was settled long ago.
	Tidy(ctx context.Context) error
	// Watch calls changed with the id of each approval that was created or
	// settled, whoever did, until ctx ends; with an empty id where it may have
	// missed some. It is a help and no promise: whoever waits looks by himself as
	// well.
	Watch(ctx context.Context, changed func(id string))
}
