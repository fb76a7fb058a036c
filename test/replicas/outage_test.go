package replicas

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hookgate/hookgate/test/postgres"
	"github.com/hookgate/hookgate/test/process"
)

const (
	// outage is how long the database is unavailable.
	outage = time.Minute
	// brief is the approval timeout for the tool shell, shorter than the outage;
	// long is that for the tool deploy, longer than the outage.
	brief = 20 * time.Second
	long  = 10 * time.Minute
	// denial is how long a deny may take without a database: the timeout of a
	// store operation, doubled for a busy machine.
	denial = 10 * time.Second
)

// outageHooks is a chain in which some calls need a person's approval.
func outageHooks(t *testing.T) string {
	t.Helper()
	return process.File(t, "hooks.yaml", fmt.Sprintf("schema: 1\nhooks:\n"+
		"  - {name: person, use: approval, tools: [shell], timeout_ms: %d}\n  - {name: patient, use: approval, tools: [deploy], timeout_ms: %d}\n",
		brief.Milliseconds(), long.Milliseconds()))
}

// of returns the call of another tool.
func of(tool string) string { return strings.Replace(call, `"shell"`, `"`+tool+`"`, 1) }

// both is two gateways with one database.
type both [2]*process.Gateway

// say reports whether both report the given readiness.
func (g both) say(t *testing.T, status string) bool {
	t.Helper()
	for _, one := range g {
		ready := process.Do(t.Context(), http.MethodGet, one.Admin+"/readyz", "")
		if ready.Status != http.StatusOK || !strings.Contains(ready.Body, `"status":"`+status+`"`) {
			return false
		}
	}
	return true
}

// endures sends calls to a gateway and reads and answers approvals until the
// outage is over. Nothing may hang, and nothing that needs approval may be
// allowed.
func endures(t *testing.T, g *process.Gateway, waiting string, over <-chan time.Time) {
	t.Helper()
	within := func(what string, ask func() process.Answer) process.Answer {
		began := time.Now()
		got := ask()
		if took := time.Since(began); took > denial {
			t.Errorf("%s took %v", what, took)
		}
		return got
	}
	for rounds := 1; ; rounds++ {
		got := within("a deny", func() process.Answer { return process.Do(t.Context(), http.MethodPost, g.URL+"/v1/decide", call) })
		if !strings.Contains(got.Body, "hook 'person' could not answer and denies on failure: the approvals store is unavailable") {
			t.Errorf("what needs a person: %+v", got)
		}
		// Calls that need no approval are decided as usual.
		got = within("an allow", func() process.Answer { return process.Do(t.Context(), http.MethodPost, g.URL+"/v1/decide", of("read")) })
		if got.Body != `{"decision":"allow"}` {
			t.Errorf("what needs nobody: %+v", got)
		}
		for what, ask := range map[string]func() process.Answer{
			"a list":    func() process.Answer { return process.Do(t.Context(), http.MethodGet, g.URL+"/v1/approvals", "") },
			"an answer": func() process.Answer { return g.Reply(waiting, `{"behavior":"allow"}`) },
		} {
			if got := within(what, ask); got.Status != http.StatusServiceUnavailable || !strings.Contains(got.Body, "the approvals store is unavailable") {
				t.Errorf("%s: %+v", what, got)
			}
		}
		select { // an immediate deny needs no tight loop
		case <-time.After(time.Second):
		case <-over:
			t.Logf("%d rounds without a database", rounds)
			return
		}
	}
}

func TestADatabaseThatIsNotThereForAMinuteDeniesAndEverythingRecovers(t *testing.T) {
	for name, fault := range map[string]struct{ begin, end func(*postgres.Server) }{
		"gone": {(*postgres.Server).Stop, (*postgres.Server).Run},
		"hung": {
			func(s *postgres.Server) { s.Signal(syscall.SIGSTOP) },
			func(s *postgres.Server) { s.Signal(syscall.SIGCONT) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := postgres.Start(t)
			variables := map[string]string{"CONFIG": outageHooks(t), "DATABASE_URL": server.Database()}
			program := process.Build(t)
			g := both{process.Start(t, program, variables), process.Start(t, program, variables)}
			kept := g[0].Ask(t.Context(), call)
			acknowledged := g[1].Waiting(1)[0].ID
			if got := g[1].Reply(acknowledged, `{"behavior":"deny","message":"kept"}`); got.Status != http.StatusOK {
				t.Fatalf("%+v", got)
			}
			decided(t, kept, 30*time.Second)
			patient := g[0].Ask(t.Context(), of("deploy"))
			waiting := g[1].Waiting(1)[0].ID
			impatient := g[0].Ask(t.Context(), call)
			g[1].Waiting(2)
			// What is visible to others need not be acknowledged yet.
			process.Eventually(t, "it is known to be stored where it was asked", func() bool {
				return strings.Contains(g[0].Log(), `"a call waits for a person","approval_id":"`+waiting+`"`)
			})

			fault.begin(server)
			began := time.Now()
			ended := make(chan struct{})
			t.Cleanup(func() { // in any case: a hanging server cannot be stopped
				select {
				case <-ended:
				default:
					fault.end(server)
				}
			})
			process.Eventually(t, "both say that they are degraded", func() bool { return g.say(t, "degraded") })
			var enduring sync.WaitGroup
			for _, one := range g {
				enduring.Go(func() { endures(t, one, waiting, time.After(time.Until(began.Add(outage)))) })
			}
			// The earlier call cannot be answered, and its timeout ends during
			// the outage.
			got := decided(t, impatient, brief+denial-time.Since(began))
			if !strings.Contains(got.Body, `"decision":"deny"`) {
				t.Errorf("what was asked before: %+v", got)
			}
			enduring.Wait()
			if !g.say(t, "degraded") {
				t.Error("at the end of the outage they say something else")
			}
			if took := time.Since(began); took < outage {
				t.Errorf("the outage took %v", took)
			}
			fault.end(server)
			close(ended)

			process.Eventually(t, "both are ready again", func() bool { return g.say(t, "ready") })
			process.Eventually(t, "what nobody answered is no longer pending, and who is patient waits still", func() bool {
				found, err := g[1].Approvals("pending")
				return err == nil && len(found) == 1 && found[0].ID == waiting
			})
			if got := g[1].Reply(waiting, `{"behavior":"allow"}`); got.Status != http.StatusOK {
				t.Errorf("who waited through it is answered with %+v", got)
			}
			if got := decided(t, patient, 30*time.Second); got.Body != `{"decision":"allow"}` {
				t.Errorf("who waited through it: %+v", got)
			}
			answer := g[0].Ask(t.Context(), call)
			if got := g[1].Reply(g[1].Waiting(1)[0].ID, `{"behavior":"allow"}`); got.Status != http.StatusOK {
				t.Errorf("afterwards: %+v", got)
			}
			if got := decided(t, answer, 30*time.Second); got.Body != `{"decision":"allow"}` {
				t.Errorf("afterwards: %+v", got)
			}
			found, err := g[0].Approvals("denied")
			if err != nil || len(found) != 1 || found[0].ID != acknowledged {
				t.Errorf("what was acknowledged before is %+v: %v", found, err)
			}
		})
	}
}
