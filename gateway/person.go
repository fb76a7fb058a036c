package gateway

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/approval"
	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/metrics"
	"github.com/hookgate/hookgate/transport"
	"github.com/hookgate/hookgate/transport/agentproc"
)

// newDesk returns the desk at which calls wait for people. *m must be set
// before the first call waits.
func newDesk(o *Options, k *keeper, m **metrics.Metrics) *approval.Desk {
	options := approval.Options{
		NewID: newID, Logger: o.Logger, Poll: o.approvalPoll,
		Settled: func(outcome approval.Outcome) { (*m).Approval(approvalOutcome(outcome)) },
	}
	if k.configured() {
		options.Open = func() (approval.Store, error) { return k.get() }
	}
	return approval.NewDesk(options)
}

func newID() string {
	u, err := uuid.NewV7()
	if err != nil {
		panic("cannot generate random numbers: " + err.Error()) // which denies, as every panic does
	}
	return u.String()
}

// approvalOutcome converts an outcome to its metrics label.
func approvalOutcome(o approval.Outcome) metrics.ApprovalOutcome {
	switch o {
	case approval.OutcomeAllowed:
		return metrics.ApprovalAllowed
	case approval.OutcomeDenied:
		return metrics.ApprovalDenied
	case approval.OutcomeExpired:
		return metrics.ApprovalExpired
	case approval.OutcomeWithdrawn:
		return metrics.ApprovalWithdrawn
	case approval.OutcomeFailed:
	}
	return metrics.ApprovalFailed
}

// measuredApprovals describes the approvals of a desk to the metrics package.
func measuredApprovals(d *approval.Desk) metrics.Approvals {
	return metrics.Approvals{Waiting: d.Waiting, Up: func() bool { return d.Trouble() == nil }}
}

// person is the binding of a hook that asks a person.
type person struct {
	desk        *approval.Desk
	chain, name string
	inFlight    atomic.Int64
}

// Ask implements [chain.Binding].
func (p *person) Ask(ctx context.Context, call chain.Call) chain.Answer {
	p.inFlight.Add(1)
	defer p.inFlight.Add(-1)
	return p.desk.Ask(ctx, approval.Asking{
		Chain: p.chain, Asker: "hook '" + p.name + "'", Request: call.Request, Timeout: call.Allowed, Late: call.Late,
	})
}

// Status implements binding.
func (p *person) Status() transport.Status { return transport.Status{InFlight: int(p.inFlight.Load())} }

// Close implements binding.
func (*person) Close() {}

// approval makes the binding of a hook that asks a person, and opens the store
// for approvals.
func (b *builder) approval(chainName string, h *config.Hook) (binding, error) {
	if chainName == "" {
		chainName = config.OperatorChain
	}
	if !b.dry {
		if err := b.desk.Open(); err != nil {
			return nil, h.Mistake("use", err.Error())
		}
	}
	return &person{desk: b.desk, chain: chainName, name: h.Name}, nil
}

// askers opens the store for approvals for agents whose profiles ask a person.
// If none is configured, those agents' requests are denied because there is
// nobody to ask.
func (b *builder) askers(agents []*agent) {
	for _, a := range agents {
		p := &a.profile
		if b.dry || !p.Permission || p.PermissionDefault != agentproc.AskByDefault {
			continue
		}
		err := b.desk.Open()
		if errors.Is(err, approval.ErrNoStore) {
			b.options.Logger.Warn("an agent's permission requests are denied even if the chain allows them: its profile asks a person, and no approvals store is configured",
				slog.String("agent", p.Name), slog.Any("why", err))
			continue
		}
		if err != nil {
			b.mistakes = append(b.mistakes, err)
		}
	}
}

// askPerson asks a person about a request that the chain allows.
func (d *turnDecider) askPerson(ctx context.Context, id string, envelope *chain.Request) agentproc.Answer {
	p := &d.agent.profile
	said := d.gateway.desk.Ask(ctx, approval.Asking{
		Chain: p.Chain, Asker: "agent '" + p.Name + "'", DecisionID: id, Request: envelope, Timeout: p.PermissionAskTimeout, Late: chain.Timeout,
	})
	if f := said.Failure; f != nil {
		return agentproc.Answer{Message: "denied: permission_default of this agent's profile is ask, and " + f.Text}
	}
	if said.Outcome.Decision == chain.Allow {
		return agentproc.Answer{Behavior: agentproc.Allow}
	}
	answer, _ := agentproc.AnswerTo(said.Outcome)
	return answer
}
