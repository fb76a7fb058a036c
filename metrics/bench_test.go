package metrics_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/metrics"
)

// fleet is a configuration of many chains with ten hooks each: five are the
// operator's, half apply to every tool and half to one or two, and half are
// programs and half endpoints.
func fleet(chains int) metrics.Config {
	hook := func(owner string, i int) *metrics.Participant {
		name := fmt.Sprintf("%s-hook-%d", owner, i)
		p := program(name)
		if i%2 == 1 {
			p = endpoint(name)
		}
		switch i % 5 {
		case 1:
			p.Tools = []string{"shell", "write_file"}
		case 2:
			p.Tools = []string{"mcp__*"}
			p.OnFailure = chain.AllowOnFailure
		case 3:
			p.Events = post()
		case 4:
			p.Guard = true
		}
		return p
	}
	var operators []*metrics.Participant
	for i := range 5 {
		operators = append(operators, hook("operator", i))
	}
	c := metrics.Config{Chains: []metrics.Chain{{Participants: operators}}}
	for n := range chains {
		ch := metrics.Chain{Name: fmt.Sprintf("tenant-%d", n), OnUncovered: chain.AllowUncovered}
		ch.Participants = append(ch.Participants, operators...)
		for i := range 5 {
			ch.Participants = append(ch.Participants, hook(ch.Name, i))
		}
		c.Chains = append(c.Chains, ch)
	}
	return c
}

func BenchmarkConfigure100ChainsOf10Hooks(b *testing.B) {
	m, registry := newMetrics(b)
	config := fleet(100)
	b.ReportAllocs()
	for b.Loop() {
		activate(b, m, config)
	}
	b.ReportMetric(float64(len(everySeries(b, registry))), "series")
}

func BenchmarkMemoryOf100ChainsOf10Hooks(b *testing.B) {
	config := fleet(100)
	for b.Loop() {
		m, registry := newMetrics(b)
		before := heap()
		activate(b, m, config)
		b.ReportMetric(float64(heap()-before), "heap-bytes")
		runtime.KeepAlive(registry)
	}
}

func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

func BenchmarkScrape100ChainsOf10Hooks(b *testing.B) {
	_, registry, _ := configured(b, fleet(100))
	h, err := metrics.Handler(metrics.HandlerOptions{Gatherer: registry})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(discard{header: http.Header{}}, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	}
}

type discard struct {
	io.Writer
	header http.Header
}

func (d discard) Header() http.Header         { return d.header }
func (d discard) WriteHeader(int)             {}
func (d discard) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkDecision measures one decision with one participant, as a chain
// reports it.
func BenchmarkDecision(b *testing.B) {
	_, _, c := configured(b, fleet(100))
	observers := c.Chains[50]
	for _, tool := range []string{"shell", "mcp__git__push", "never_heard_of"} {
		b.Run(tool, func(b *testing.B) {
			req := request(b, chain.PreToolUse, tool)
			answer := allowed()
			verdict := &chain.Verdict{Outcome: answer.Outcome, Took: 3 * time.Millisecond}
			b.ReportAllocs()
			for b.Loop() {
				observers.Participants[0].Answered(chain.PreToolUse, answer, 2*time.Millisecond)
				observers.Chain.Decided(req, verdict)
			}
		})
	}
	b.Run("denied", func(b *testing.B) {
		req := request(b, chain.PreToolUse, "shell")
		answer := chain.Fail(chain.Timeout, "timed out", "")
		verdict := denial(chain.Timeout, "operator-hook-0")
		b.ReportAllocs()
		for b.Loop() {
			observers.Participants[0].Answered(chain.PreToolUse, answer, time.Second)
			observers.Chain.Decided(req, verdict)
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	m, _ := newMetrics(b)
	b.ReportAllocs()
	for b.Loop() {
		m.Request("/v1/decide", http.StatusOK, 3*time.Millisecond)
	}
}
