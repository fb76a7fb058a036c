package functions

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// rounds is the number of times that each runtime is killed, period how long a
// breaker stays open.
const (
	rounds = 2
	period = 3 * time.Second
)

// This test also covers F5: the breaker closes soon after the runtime is back.
func TestF4_NoCallIsAllowedThatTheFunctionDidNotAllow(t *testing.T) {
	all := shipped()
	for _, name := range []string{
		"aws-lambda-go", "aws-lambda-node", "cloud-run-go", "cloud-functions-node", "cloudflare-workers", "deno/supabase",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := all[name].deploy(t, secret)
			breaker := fmt.Sprintf("\n    breaker: {consecutive_failures: 3, open_ms: %d}", period.Milliseconds())
			g := gatewayWith(t, hooksOf(t, all[name].hooks, d.url+breaker), append(d.env, "HOOK_SECRET="+secret)...)
			load := under(t, g)
			for round := range rounds {
				before := load.allows()
				await(t, "calls are allowed", func() bool { return load.allows() >= before+30 })
				d.runtime.kill()
				await(t, "the breaker opens", func() bool {
					return g.metric(t, "hookgate_breaker_state", `hook="commands"`, `state="open"`) == 1
				})
				d.runtime.start()
				back, allowed := time.Now(), load.allows()
				await(t, "calls are allowed again", func() bool { return load.allows() > allowed })
				took := time.Since(back)
				t.Logf("round %d: a call was allowed %v after the runtime was back", round+1, took.Round(time.Millisecond))
				// F5: the first probe closes the breaker. With the second one it
				// would take two periods.
				if took >= 2*period {
					t.Errorf("round %d: it took %v until a call was allowed again, more than one period of %v", round+1, took, period)
				}
			}
			load.end()
			d.runtime.kill() // its output is complete then
			load.judge(t, d.runtime.said.String())
		})
	}
}

// load is a set of callers that ask continuously. The function denies every other
// call of each.
type load struct {
	stop    context.CancelFunc
	callers sync.WaitGroup

	mu      sync.Mutex
	answers map[string]decision // by the id of the call
	lost    []error
}

// under puts a gateway under load until the test ends.
func under(t *testing.T, g *gateway) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop, answers: map[string]decision{}}
	t.Cleanup(l.end)
	for caller := range 4 {
		l.callers.Go(func() { l.call(ctx, g, caller) })
	}
	return l
}

// call sends one request after the other, with pauses that leave the runtimes
// processor time to start.
func (l *load) call(ctx context.Context, g *gateway, caller int) {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		id, command := fmt.Sprintf("call-%d-%d", caller, n), "ls"
		if n%2 == 1 {
			id, command = id+"-denied", "ls prod"
		}
		d, err := g.put(question(id, "shell", fmt.Sprintf(`{"command":%q}`, command), ""))
		l.mu.Lock()
		l.answers[id] = d
		if err != nil {
			l.lost = append(l.lost, err)
		}
		l.mu.Unlock()
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}

func (l *load) end() {
	l.stop()
	l.callers.Wait()
}

func (l *load) allows() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, d := range l.answers {
		if d.Decision == "allow" {
			n++
		}
	}
	return n
}

// judge compares the answers to the callers with the decisions that the function
// logged before answering.
func (l *load) judge(t *testing.T, said string) {
	t.Helper()
	allowed := map[string]bool{}
	for _, m := range regexp.MustCompile(`"tool_call_id":"([^"]+)","decision":"allow"`).FindAllStringSubmatch(said, -1) {
		allowed[m[1]] = true
	}
	count := map[string]int{}
	for id, d := range l.answers {
		count[d.Decision]++
		switch {
		case d.Decision == "allow" && !allowed[id]:
			t.Errorf("%s was allowed, but not by the function", id)
		case d.Decision == "allow" && strings.HasSuffix(id, "-denied"):
			t.Errorf("%s was allowed although the function denies such calls", id)
		case d.Decision != "allow" && d.Decision != "deny":
			t.Errorf("%s: %+v is neither an allow nor a deny", id, d)
		}
	}
	for _, err := range l.lost {
		t.Errorf("a call got no decision: %v", err)
	}
	t.Logf("%d calls: %v; the function allowed %d", len(l.answers), count, len(allowed))
}
