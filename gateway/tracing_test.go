package gateway

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// spans is a tracer that records its calls.
type spans struct {
	mu    sync.Mutex
	lines []string
}

func (s *spans) add(line ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, strings.Join(line, " "))
}

type spanKey struct{}

func (s *spans) Serve(ctx context.Context, header http.Header) (context.Context, func(Served)) {
	return context.WithValue(ctx, spanKey{}, "1"), func(e Served) {
		s.add("served", e.Method, e.Route, http.StatusText(e.Status), header.Get("Traceparent"))
	}
}

func (s *spans) Ask(ctx context.Context, participant, binding string) (context.Context, func(Asked)) {
	return context.WithValue(ctx, spanKey{}, "2"), func(a Asked) { s.add("asked", participant, binding, a.Answer, a.Cause) }
}

func (s *spans) Decided(_ context.Context, d Decided) {
	s.add("decided", d.Chain, d.Event, d.Tool, d.Decision, d.Cause)
}

func (s *spans) Traceparent(ctx context.Context) string {
	if id, ok := ctx.Value(spanKey{}).(string); ok {
		return "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333" + id + "-01"
	}
	return ""
}

func TestARequestAndEverybodyAskedHasASpan(t *testing.T) {
	var told string
	hook := newHookServer(t, func(w http.ResponseWriter, r *http.Request) {
		told = r.Header.Get("Traceparent")
		answers(`{"decision":"allow"}`)(w, r)
	})
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: remote, url: " + hook.URL + "}\n  - {name: gone, command: [/nowhere/x]}\n"})
	s := &spans{}
	r := start(t, Options{
		ConfigFile: filepath.Join(dir, "hooks.yaml"), Tracer: s,
		Interceptors: intercepting("calm", allowing),
	})
	const callers = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r.do(http.MethodPost, r.base+"/v1/decide", preText, header("Traceparent", callers))
	r.do(http.MethodGet, r.base+"/nothing", "")
	want := []string{
		"asked calm in_process allow ", "asked remote webhook allow ", "asked gone subprocess failure spawn",
		"decided operator pre_tool_use shell deny spawn", "served POST /v1/decide OK " + callers, "served GET  Not Found ",
	}
	eventually(t, "the spans end", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.lines) >= len(want) })
	if diff := cmp.Diff(want, s.lines); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if told != "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203332-01" {
		t.Errorf("the hook goes on in %s", told)
	}
}

func TestAHangUpIsCountedWhileItIsTraced(t *testing.T) {
	release := make(chan struct{})
	hook := newHookServer(t, waits(release))
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks: [{name: slow, url: " + hook.URL + "}]\n"})
	r := start(t, Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), Tracer: &spans{}})
	conn := r.dial(posted(preText))
	eventually(t, "the hook is asked", func() bool { return hook.asked() == 1 })
	shut(t, conn)
	eventually(t, "the hang-up is counted", func() bool {
		n, _ := r.metric(`hookgate_http_requests_total{code="499",route="/v1/decide"}`)
		return n == "1"
	})
	close(release)
}

// BenchmarkDecide measures a decision by an interceptor, by one with spans, by
// one that runs inline, and by the default chain, each with its line in the
// decision log.
func BenchmarkDecide(b *testing.B) {
	calm := intercepting("calm", allowing)
	for name, o := range map[string]Options{
		"apart": {Interceptors: calm}, "traced": {Interceptors: calm, Tracer: &silent{}},
		"inline": {Interceptors: calm, InterceptorInlineUpTo: 8 << 10}, "default": {},
	} {
		b.Run(name, func(b *testing.B) {
			o.DecisionLog = io.Discard
			g, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			h := g.mainHandler()
			b.ReportAllocs()
			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://localhost/v1/decide", strings.NewReader(preText))
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				h.ServeHTTP(&discard{header: http.Header{}}, r)
			}
		})
	}
}

// silent is a tracer that does nothing.
type silent struct{ spans }

func (*silent) Serve(ctx context.Context, _ http.Header) (context.Context, func(Served)) {
	return ctx, func(Served) {}
}

func (*silent) Ask(ctx context.Context, _, _ string) (context.Context, func(Asked)) {
	return ctx, func(Asked) {}
}
func (*silent) Decided(context.Context, Decided) {}
