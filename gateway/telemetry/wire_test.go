package telemetry

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	wireresource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	wiretrace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// exported returns spans as the official types decode them.
func exported(t *testing.T, stubs ...tracetest.SpanStub) *wiretrace.ResourceSpans {
	t.Helper()
	s, c := before(t, Options{}, answering(http.StatusOK, nil))
	defer s.close()
	if err := (spans{s}).ExportSpans(t.Context(), tracetest.SpanStubs(stubs).Snapshots()); err != nil {
		t.Fatal(err)
	}
	var all collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(c.told[0].body, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.ResourceSpans) != 1 {
		t.Fatalf("there are %d resources", len(all.ResourceSpans))
	}
	return all.ResourceSpans[0]
}

func spanContext(t *testing.T, span byte, state string, remote bool) trace.SpanContext {
	t.Helper()
	s, err := trace.ParseTraceState(state)
	if err != nil {
		t.Fatal(err)
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 15: 2}, SpanID: trace.SpanID{3, 7: span}, TraceFlags: trace.FlagsSampled, TraceState: s, Remote: remote})
}

func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
}

func TestAllOfASpanReachesACollector(t *testing.T) {
	began := time.Unix(1800000000, 5)
	key := attribute.String("k", "v")
	pairs := []*common.KeyValue{{Key: "k", Value: text("v")}}
	got := exported(t, tracetest.SpanStub{
		Name: "ask guard", SpanContext: spanContext(t, 4, "a=1,b=2", false), Parent: spanContext(t, 5, "", true), SpanKind: trace.SpanKindClient,
		StartTime: began, EndTime: began.Add(time.Second), Attributes: []attribute.KeyValue{key},
		Events:            []sdktrace.Event{{Name: "event", Time: began.Add(1), Attributes: []attribute.KeyValue{key}, DroppedAttributeCount: 6}},
		Links:             []sdktrace.Link{{SpanContext: spanContext(t, 7, "c=3", true), Attributes: []attribute.KeyValue{key}, DroppedAttributeCount: 8}},
		Status:            sdktrace.Status{Code: otelcodes.Error, Description: "timeout"},
		DroppedAttributes: 9, DroppedEvents: 10, DroppedLinks: 11,
		Resource:             resource.NewWithAttributes("https://schema", key),
		InstrumentationScope: instrumentation.Scope{Name: "scope", Version: "v2", SchemaURL: "https://scope", Attributes: attribute.NewSet(key)},
	}, tracetest.SpanStub{
		Name: "not \xff UTF-8", SpanContext: spanContext(t, 12, "", false), Status: sdktrace.Status{Code: otelcodes.Ok}, DroppedAttributes: -1, DroppedEvents: math.MaxInt,
	})
	const sampled, known, remote = 1, 0x100, 0x200
	want := &wiretrace.ResourceSpans{
		ScopeSpans: []*wiretrace.ScopeSpans{{
			Scope: &common.InstrumentationScope{Name: "scope", Version: "v2", Attributes: pairs}, SchemaUrl: "https://scope",
			Spans: []*wiretrace.Span{{
				TraceId: []byte{1, 15: 2}, SpanId: []byte{3, 7: 4}, TraceState: "a=1,b=2", ParentSpanId: []byte{3, 7: 5}, Flags: sampled | known | remote,
				Name: "ask guard", Kind: wiretrace.Span_SPAN_KIND_CLIENT, StartTimeUnixNano: 1800000000000000005, EndTimeUnixNano: 1800000001000000005,
				Attributes: pairs, DroppedAttributesCount: 9,
				Events:             []*wiretrace.Span_Event{{TimeUnixNano: 1800000000000000006, Name: "event", Attributes: pairs, DroppedAttributesCount: 6}},
				DroppedEventsCount: 10,
				Links:              []*wiretrace.Span_Link{{TraceId: []byte{1, 15: 2}, SpanId: []byte{3, 7: 7}, TraceState: "c=3", Attributes: pairs, DroppedAttributesCount: 8, Flags: sampled | known | remote}},
				DroppedLinksCount:  11, Status: &wiretrace.Status{Message: "timeout", Code: wiretrace.Status_STATUS_CODE_ERROR},
			}, {
				TraceId: []byte{1, 15: 2}, SpanId: []byte{3, 7: 12}, Flags: sampled | known, Name: "not \uFFFD UTF-8",
				DroppedEventsCount: math.MaxUint32, Status: &wiretrace.Status{Code: wiretrace.Status_STATUS_CODE_OK},
			}},
		}},
		SchemaUrl: "https://schema", Resource: &wireresource.Resource{Attributes: pairs},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestEveryKindAndEveryStatusHasItsNumber(t *testing.T) {
	kinds := map[trace.SpanKind]wiretrace.Span_SpanKind{
		trace.SpanKindUnspecified: wiretrace.Span_SPAN_KIND_UNSPECIFIED, trace.SpanKindInternal: wiretrace.Span_SPAN_KIND_INTERNAL,
		trace.SpanKindServer: wiretrace.Span_SPAN_KIND_SERVER, trace.SpanKindClient: wiretrace.Span_SPAN_KIND_CLIENT,
		trace.SpanKindProducer: wiretrace.Span_SPAN_KIND_PRODUCER, trace.SpanKindConsumer: wiretrace.Span_SPAN_KIND_CONSUMER,
	}
	for kind, want := range kinds {
		if got := exported(t, tracetest.SpanStub{SpanKind: kind}).ScopeSpans[0].Spans[0].Kind; got != want {
			t.Errorf("%v is sent as %v", kind, got)
		}
	}
	codes := map[otelcodes.Code]wiretrace.Status_StatusCode{
		otelcodes.Unset: wiretrace.Status_STATUS_CODE_UNSET, otelcodes.Error: wiretrace.Status_STATUS_CODE_ERROR, otelcodes.Ok: wiretrace.Status_STATUS_CODE_OK,
	}
	for code, want := range codes {
		if got := exported(t, tracetest.SpanStub{Status: sdktrace.Status{Code: code}}).ScopeSpans[0].Spans[0].Status.GetCode(); got != want {
			t.Errorf("%v is sent as %v", code, got)
		}
	}
}

func TestEveryTypeOfAttributeReachesACollector(t *testing.T) {
	integer := func(i int64) *common.AnyValue {
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: i}}
	}
	double := func(f float64) *common.AnyValue {
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: f}}
	}
	boolean := func(b bool) *common.AnyValue {
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: b}}
	}
	list := func(all ...*common.AnyValue) *common.AnyValue {
		return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: all}}}
	}
	cases := map[string]struct {
		is   attribute.Value
		want *common.AnyValue
	}{
		"nothing":      {attribute.Value{}, &common.AnyValue{}},
		"true":         {attribute.BoolValue(true), boolean(true)},
		"false":        {attribute.BoolValue(false), boolean(false)},
		"zero":         {attribute.Int64Value(0), integer(0)},
		"least":        {attribute.Int64Value(math.MinInt64), integer(math.MinInt64)},
		"greatest":     {attribute.Int64Value(math.MaxInt64), integer(math.MaxInt64)},
		"double":       {attribute.Float64Value(-1.5), double(-1.5)},
		"double zero":  {attribute.Float64Value(0), double(0)},
		"infinite":     {attribute.Float64Value(math.Inf(1)), double(math.Inf(1))},
		"text":         {attribute.StringValue("größe 🚀"), text("größe 🚀")},
		"empty text":   {attribute.StringValue(""), text("")},
		"no UTF-8":     {attribute.StringValue("a\xffb"), text("a\uFFFDb")},
		"bytes":        {attribute.ByteSliceValue([]byte{0, 255}), &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: []byte{0, 255}}}},
		"no bytes":     {attribute.ByteSliceValue(nil), &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: []byte{}}}},
		"booleans":     {attribute.BoolSliceValue([]bool{true, false}), list(boolean(true), boolean(false))},
		"integers":     {attribute.Int64SliceValue([]int64{0, -1}), list(integer(0), integer(-1))},
		"doubles":      {attribute.Float64SliceValue([]float64{0, 2.5}), list(double(0), double(2.5))},
		"texts":        {attribute.StringSliceValue([]string{"", "a"}), list(text(""), text("a"))},
		"an empty one": {attribute.StringSliceValue(nil), list()},
		"of any type":  {attribute.SliceValue(attribute.IntValue(1), attribute.StringValue("a"), attribute.Value{}), list(integer(1), text("a"), &common.AnyValue{})},
		"a map": {
			attribute.MapValue(attribute.Int("n", 1), attribute.String("", "no name")),
			&common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: []*common.KeyValue{{Value: text("no name")}, {Key: "n", Value: integer(1)}}}}},
		},
	}
	covered := map[attribute.Type]bool{}
	for name, c := range cases {
		covered[c.is.Type()] = true
		sent := exported(t, tracetest.SpanStub{Attributes: []attribute.KeyValue{{Key: "k", Value: c.is}}}).ScopeSpans[0].Spans[0].Attributes
		byKey := protocmp.SortRepeated(func(a, b *common.KeyValue) bool { return a.GetKey() < b.GetKey() })
		if diff := cmp.Diff([]*common.KeyValue{{Key: "k", Value: c.want}}, sent, protocmp.Transform(), byKey); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// A new attribute type of the SDK needs a case above.
	for kind := attribute.EMPTY; !strings.HasPrefix(kind.String(), "Type("); kind++ {
		if !covered[kind] {
			t.Errorf("there is no case of type %v", kind)
		}
	}
}
