package functions

import (
	"fmt"
	"strings"
	"testing"
)

// coldEntry is an entry for a function that answers within a second, but takes
// two seconds to start.
const coldEntry = `schema: 1
budget_ms: 60000
hooks:
  - name: cold
    url: %s
    timeout_ms: 1000
    breaker: {consecutive_failures: 100}
    auth: {aws_sigv4: {region: eu-central-1, service: lambda}}
%s`

// cold starts the function's platform and the gateway in front of it. The
// function itself is not running, because nothing has called it yet.
func cold(t *testing.T, more string) *gateway {
	t.Helper()
	p := lambda(t, staged(t, map[string]string{"index.mjs": "testdata/cold.mjs"}), nodeBootstrap(t))
	return gatewayWith(t, fmt.Sprintf(coldEntry, functionURL(t, p.address), more),
		"AWS_ACCESS_KEY_ID=AKIDTEST", "AWS_SECRET_ACCESS_KEY=of-nobody", "AWS_EC2_METADATA_DISABLED=true")
}

func TestF6_AColdStartIsWaitedForWhereTheEntrySaysSo(t *testing.T) {
	t.Parallel()
	g := cold(t, "    first_call_timeout_ms: 50000\n")
	if got := g.ask(t, question("call-1", "shell", `{}`, "")); got.Decision != "allow" {
		t.Errorf("the first call: %+v, want an allow", got)
	}
}

func TestF6_AColdStartIsOverBeforeTheFirstCallWhereTheEntryWarmsUp(t *testing.T) {
	t.Parallel()
	g := cold(t, "    first_call_timeout_ms: 50000\n    warmup: true\n")
	if n := g.metric(t, "hookgate_hook_warmups_total", `hook="cold"`); n == 0 {
		t.Error("no warm-up is counted")
	}
	if got := g.ask(t, question("call-1", "shell", `{}`, "")); got.Decision != "allow" {
		t.Errorf("the first call: %+v, want an allow", got)
	}
}

func TestF6_AColdStartThatIsNotWaitedForDeniesAndTheNextCallIsServed(t *testing.T) {
	t.Parallel()
	g := cold(t, "")
	got := g.ask(t, question("call-1", "shell", `{}`, ""))
	if want := "hook 'cold' could not answer and denies on failure: timed out after 1000 ms"; got.Decision != "deny" || got.Reason != want {
		t.Errorf("the first call: %+v, want a deny for %q", got, want)
	}
	await(t, "a call is served", func() bool {
		return g.ask(t, question("call-2", "shell", `{}`, "")).Decision == "allow"
	})
	_, metrics := g.get(t, "/metrics")
	if found := causes(metrics, "cold"); len(found) != 1 || !strings.HasPrefix(found[0], "timeout ") {
		t.Errorf("failures %q are counted, want time-outs alone", found)
	}
}
