package gateway

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/config"
)

// chained returns the options for a hooks file with one entry.
func chained(t *testing.T, entry string) Options {
	t.Helper()
	return Options{ConfigFile: files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - " + entry + "\n"}) + "/hooks.yaml"}
}

// dawdles allows after the duration d.
func dawdles(d time.Duration) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			_, _ = io.WriteString(w, `{"decision":"allow"}`)
		case <-r.Context().Done():
		}
	}
}

func TestAColdEndpointHasItsFirstTimeoutAndAWarmOneDoesNot(t *testing.T) {
	hook := newHookServer(t, dawdles(200*time.Millisecond))
	r := start(t, chained(t, "{name: h, url: "+hook.URL+", timeout_ms: 100, first_call_timeout_ms: 15000}"))
	r.wantMetric(`hookgate_hook_first_calls_total{hook="h",result="slow"}`, "0")
	if decision, reason := r.decide("", preText); decision != "allow" {
		t.Errorf("the cold call: %s %s", decision, reason)
	}
	r.wantMetric(`hookgate_hook_first_calls_total{hook="h",result="slow"}`, "1")
	hook.say(waits(nil))
	if _, reason := r.decide("", preText); reason != "hook 'h' could not answer and denies on failure: timed out after 100 ms" {
		t.Errorf("the warm call: %s", reason)
	}
	r.wantMetric(`hookgate_hook_first_calls_total{hook="h",result="failed"}`, "0")
	if hooks := r.do(http.MethodGet, r.base+"/v1/hooks", "").body; !strings.Contains(hooks, `"timeout_ms":100,"first_call_timeout_ms":15000`) {
		t.Errorf("hooks: %s", hooks)
	}
}

func TestAPromptFirstCallAndOneThatFailsAreToldApart(t *testing.T) {
	hook := newHookServer(t, fails(http.StatusInternalServerError))
	r := start(t, chained(t, "{name: h, url: "+hook.URL+"}"))
	r.decide("", preText)
	hook.say(answers(`{"decision":"deny"}`))
	r.decide("", preText)
	r.decide("", preText)
	r.wantMetric(`hookgate_hook_first_calls_total{hook="h",result="failed"}`, "1")
	r.wantMetric(`hookgate_hook_first_calls_total{hook="h",result="prompt"}`, "1")
}

