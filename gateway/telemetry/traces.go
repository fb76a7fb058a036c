package telemetry

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookgate/hookgate/gateway"
)

// Traces makes spans and exports them in the background (O1).
type Traces struct {
	provider   *sdktrace.TracerProvider
	tracer     trace.Tracer
	propagator propagation.TraceContext
	abandon    func() // cancels the export in progress
}

// NewTraces returns a tracer that exports over OTLP. The caller must call
// Close.
func NewTraces(ctx context.Context, o Options) (*Traces, error) {
	what, err := describe(ctx, o.Version)
	if err != nil {
		return nil, err
	}
	s, err := newSender(o)
	if err != nil {
		return nil, err
	}
	// The processor never blocks; it drops spans while its queue is full.
	return newTraces(sdktrace.NewBatchSpanProcessor(spans{s}), what, s.close), nil
}

func newTraces(p sdktrace.SpanProcessor, what *resource.Resource, abandon func()) *Traces {
	t := &Traces{provider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithResource(what)), abandon: abandon}
	t.tracer = t.provider.Tracer(scopeName)
	return t
}

// Close exports the remaining spans, within a short deadline.
func (t *Traces) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	defer t.abandon()
	return t.provider.Shutdown(ctx)
}

// Serve implements [gateway.Tracer].
func (t *Traces) Serve(ctx context.Context, header http.Header) (context.Context, func(gateway.Served)) {
	ctx = t.propagator.Extract(ctx, propagation.HeaderCarrier(header))
	ctx, span := t.tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	return ctx, func(s gateway.Served) {
		method := knownMethod(s.Method)
		name := method
		if s.Route != "" {
			name += " " + s.Route
			span.SetAttributes(attribute.String("http.route", s.Route))
		}
		span.SetName(name)
		span.SetAttributes(attribute.String("http.request.method", method), attribute.Int("http.response.status_code", s.Status))
		if s.Status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// knownMethod keeps invented methods out of span names.
func knownMethod(method string) string {
	if method == http.MethodGet || method == http.MethodHead || method == http.MethodPost {
		return method
	}
	return "_OTHER"
}

// Ask implements [gateway.Tracer].
func (t *Traces) Ask(ctx context.Context, participant, binding string) (context.Context, func(gateway.Asked)) {
	kind := trace.SpanKindInternal
	if binding == "webhook" {
		kind = trace.SpanKindClient
	}
	ctx, span := t.tracer.Start(ctx, "ask "+participant, trace.WithSpanKind(kind), trace.WithAttributes(
		attribute.String("hookgate.hook", participant), attribute.String("hookgate.binding", binding)))
	return ctx, func(a gateway.Asked) {
		span.SetAttributes(attribute.String("hookgate.answer", a.Answer))
		if a.Cause != "" {
			span.SetAttributes(attribute.String("error.type", a.Cause))
			span.SetStatus(codes.Error, a.Cause)
		}
		span.End()
	}
}

// Decided implements [gateway.Tracer].
func (t *Traces) Decided(ctx context.Context, d gateway.Decided) {
	trace.SpanFromContext(ctx).SetAttributes(
		attribute.String("hookgate.decision_id", d.ID), attribute.String("hookgate.chain", d.Chain), attribute.String("hookgate.event", d.Event),
		attribute.String("hookgate.tool", d.Tool), attribute.String("hookgate.decision", d.Decision), attribute.String("hookgate.cause", d.Cause))
}

// Traceparent implements [gateway.Tracer].
func (t *Traces) Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	t.propagator.Inject(ctx, carrier)
	return carrier["traceparent"]
}
