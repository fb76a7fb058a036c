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

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/config"
)

// forcePush is a canary with a force-push, sent every second.
const forcePush = `canary: {request: {tool_name: shell, input: {command: "git push --force"}}, expect: deny, every: 1s`

func TestACanaryShowsThatAGuardStillDenies(t *testing.T) {
	hook := newHookServer(t, answers(`{"decision":"deny","reason":"no"}`))
	r := start(t, chained(t, "{name: h, url: "+hook.URL+", "+forcePush+"}}"))
	eventually(t, "the canary is checked", func() bool {
		n, _ := r.metric(`hookgate_hook_canary_passing{hook="h"}`)
		return n == "1"
	})
	hook.mu.Lock()
	asked, err := chain.ParseRequest([]byte(hook.bodies[0]))
	hook.mu.Unlock()
	if err != nil || asked.ToolName() != "shell" || string(asked.Input()) != `{"command":"git push --force"}` {
		t.Errorf("asked about %v (%v)", asked, err)
	}
	for _, series := range []string{
		`hookgate_hook_canary_checks_total{hook="h",result="failed"}`,
		`hookgate_hook_answers_total{answer="deny",binding="webhook",event="pre_tool_use",hook="h",mode="enforce"}`,
		`hookgate_hook_duration_seconds_count{binding="webhook",hook="h"}`,
	} {
		r.wantMetric(series, "0")
	}

	hook.say(answers(`{"decision":"allow"}`)) // somebody has changed its rules
	eventually(t, "the canary is not denied", func() bool {
		n, _ := r.metric(`hookgate_hook_canary_passing{hook="h"}`)
		return n == "0"
	})
	hooks := r.do(http.MethodGet, r.base+"/v1/hooks", "").body
	for _, want := range []string{`"canary":{"passing":false,"passed":`, `"why":"answered allow to a call that it must deny","gate_readiness":false}`, `"counts":{"allow":0,"deny":0,`} {
		if !strings.Contains(hooks, want) {
			t.Errorf("no %s in %s", want, hooks)
		}
	}
	if log := r.log.String(); !strings.Contains(log, `"level":"ERROR","msg":"a canary was not denied","hook":"h","why":"answered allow to a call that it must deny"`) {
		t.Errorf("log: %s", log)
	}
	if got := r.do(http.MethodGet, r.admin+"/readyz", ""); got.status != http.StatusOK {
		t.Errorf("a canary that gates nothing made it %d %s", got.status, got.body)
	}
	if list := r.do(http.MethodGet, r.base+"/v1/decisions", "").body; len(listed(t, list)) != 0 {
		t.Errorf("decisions: %s", list)
	}
}

func TestACanaryMayGateReadiness(t *testing.T) {
	up := make(chan struct{})
	hook := newHookServer(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-up:
			_, _ = io.WriteString(w, `{"decision":"deny"}`)
		case <-r.Context().Done():
		}
	})
	r := start(t, chained(t, "{name: h, url: "+hook.URL+", timeout_ms: 60000, "+forcePush+", gate_readiness: true}}"))
	eventually(t, "the endpoint is asked", func() bool { return hook.asked() == 1 })
	ready := func() (int, string) {
		got := r.do(http.MethodGet, r.admin+"/readyz", "")
		return got.status, got.body
	}
	if status, body := ready(); status != http.StatusServiceUnavailable || !strings.Contains(body, `"waiting_for":["the canary of hook 'h' is being checked"]`) {
		t.Errorf("before the first check: %d %s", status, body)
	}
	close(up)
	eventually(t, "the gateway is ready", func() bool { status, _ := ready(); return status == http.StatusOK })
	hook.say(fails(http.StatusInternalServerError))
	eventually(t, "the gateway is not ready", func() bool { status, _ := ready(); return status == http.StatusServiceUnavailable })
	if _, body := ready(); !strings.Contains(body, `"the canary of hook 'h' is not denied: it could not answer: answered with status 500"`) {
		t.Errorf("body %s", body)
	}
	if hooks := r.do(http.MethodGet, r.base+"/v1/hooks", "").body; !strings.Contains(hooks, `"breaker":{"state":"closed","consecutive_failures":0}`) {
		t.Errorf("the breaker counts it: %s", hooks)
	}
	hook.say(answers(`{"decision":"deny"}`))
	eventually(t, "the gateway is ready again", func() bool { status, _ := ready(); return status == http.StatusOK })
}

