package gateway

import (
	"context"
	"net/http"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport"
)

// Tracer makes spans. Its methods are called concurrently and must not block.
type Tracer interface {
	// Serve starts the span of a request as part of the caller's trace. The
	// returned function ends it.
	Serve(ctx context.Context, header http.Header) (context.Context, func(Served))
	// Ask starts the span of asking one participant. The returned function ends
	// it.
	Ask(ctx context.Context, participant string, binding string) (context.Context, func(Asked))
	// Decided adds the decision to the span of the request.
	Decided(ctx context.Context, d Decided)
	// Traceparent returns the trace context for calls made with ctx, empty if
	// there is none.
	Traceparent(ctx context.Context) string
}

// Served is the result of a request.
type Served struct {
	// Route is the matched route, empty if none matched.
	Method, Route string
	Status        int
}

// Asked is the result of asking a participant. Cause is empty if it answered.
type Asked struct{ Answer, Cause string }

// Decided is a decision as its span shows it: of what a caller chose it contains
// only the name of the tool.
type Decided struct{ ID, Chain, Event, Tool, Decision, Cause string }

// traced makes a span for each request.
func (g *Gateway) traced(next http.Handler) http.Handler {
	tracer := g.options.Tracer
	if tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, end := tracer.Serve(r.Context(), r.Header)
		seen, ok := w.(*recorder) // set by answered, which wraps this handler
		if !ok {
			seen = &recorder{ResponseWriter: w}
		}
		// Also reported if a handler panics: answered handles the panic further
		// out.
		status := http.StatusInternalServerError
		defer func() { end(Served{Method: r.Method, Route: patternOf(r), Status: status}) }()
		next.ServeHTTP(seen, r.WithContext(ctx))
		status = seen.code()
	})
}

// traceOf returns the trace context for the calls of a request; without a tracer
// it is otherwise.
func (g *Gateway) traceOf(ctx context.Context, otherwise string) string {
	if g.options.Tracer == nil {
		return otherwise
	}
	return or(g.options.Tracer.Traceparent(ctx), otherwise)
}

// traceDecision adds a decision to the span of its request.
func (g *Gateway) traceDecision(ctx context.Context, d *decision) {
	if g.options.Tracer == nil {
		return
	}
	g.options.Tracer.Decided(ctx, Decided{
		ID: d.id, Chain: d.chain, Event: d.request.Event().String(), Tool: clip(d.request.ToolName()),
		Decision: d.verdict.Outcome.Decision.String(), Cause: d.verdict.Cause.String(),
	})
}

// tracedBinding makes a span for each call to its participant. A remote hook
// continues that trace.
type tracedBinding struct {
	chain.Binding
	tracer        Tracer
	name, reached string
}

// Ask implements [chain.Binding].
func (b tracedBinding) Ask(ctx context.Context, call chain.Call) chain.Answer {
	ctx, end := b.tracer.Ask(ctx, b.name, b.reached)
	// A panic is recovered by the chain and counts as this participant's failure.
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
