package telemetry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hookgate/hookgate/gateway"
)

const callers = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestSpansContinueTheCallersTraceAndSayWhatWasDecided(t *testing.T) {
	exported := tracetest.NewInMemoryExporter()
	tr := newTraces(sdktrace.NewSimpleSpanProcessor(exported), nil, func() {})
	ctx, served := tr.Serve(t.Context(), http.Header{"Traceparent": {callers}})
	tr.Decided(ctx, gateway.Decided{ID: "id", Chain: "operator", Event: "pre_tool_use", Tool: "shell", Decision: "deny", Cause: "timeout"})
	asking, asked := tr.Ask(ctx, "guard", "webhook")
	carried := tr.Traceparent(asking)
	asked(gateway.Asked{Answer: "failure", Cause: "timeout"})
	_, other := tr.Ask(ctx, "quick", "in_process")
	other(gateway.Asked{Answer: "allow"})
	served(gateway.Served{Method: "POST", Route: "/v1/decide", Status: 200})
	_, odd := tr.Serve(t.Context(), http.Header{"Traceparent": {"nonsense"}})
	odd(gateway.Served{Method: "BREW\n", Status: 503})
	var got []string
	for _, s := range exported.GetSpans() {
		attributes := []string{}
		for _, a := range s.Attributes {
			attributes = append(attributes, string(a.Key)+"="+a.Value.String())
		}
		got = append(got, strings.Join([]string{s.Name, s.SpanKind.String(), s.Status.Code.String(), strings.Join(attributes, " ")}, "; "))
	}
	want := []string{
		"ask guard; client; Error; hookgate.hook=guard hookgate.binding=webhook hookgate.answer=failure error.type=timeout",
		"ask quick; internal; Unset; hookgate.hook=quick hookgate.binding=in_process hookgate.answer=allow",
		"POST /v1/decide; server; Unset; hookgate.decision_id=id hookgate.chain=operator hookgate.event=pre_tool_use hookgate.tool=shell " +
			"hookgate.decision=deny hookgate.cause=timeout http.route=/v1/decide http.request.method=POST http.response.status_code=200",
		"_OTHER; server; Error; http.request.method=_OTHER http.response.status_code=503",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	spans := exported.GetSpans()
	if id := spans[2].SpanContext.TraceID().String(); !strings.Contains(callers, id) || spans[0].Parent.SpanID() != spans[2].SpanContext.SpanID() {
		t.Errorf("the trace is %s, the parent of a hook's span %s", id, spans[0].Parent.SpanID())
	}
	if want := "00-" + spans[0].SpanContext.TraceID().String() + "-" + spans[0].SpanContext.SpanID().String() + "-01"; carried != want {
		t.Errorf("a hook is told %s, want %s", carried, want)
	}
	if tr.Traceparent(context.Background()) != "" {
		t.Error("there is a trace where there is none")
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
}

func TestO1_AnExporterThatHangsHoldsNobodyUp(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	tr, err := NewTraces(t.Context(), Options{URL: s.URL + "/v1/traces", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for range 20_000 { // ten times the capacity of the queue
		ctx, end := tr.Serve(t.Context(), http.Header{})
		_, asked := tr.Ask(ctx, "guard", "webhook")
		asked(gateway.Asked{Answer: "allow"})
		end(gateway.Served{Method: "POST", Route: "/v1/decide", Status: 200})
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("40000 spans took %v", took)
	}
	began = time.Now()
	if err := tr.Close(); err == nil {
		t.Error("what was not exported is not said")
	}
	if took := time.Since(began); took > 2*farewell+2*time.Second {
		t.Errorf("the end took %v", took)
	}
	close(release)
	s.Close()
}