func TestEveryBindingCanHaveACanary(t *testing.T) {
	for name, entry := range map[string]string{
		"in_process": "{name: h, use: no-force-push, " + forcePush + "}}",
		"subprocess": "{name: h, " + self(t, "says", "GATEWAY_TEST_ANSWER", `{"decision":"deny"}`) + ", " + forcePush + "}}",
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, chained(t, entry))
			eventually(t, "the canary is denied", func() bool {
				n, _ := r.metric(`hookgate_hook_canary_passing{hook="h"}`)
				return n == "1"
			})
		})
	}
}

func TestACanaryEndsWithItsEntry(t *testing.T) {
	hook := newHookServer(t, waits(nil))
	o := chained(t, "{name: h, url: "+hook.URL+", "+forcePush+", gate_readiness: true}}")
	r := start(t, o)
	eventually(t, "the endpoint is asked", func() bool { return hook.asked() == 1 })
	write(t, o.ConfigFile, "schema: 1\nhooks: [{name: other, use: secrets}]\n")
	r.gateway.Reload(t.Context())
	if got := r.do(http.MethodGet, r.admin+"/readyz", ""); got.status != http.StatusOK {
		t.Errorf("readiness waits for an entry that is gone: %s", got.body)
	}
	if _, there := r.metric(`hookgate_hook_canary_passing{hook="h"}`); there {
		t.Error("its series stay")
	}
}

// checking returns the canary of a scripted hook.
func checking(ask func() chain.Answer) *canaryWatch {
	c := &canaryWatch{
		ask:   func(context.Context, chain.Call) chain.Answer { return ask() },
		entry: new(atomic.Pointer[config.Hook]), events: &events{}, log: slog.New(slog.DiscardHandler),
	}
	c.entry.Store(&config.Hook{Event: chain.PreToolUse, Timeout: time.Second, Canary: &config.Canary{Every: time.Minute, GatesReadiness: true}})
	return c
}

func TestACanaryIsCheckedAtOnceAndThenAboutAsOftenAsItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		began := time.Now()
		var at []time.Duration
		c := checking(func() chain.Answer {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(began))
			return chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny}}
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.run(ctx) })
		time.Sleep(time.Hour)
		cancel()
		running.Wait()
		if at[0] != 0 || len(at) < 55 || len(at) > 67 {
			t.Errorf("%d checks in an hour, the first after %v", len(at), at[0])
		}
		steady := true
		for n := 1; n < len(at); n++ {
			pause := at[n] - at[n-1]
			if pause < 54*time.Second || pause > 66*time.Second {
				t.Errorf("a pause of %v", pause)
			}
			steady = steady && pause == at[1]
		}
		if steady {
			t.Error("every pause is as long as the first: replicas that began together stay together")
		}
	})
}

func TestWhatACheckSays(t *testing.T) {
	for name, c := range map[string]struct {
		says    chain.Answer
		passing bool
		waits   string
	}{
		"deny":    {chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny}}, true, ""},
		"allow":   {chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow}}, false, "the canary of hook '' is not denied: it answered allow to a call that it must deny"},
		"modify":  {chain.Answer{Outcome: chain.Outcome{Decision: chain.Modify}}, false, "the canary of hook '' is not denied: it answered modify to a call that it must deny"},
		"nothing": {chain.Fail(chain.BreakerOpen, "was not asked", ""), false, "the canary of hook '' is not denied: it could not answer: was not asked"},
	} {
		t.Run(name, func(t *testing.T) {
			watch := checking(func() chain.Answer { return c.says })
			watch.check(t.Context())
			if watch.passing() != c.passing || watch.waitsFor(false) != c.waits {
				t.Errorf("passing %v, waits for %q, want %q", watch.passing(), watch.waitsFor(false), c.waits)
			}
			watch.ask = func(context.Context, chain.Call) chain.Answer {
				return chain.Fail(chain.Saturated, "was not asked", "")
			}
			before := watch.describe()
			watch.check(t.Context()) // a check without a result
			if diff := cmp.Diff(before, watch.describe()); diff != "" {
				t.Errorf("a check for which there was no place changed (-before +after):\n%s", diff)
			}
		})
	}
}
