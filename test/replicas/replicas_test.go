package replicas

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookgate/hookgate/test/postgres"
	"github.com/hookgate/hookgate/test/process"
)

const call = `{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"agent-1","tool_call_id":"call-1","tool_name":"shell","input":{"command":"ls"}}`

// hooks is a chain that asks a person with the given timeout.
func hooks(t *testing.T, timeout time.Duration) string {
	t.Helper()
	return process.File(t, "hooks.yaml", fmt.Sprintf("schema: 1\nhooks:\n  - {name: person, use: approval, tools: [shell], timeout_ms: %d}\n", timeout.Milliseconds()))
}

// decided waits for a decision, for at most within.
func decided(t *testing.T, answer <-chan process.Answer, within time.Duration) process.Answer {
	t.Helper()
	select {
	case got := <-answer:
		return got
	case <-time.After(within):
		t.Fatalf("no decision within %v", within)
		return process.Answer{}
	}
}

func TestACallAskedAtOneGatewayIsAnsweredAtAnother(t *testing.T) {
	t.Parallel()
	program, server := process.Build(t), postgres.Start(t)
	variables := map[string]string{"CONFIG": hooks(t, 10*time.Minute), "DATABASE_URL": server.Database()}
	one, other := process.Start(t, program, variables), process.Start(t, program, variables)
	for _, turn := range []struct{ asked, answered *process.Gateway }{{one, other}, {other, one}} {
		for says, want := range map[string]string{
			`{"behavior":"allow"}`:                                   `{"decision":"allow"}`,
			`{"behavior":"deny","message":"x"}`:                      `{"decision":"deny","reason":"denied by hook 'person': x"}`,
			`{"behavior":"allow","updated_input":{"command":"pwd"}}`: `{"decision":"modify","input":{"command":"pwd"},"reason":"hook 'person': the person who allowed it changed the input"}`,
		} {
			answer := turn.asked.Ask(t.Context(), call)
			id := turn.answered.Waiting(1)[0].ID
			if got := turn.answered.Reply(id, says); got.Status != http.StatusOK {
				t.Fatalf("%+v", got)
			}
			if got := decided(t, answer, 30*time.Second); got.Body != want {
				t.Errorf("%s: %+v, want %s", says, got, want)
			}
			if got := turn.asked.Reply(id, `{"behavior":"allow"}`); got.Status != http.StatusConflict {
				t.Errorf("a second answer: %+v", got)
			}
		}
	}
}

func TestTwoPeopleAtTwoGatewaysAndOneOfThemWins(t *testing.T) {
	t.Parallel()
	program, server := process.Build(t), postgres.Start(t)
	variables := map[string]string{"CONFIG": hooks(t, 10*time.Minute), "DATABASE_URL": server.Database()}
	gateways := []*process.Gateway{process.Start(t, program, variables), process.Start(t, program, variables)}
	for range 10 {
		answer := gateways[0].Ask(t.Context(), call)
		id := gateways[1].Waiting(1)[0].ID
		gateways[0].Waiting(1)
		replies := make(chan process.Answer, 2)
		for n, says := range []string{"allow", "deny"} {
			go func() { replies <- gateways[n].Reply(id, `{"behavior":"`+says+`"}`) }()
		}
		statuses := map[int]int{}
		won := ""
		for range 2 {
			got := <-replies
			statuses[got.Status]++
			if got.Status == http.StatusOK {
				won = got.Body
			}
		}
		if statuses[http.StatusOK] != 1 || statuses[http.StatusConflict] != 1 {
			t.Fatalf("the statuses are %v", statuses)
		}
		allowed := decided(t, answer, 30*time.Second).Body == `{"decision":"allow"}`
		if allowed != strings.Contains(won, `"state":"allowed"`) {
			t.Errorf("who won says %s, and allowed is %v", won, allowed)
		}
	}
}

func TestAGatewayThatIsKilledAllowsNothing(t *testing.T) {
	t.Parallel()
	program := process.Build(t)
	server := postgres.Start(t)
	for name, place := range map[string]map[string]string{
		"a file":     {"STATE_DIR": t.TempDir()},
		"a database": {"DATABASE_URL": server.Database()},
	} {
		place["CONFIG"] = hooks(t, 10*time.Minute)
		g := process.Start(t, program, place)
		var answers []<-chan process.Answer
		for n := range 5 {
			answers = append(answers, g.Ask(t.Context(), call))
			g.Waiting(n + 1)
		}
		g.Kill()
		for _, a := range answers {
			if got := decided(t, a, 30*time.Second); got.Err == nil {
				t.Errorf("%s: a caller got %+v", name, got)
			}
		}
		g = process.Start(t, program, place)
		all, err := g.Approvals("any")
		if err != nil || len(all) != 5 {
			t.Fatalf("%s: %+v: %v", name, all, err)
		}
		if name == "a database" { // which another one could still answer
			process.Eventually(t, "it is seen that nobody waits", func() bool {
				all, err = g.Approvals("pending")
				return err == nil && len(all) == 5 && !slices.ContainsFunc(all, func(a process.Approval) bool { return a.Waiting })
			})
			if page := process.Do(t.Context(), http.MethodGet, g.URL+"/ui/approvals", ""); page.Status != http.StatusOK || !strings.Contains(page.Body, "Nothing waits for a person.") {
				t.Errorf("the page: %+v", page)
			}
		}
		for _, a := range all {
			if a.State != "pending" && a.State != "expired" {
				t.Errorf("%s: after the start it stands as %+v", name, a)
			}
			if got := g.Reply(a.ID, `{"behavior":"allow"}`); got.Status != http.StatusConflict || !strings.Contains(got.Body, "the gateway that asked") {
				t.Errorf("%s: a late answer: %+v", name, got)
			}
		}
		all, err = g.Approvals("any")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if a.Used {
				t.Errorf("%s: it let its call go: %+v", name, a)
			}
		}
	}
}
