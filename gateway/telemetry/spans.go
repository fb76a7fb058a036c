package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// spans exports ended spans.
type spans struct{ sender *sender }

// ExportSpans implements [sdktrace.SpanExporter].
func (e spans) ExportSpans(ctx context.Context, ended []sdktrace.ReadOnlySpan) error {
	if len(ended) == 0 {
		return nil
	}
	items := make([][]byte, len(ended))
	for i, s := range ended {
		items[i] = span(s)
	}
	// All spans come from the one tracer of one provider.
	if err := e.sender.send(ctx, request(ended[0].Resource(), ended[0].InstrumentationScope(), items)); err != nil {
		return fmt.Errorf("%d spans: %w", len(ended), err)
	}
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (e spans) Shutdown(context.Context) error {
	e.sender.close()
	return nil
}

// span encodes a Span.
func span(s sdktrace.ReadOnlySpan) []byte {
	own, parent := s.SpanContext(), s.Parent()
	b := appendContext(nil, own)
	if id := parent.SpanID(); id.IsValid() {
		b = appendBytes(b, 4, id[:])
	}
	b = appendText(b, 5, s.Name())
	b = appendVarint(b, 6, uint64(s.SpanKind())) //nolint:gosec // OTLP has the same numbers
	b = appendTime(b, 7, s.StartTime())
	b = appendTime(b, 8, s.EndTime())
	b = appendAttributes(b, 9, s.Attributes())
	b = appendCount(b, 10, s.DroppedAttributes())
	for _, e := range s.Events() {
		event := appendTime(nil, 1, e.Time)
		event = appendText(event, 2, e.Name)
		event = appendAttributes(event, 3, e.Attributes)
		b = putMessage(b, 11, appendCount(event, 4, e.DroppedAttributeCount))
	}
	b = appendCount(b, 12, s.DroppedEvents())
	for _, l := range s.Links() {
		link := appendContext(nil, l.SpanContext)
		link = appendAttributes(link, 4, l.Attributes)
		link = appendCount(link, 5, l.DroppedAttributeCount)
		b = putMessage(b, 13, appendFlags(link, 6, l.SpanContext.TraceFlags(), l.SpanContext))
	}
	b = appendCount(b, 14, s.DroppedLinks())
	b = appendBytes(b, 15, status(s.Status()))
	return appendFlags(b, 16, own.TraceFlags(), parent)
}

// appendContext appends the first three fields of a Span, and of a link.
func appendContext(to []byte, c trace.SpanContext) []byte {
	traceID, spanID := c.TraceID(), c.SpanID()
	to = appendBytes(to, 1, traceID[:])
	to = appendBytes(to, 2, spanID[:])
	return appendText(to, 3, c.TraceState().String())
}

// appendFlags appends the trace flags, and whether the parent span belongs to
// another process.
func appendFlags(to []byte, field protowire.Number, of trace.TraceFlags, before trace.SpanContext) []byte {
	const isRemoteKnown, isRemote = 0x100, 0x200
	flags := uint32(of) | isRemoteKnown
	if before.IsRemote() {
		flags |= isRemote
	}
	return protowire.AppendFixed32(protowire.AppendTag(to, field, protowire.Fixed32Type), flags)
}

// status encodes a Status. OTLP numbers the codes in another order.
func status(s sdktrace.Status) []byte {
	b := appendText(nil, 2, s.Description)
	switch s.Code {
	case codes.Ok:
		return appendVarint(b, 3, 1)
	case codes.Error:
		return appendVarint(b, 3, 2)
	case codes.Unset:
	}
	return b
}
