package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/metrics"
	"github.com/hookgate/hookgate/transport"
	"github.com/hookgate/hookgate/transport/agentproc"
)

// serveTurn serves POST /v1/turns: one turn of an agent, whose events are
// streamed as they occur. The turn keeps the plan with which it began (G2), and
// ends when its caller hangs up.
func (g *Gateway) serveTurn(w http.ResponseWriter, r *http.Request) {
	p := g.plans.enter()
	if p == nil {
		notReady().write(w)
		return
	}
	defer p.leave()
	text, refusal := g.callers.body(r)
	if refusal != nil {
		refusal.write(w)
		return
	}
	request, err := parseTurnRequest(text)
	if err != nil {
		malformedTurn(err).write(w)
		return
	}
	a := p.agents[request.agent]
	if a == nil {
		(&problem{status: http.StatusNotFound, title: "Unknown agent", detail: "there is no agent of that name: agents are files in HOOKGATE_AGENTS_DIR"}).write(w)
		return
	}
	if refusal := g.reaches(r, a.profile.Chain); refusal != nil {
		g.turnAway(w, r, refusal)
		return
	}
	if !a.seats.take(g.options.MaxTurns) {
		(&problem{
			status: http.StatusServiceUnavailable, title: "Agent busy", retryAfter: 1,
			detail: fmt.Sprintf("agent %q is at its limit of %d turns in flight (HOOKGATE_MAX_TURNS)", a.profile.Name, g.options.MaxTurns),
		}).write(w)
		return
	}
	defer a.seats.leave()
	g.runTurn(w, r, p, a, request.turn)
}

// runTurn runs the turn and writes its events and its result.
func (g *Gateway) runTurn(w http.ResponseWriter, r *http.Request, p *plan, a *agent, turn agentproc.Turn) {
	ctx, abandon := context.WithCancelCause(r.Context())
	defer abandon(nil)
	stream := newTurnStream(w, wantsEvents(r), g.callers.patience, abandon)
	defer stream.close()
	began := time.Now()
	result, err := agentproc.Run(ctx, turn, agentproc.Options{
		Profile: a.profile, Log: g.log, Started: stream.begin,
		Sink:    turnSink{stream: stream, metrics: a.metrics},
		Decider: &turnDecider{gateway: g, plan: p, agent: a, request: r},
	})
	switch {
	case errors.Is(err, agentproc.ErrTurn):
		malformedTurn(err).write(w)
		return
	case err != nil && ctx.Err() == nil && !stream.hasBegun(): // the turn could not be started
		a.metrics.Ended(metrics.TurnFailure, time.Since(began))
		g.turnWentWrong(ctx, a, result, err)
		(&problem{status: http.StatusInternalServerError, title: "Agent cannot be started", detail: err.Error()}).write(w)
		return
	case err != nil || !result.Succeeded:
		g.turnWentWrong(ctx, a, result, err)
	}
	a.metrics.Ended(turnOutcome(result, err), time.Since(began))
	stream.end(ctx, lastTurnLine(a.profile.Name, result, err))
}

func (g *Gateway) turnWentWrong(ctx context.Context, a *agent, result agentproc.Result, err error) {
	detail := ""
	if result.Failure != nil {
		detail = clip(result.Failure.Detail) // may quote what the agent wrote, so it is for operators only
	}
	g.log.LogAttrs(ctx, slog.LevelWarn, "a turn failed", slog.String("agent", a.profile.Name),
		slog.String("why", clip(turnFault(result, err))), slog.String("detail", detail), slog.Int("exit_code", result.ExitCode))
}

// turnOutcome returns the turn's outcome for the metrics.
func turnOutcome(result agentproc.Result, err error) metrics.TurnOutcome {
	switch {
	case err != nil:
		return metrics.TurnAbandoned
	case result.Succeeded:
		return metrics.TurnResult
	case result.Failure == nil:
		return metrics.TurnFailure
	case result.Failure.Cause == chain.Timeout:
		return metrics.TurnTimeout
	case result.Failure.Cause == chain.Error:
		return metrics.TurnError
	}
	return metrics.TurnFailure
}

// turnFault explains why a turn failed. The text reads on after the agent's
// name.
func turnFault(result agentproc.Result, err error) string {
	switch {
	case err != nil:
		return "was ended: " + err.Error()
	case result.Failure == nil:
		return "did not end well"
	}
	return result.Failure.Text
}

// turnSink streams a turn's events to the client.
type turnSink struct {
	stream  *turnStream
	metrics *metrics.AgentObserver
}

// Partial implements [agentproc.Sink].
func (s turnSink) Partial(ctx context.Context, p agentproc.Partial) error {
	return s.stream.send(ctx, partialLine(p))
}

// Responded implements [agentproc.Sink].
func (s turnSink) Responded(ctx context.Context, r agentproc.Response) error {
	s.metrics.Answered(r.Answer.Behavior == agentproc.Allow)
	return s.stream.send(ctx, permissionLine(r))
}

// turnDecider puts an agent's requests for permission to its chain.
type turnDecider struct {
	gateway *Gateway
	plan    *plan
	agent   *agent
	request *http.Request
}

// Decide implements [agentproc.Decider].
func (d *turnDecider) Decide(ctx context.Context, req *agentproc.PermissionRequest, envelope *chain.Request) agentproc.Answer {
	id, trace := identify(d.request)
	trace = d.gateway.traceOf(ctx, trace)
	verdict := d.agent.chain.Decide(transport.WithTraceparent(ctx, trace), envelope, 0)
	d.gateway.keep(ctx, decision{
		id: id, at: time.Now(), plan: d.plan, chain: d.agent.profile.Chain, caller: callerName(d.request), request: envelope, verdict: verdict,
	})
	answer, settled := agentproc.AnswerTo(verdict.Outcome)
	if !settled {
		answer = d.byDefault(ctx, id, req, envelope)
	}
	answer.DecisionID = id
	return answer
}

// byDefault answers a request that the chain allows by the profile's
// permission_default.
func (d *turnDecider) byDefault(ctx context.Context, id string, req *agentproc.PermissionRequest, envelope *chain.Request) agentproc.Answer {
	by := d.agent.profile.PermissionDefault
	if by == agentproc.DenyAndLogByDefault {
		d.gateway.log.LogAttrs(ctx, slog.LevelWarn, "denied a request that the chain allows, because the agent's profile says so",
			slog.String("agent", d.agent.profile.Name), slog.String("tool_name", clip(req.ToolName)), slog.String("decision_id", id))
	}
	answer, settled := by.Answer()
	switch {
	case settled:
		return answer
	case !d.gateway.keeper.configured():
		return agentproc.Answer{Message: fmt.Sprintf("denied: permission_default of this agent's profile is %s, and the gateway has no approvals store", by)}
	}
	return d.askPerson(ctx, id, envelope)
}