func TestAnEndpointIsWarmedUpBeforeTheGatewayIsReady(t *testing.T) {
	up := make(chan struct{})
	hook := newHookServer(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-up:
			_, _ = io.WriteString(w, `{"decision":"deny","reason":"I deny pings"}`)
		case <-r.Context().Done():
		}
	})
	r := start(t, chained(t, "{name: h, url: "+hook.URL+", event: post_tool_use, warmup: true, first_call_timeout_ms: 29000}"))
	eventually(t, "the endpoint is asked", func() bool { return hook.asked() == 1 })
	got := r.do(http.MethodGet, r.admin+"/readyz", "")
	if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"status":"waiting","waiting_for":["hook 'h' is being warmed up"]`) {
		t.Errorf("while it starts: %d %s", got.status, got.body)
	}
	close(up)
	eventually(t, "the gateway is ready", func() bool { return r.do(http.MethodGet, r.admin+"/readyz", "").status == http.StatusOK })

	hook.mu.Lock()
	ping, err := chain.ParseRequest([]byte(hook.bodies[0]))
	hook.mu.Unlock()
	if err != nil || ping.ToolName() != "hookgate.ping" || ping.Event() != chain.PostToolUse {
		t.Errorf("the ping was %v %v (%v)", ping.ToolName(), ping.Event(), err)
	}
	r.wantMetric(`hookgate_hook_warmups_total{hook="h",result="passed"}`, "1")
	for _, series := range []string{
		`hookgate_hook_answers_total{answer="deny",binding="webhook",event="post_tool_use",hook="h",mode="enforce"}`,
		`hookgate_hook_first_calls_total{hook="h",result="prompt"}`,
		`hookgate_hook_duration_seconds_count{binding="webhook",hook="h"}`,
	} {
		r.wantMetric(series, "0")
	}
	hooks := r.do(http.MethodGet, r.base+"/v1/hooks", "").body
	for _, want := range []string{`"warmup":{"warm":true,"passed":1,"failed":0}`, `"counts":{"allow":0,"deny":0,`} {
		if !strings.Contains(hooks, want) {
			t.Errorf("no %s in %s", want, hooks)
		}
	}
	if list := r.do(http.MethodGet, r.base+"/v1/decisions", "").body; len(listed(t, list)) != 0 {
		t.Errorf("decisions: %s", list)
	}
}

func TestAPingThatIsNotAnsweredWithADecisionHasFailed(t *testing.T) {
	hook := newHookServer(t, answers(`{"status":"fine"}`))
	r := start(t, chained(t, "{name: h, url: "+hook.URL+", warmup: true, breaker: {consecutive_failures: 1}}"))
	eventually(t, "a ping has failed, and another", func() bool { // and by the time of a look one more
		n, ok := r.metric(`hookgate_hook_warmups_total{hook="h",result="failed"}`)
		return ok && n != "0" && n != "1"
	})
	if got := r.do(http.MethodGet, r.admin+"/readyz", ""); got.status != http.StatusServiceUnavailable {
		t.Errorf("ready all the same: %s", got.body)
	}
	hooks := r.do(http.MethodGet, r.base+"/v1/hooks", "").body
	if !strings.Contains(hooks, `"warmup":{"warm":false,"passed":0,"failed":`) || !strings.Contains(hooks, `"cause":"malformed"`) ||
		!strings.Contains(hooks, `"breaker":{"state":"closed","consecutive_failures":0}`) {
		t.Errorf("hooks: %s", hooks)
	}
	if log := r.log.String(); !strings.Contains(log, `"msg":"could not be warmed up","hook":"h","cause":"malformed"`) {
		t.Errorf("log: %s", log)
	}
	hook.say(answers(`{"decision":"allow"}`))
	eventually(t, "the gateway is ready", func() bool { return r.do(http.MethodGet, r.admin+"/readyz", "").status == http.StatusOK })
}

func TestWarmingUpEndsWithItsEntry(t *testing.T) {
	hook := newHookServer(t, waits(nil))
	o := chained(t, "{name: h, url: "+hook.URL+", warmup: true}")
	r := start(t, o)
	eventually(t, "the endpoint is asked", func() bool { return hook.asked() == 1 })
	write(t, o.ConfigFile, "schema: 1\nhooks: [{name: other, use: secrets}]\n")
	r.gateway.Reload(t.Context())
	eventually(t, "the gateway waits no longer", func() bool { return r.do(http.MethodGet, r.admin+"/readyz", "").status == http.StatusOK })
	if n := hook.asked(); n != 1 {
		t.Errorf("the endpoint of an entry that is gone was asked %d times", n)
	}
}

// warming returns the warm-up of a scripted endpoint.
func warming(ask func() chain.Answer, coldIn func() time.Duration) *warmup {
	w := &warmup{
		ask:    func(context.Context, chain.Call) chain.Answer { return ask() },
		coldIn: coldIn, entry: new(atomic.Pointer[config.Hook]), events: &events{}, log: slog.New(slog.DiscardHandler),
	}
	w.entry.Store(&config.Hook{Event: chain.PreToolUse, Timeout: time.Second, Webhook: &config.Webhook{ColdAfter: time.Minute}})
	return w
}

func TestAStartWaitsForAnEndpointNoLongerThanItsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var count atomic.Int64
		w := warming(func() chain.Answer { count.Add(1); return chain.Fail(chain.Connect, "could not be reached", "") },
			func() time.Duration { return 0 })
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.run(ctx) })
		time.Sleep(warmupPatience - time.Millisecond)
		if pings := count.Load(); w.waitsFor() == "" || pings < 6 || pings > 15 {
			t.Errorf("a moment before: waits %q, %d pings", w.waitsFor(), pings)
		}
		time.Sleep(2 * time.Millisecond)
		if w.waitsFor() != "" {
			t.Errorf("afterwards it waits still: %s", w.waitsFor())
		}
		before := count.Load()
		time.Sleep(10 * time.Minute)
		if n := count.Load() - before; n < 8 || n > 13 {
			t.Errorf("%d pings in the next ten minutes, want one a minute", n)
		}
		cancel()
		running.Wait()
	})
}

func TestAnEndpointThatIdledIsWarmedUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var count, answered atomic.Int64
		answers := func() { answered.Store(time.Now().UnixNano()) }
		w := warming(func() chain.Answer {
			count.Add(1)
			answers()
			return chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny}}
		}, func() time.Duration { return max(0, time.Minute-time.Since(time.Unix(0, answered.Load()))) })
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.run(ctx) })
		time.Sleep(time.Second)
		if count.Load() != 1 || w.waitsFor() != "" {
			t.Errorf("after a second %d pings, waits %q", count.Load(), w.waitsFor())
		}
		for range 20 { // other calls keep it warm
			time.Sleep(30 * time.Second)
			answers()
		}
		if count.Load() != 1 {
			t.Errorf("an endpoint that answers was pinged %d times", count.Load())
		}
		time.Sleep(150 * time.Second)
		if count.Load() != 3 {
			t.Errorf("%d pings after two minutes and a half without an answer, want one when the endpoint got cold and another", count.Load())
		}
		cancel()
		running.Wait()
	})
}

func TestAPingThatPanicsHasFailed(t *testing.T) {
	w := warming(func() chain.Answer { panic("boom") }, nil)
	if w.ping(t.Context()) || w.lastFailure.Load().why.Cause != chain.Panic {
		t.Errorf("last failure %+v", w.lastFailure.Load())
	}
}
