package gateway

import (
	"context"
	"net/http"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport"
)

// Tracer makes spans. Its methods are called from many goroutines and must not
// wait for anything.
type Tracer interface {
	// Serve begins the span of a request, which continues its caller's trace. The
	// function it returns ends it.
	Serve(ctx context.Context, header http.Header) (context.Context, func(Served))
	// Ask begins the span of asking one participant.
	Ask(ctx context.Context, participant string, binding string) (context.Context, func(Asked))
	// Decided says in the span of the request what was decided.
	Decided(ctx context.Context, d Decided)
	// Traceparent is the trace context that calls of ctx carry, empty where there
	// is none.
	Traceparent(ctx context.Context) string
}

// Served is how a request ended.
type Served struct {
	// Method and Route are what was served; Route is empty where nothing is.
	Method, Route string
	Status        int
}

// Asked is how asking a participant ended. Cause is empty where it answered.
type Asked struct{ Answer, Cause string }

// Decided is a decision as its span has it: nothing that a caller chose but the
// name of the tool.
type Decided struct{ ID, Chain, Event, Tool, Decision, Cause string }

// traced makes a span of each request.
func (g *Gateway) traced(next http.Handler) http.Handler {
	tracer := g.options.Tracer
	if tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, end := tracer.Serve(r.Context(), r.Header)
		seen, ok := w.(*recorder) // that of answered, which stands before
		if !ok {
			seen = &recorder{ResponseWriter: w}
		}
		// Also where a handler panics, which is answered outside of this.
		status := http.StatusInternalServerError
		defer func() { end(Served{Method: r.Method, Route: patternOf(r), Status: status}) }()
		next.ServeHTTP(seen, r.WithContext(ctx))
		status = seen.code()
	})
}

// traceOf is the trace context that the calls of a request carry.
func (g *Gateway) traceOf(ctx context.Context, otherwise string) string {
	if g.options.Tracer == nil {
		return otherwise
	}
	return or(g.options.Tracer.Traceparent(ctx), otherwise)
}

// traceDecision says a decision in the span of its request.
func (g *Gateway) traceDecision(ctx context.Context, d *decision) {
	if g.options.Tracer == nil {
		return
	}
	g.options.Tracer.Decided(ctx, Decided{
		ID: d.id, Chain: d.chain, Event: d.request.Event().String(), Tool: clip(d.request.ToolName()),
		Decision: d.verdict.Outcome.Decision.String(), Cause: d.verdict.Cause.String(),
	})
}

// tracedBinding makes a span of each time its participant is asked, in whose
// trace an endpoint goes on.
type tracedBinding struct {
	chain.Binding
	tracer        Tracer
	name, reached string
}

// Ask implements [chain.Binding].
func (b tracedBinding) Ask(ctx context.Context, call chain.Call) chain.Answer {
	ctx, end := b.tracer.Ask(ctx, b.name, b.reached)
	// A panic is recovered by the chain, and is that participant's failure.
	asked := Asked{Answer: "failure", Cause: chain.Panic.String()}
	defer func() { end(asked) }()
	answer := b.Binding.Ask(transport.WithTraceparent(ctx, b.tracer.Traceparent(ctx)), call)
	if answer.Failure != nil {
		asked.Cause = answer.Failure.Cause.String()
	} else {
		asked = Asked{Answer: answer.Outcome.Decision.String()}
	}
	return answer
}
