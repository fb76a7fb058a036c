package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// fixture is a client's request. Its file is CLIENT/NAME.json or, if the path
// names the event, CLIENT/NAME@EVENT.json.
type fixture struct {
	client *Client
	file   string // without its extension
	event  string
	body   []byte
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	var all []fixture
	for _, c := range All() {
		files, err := filepath.Glob(filepath.Join("testdata", c.Name(), "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(file, ".json")
			_, event, _ := strings.Cut(filepath.Base(name), "@")
			all = append(all, fixture{c, name, event, bytes.TrimSpace(body)})
		}
	}
	return all
}

// outcomes returns every possible outcome for a call.
func outcomes(t testing.TB, r *chain.Request) map[string]chain.Outcome {
	t.Helper()
	all := map[string]chain.Outcome{
		"1 allow":  {Decision: chain.Allow},
		"2 deny":   {Decision: chain.Deny, Reason: "denied by hook 'guard': not <here>"},
		"5 unset":  {Reason: "the gateway could not decide: internal fault"},
		"6 budget": {Decision: chain.Deny, Reason: "hook 'slow' could not answer within the chain's budget of 50 ms: timed out after 45 ms"},
	}
	if r.Event() == chain.PreToolUse {
		all["3 modify"] = chain.Outcome{
			Decision: chain.Modify, Input: changed(t, r.Input()), Reason: "hook 'narrow': made it harmless",
		}
		all["4 modify, fewer members"] = chain.Outcome{Decision: chain.Modify, Input: []byte(`{"other":9007199254740993}`), Reason: "hook 'narrow'"}
		return all
	}
	no, yes := false, true
	all["3 replace, redacted"] = chain.Outcome{
		Decision: chain.Replace, Output: bytes.ReplaceAll(r.Output(), []byte("hi-"), []byte("[redacted]")), IsError: &no, Reason: "hook 'secrets': redacted",
	}
	all["3 replace, a text"] = chain.Outcome{Decision: chain.Replace, Output: []byte(`"other <text>"`), IsError: &yes, Reason: "hook 'other'"}
	all["4 replace, an object"] = chain.Outcome{Decision: chain.Replace, Output: []byte(`{"n":1e400}`), IsError: &no, Reason: "hook 'other'"}
	return all
}

// changed returns an input with an additional member.
func changed(t testing.TB, input json.RawMessage) json.RawMessage {
	t.Helper()
	if len(input) < 2 || input[0] != '{' {
		return []byte(`{"added":1.0}`)
	}
	if string(input) == "{}" {
		return []byte(`{"added":1.0}`)
	}
	return append(bytes.Clone(input[:len(input)-1]), `,"added":1.0}`...)
}

// TestD2_EveryFixtureAndOutcomeHasItsExactAnswer compares the envelope of each
// fixture, and each answer to it, with its golden file.
func TestD2_EveryFixtureAndOutcomeHasItsExactAnswer(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.client.Name()+"/"+filepath.Base(f.file), func(t *testing.T) {
			compare(t, f.file+".golden", transcript(t, f))
		})
	}
}

func transcript(t *testing.T, f fixture) string {
	t.Helper()
	call, err := f.client.Read(f.event, f.body)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	refused := f.client.Refuse(f.event, f.body, "the gateway refused the request: it is full")
	if call.Passes() {
		fmt.Fprintf(&b, "passes\n\n%s\n%s", shown(f.client, "pass", call.Pass()), shown(f.client, "refused", refused))
		return b.String()
	}
	fmt.Fprintf(&b, "envelope\n%s\n\n", call.Request().JSON())
	all := outcomes(t, call.Request())
	for _, name := range sorted(all) {
		b.WriteString(shown(f.client, name, call.Answer(all[name], false)) + "\n")
		if all[name].Decision == chain.Allow || all[name].Decision == chain.Modify {
			b.WriteString(shown(f.client, name+", explicit", call.Answer(all[name], true)) + "\n")
		}
	}
	b.WriteString(shown(f.client, "7 refused", refused) + "\n")
	b.WriteString(shown(f.client, "8 refused, only the event known", f.client.Refuse(call.event.name, nil, "the gateway refused the request: it is full")))
	return b.String()
}

func shown(c *Client, name string, a Answer) string {
	degraded := ""
	if a.Degraded != chain.Undecided {
		degraded = ", degraded from " + a.Degraded.String()
	}
	if _, err := c.Relay(a.Decision.String(), a.Body); err != nil { // a gateway's own answers never are contradictory
		degraded += ", not relayed: " + err.Error()
	}
	cmd := c.Command(a)
	return fmt.Sprintf("%s: %s%s\n  %d %s\n  exit %d, stdout %q, stderr %q\n", name, a.Decision, degraded, a.Status, a.Body, cmd.Exit, cmd.Stdout, cmd.Stderr)
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" { // UPDATE_GOLDEN=1 go test: write the files anew
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
