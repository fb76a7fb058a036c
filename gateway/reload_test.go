package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// saying returns a hooks file whose only hook denies with the given word.
func saying(t *testing.T, word string) string {
	t.Helper()
	return fmt.Sprintf("schema: 1\nhooks:\n  - {name: h, %s}\n",
		self(t, "says", "GATEWAY_TEST_ANSWER", `{"decision":"deny","reason":"`+word+`"}`))
}

// reload rereads the files now.
func (r *running) reload() { r.gateway.Reload(r.t.Context()) }

func TestG3_ABadFileAtStartIsFatalAndSaysWhy(t *testing.T) {
	dir := files(t, map[string]string{
		"hooks.yaml":       "schema: 1\nhooks:\n  - name: a\n    url: http://127.0.0.1:1/\n    on_faliure: allow\n  - {name: b, use: no-such-guard}\n",
		"chains/team.yaml": "schema: 1\nhooks:\n  - {name: c, command: [./x], on_failure: Allow}\n",
	})
	_, err := New(Options{ConfigFile: dir + "/hooks.yaml", ChainsDir: dir + "/chains"})
	if err == nil {
		t.Fatal("it starts")
	}
	for _, want := range []string{
		`hooks.yaml:5:`, `"on_faliure"`, `did you mean "on_failure"`, `hooks.yaml:6:`, `no-such-guard`, `team.yaml:3:`, `"Allow"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %s:\n%v", want, err)
		}
	}
}

func TestG3_AMistakeThatOnlyTheBuilderFindsIsOneOfItsEntry(t *testing.T) {
	for entry, want := range map[string]string{
		"use: secrets, with: {nonsense: 1}":                      "nonsense",
		"use: destructive-shell, event: post_tool_use":           `guard "destructive-shell" cannot be used at post_tool_use, only at [pre_tool_use]`,
		`url: "http://127.0.0.1:1/", headers: {Host: elsewhere}`: "Host",
	} {
		dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: a, " + entry + "}\n"})
		_, err := New(Options{ConfigFile: dir + "/hooks.yaml"})
		if err == nil || !strings.Contains(err.Error(), "hooks.yaml:3") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", entry, err)
		}
	}
}

func TestG3_AMistakeThatOnlyTheBuilderFindsStandsAtItsKey(t *testing.T) {
	for text, want := range map[string]string{
		"    use: secrets\n    with: {nonsense: 1}":                                          `hooks.yaml:5: hooks[0] "a": with: `,
		"    use: destructive-shell\n    event: post_tool_use":                               `hooks.yaml:5: hooks[0] "a": event: `,
		"    url: http://127.0.0.1:1/\n    timeout_ms: 5\n    signing:\n      secret: short": `hooks.yaml:6: hooks[0] "a": signing.secret: `,
	} {
		dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - name: a\n" + text + "\n"})
		if _, err := New(Options{ConfigFile: dir + "/hooks.yaml"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nthe error is %v, want one at %s", text, err, want)
		}
	}
}

func TestAProgramThatIsNotThereIsSaidAtTheStartAndAtAReload(t *testing.T) {
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: a, command: [./gone]}\n", "agents/coder.yaml": "command: ./coder\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", AgentsDir: dir + "/agents", ReloadInterval: time.Hour})
	if want := `coder.yaml: could not be started: program \"./coder\" does not exist`; !strings.Contains(r.log.String(), want) {
		t.Errorf("%s is not in\n%s", want, r.log)
	}
	if want := `hooks.yaml:3: hooks[0] \"a\": cannot be started from here: ./gone: no such file`; !strings.Contains(r.log.String(), want) {
		t.Errorf("%s is not in\n%s", want, r.log)
	}
	write(t, dir+"/hooks.yaml", "schema: 1\nhooks:\n  - {name: a, command: [./lost]}\n")
	r.reload()
	if want := `./lost: no such file`; !strings.Contains(r.log.String(), want) {
		t.Errorf("%s is not in\n%s", want, r.log)
	}
}

func TestG3_ABadFileAtReloadChangesNothingAndIsSaid(t *testing.T) {
	dir := files(t, map[string]string{"hooks.yaml": saying(t, "old")})
	file := filepath.Join(dir, "hooks.yaml")
	r := start(t, Options{ConfigFile: file, ReloadInterval: time.Hour})
	for name, spoil := range map[string]func() error{
		"a mistake": func() error { return os.WriteFile(file, []byte("schema: 1\nhooks:\n  - {name: h}\n"), 0o600) },
		"emptied":   func() error { return os.Truncate(file, 0) },
		"removed":   func() error { return os.Remove(file) },
	} {
		t.Run(name, func(t *testing.T) {
			refused, _ := r.metric(`hookgate_config_reloads_total{result="invalid"}`)
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			r.reload()
			if _, reason := r.decide("", preText); reason != "denied by hook 'h': old" {
				t.Errorf("decided %q", reason)
			}
			ready := r.do(http.MethodGet, r.admin+"/readyz", "")
			if ready.status != http.StatusOK || !strings.Contains(ready.body, `"last_reload":"invalid","error":"`) {
				t.Errorf("readyz answers %d: %s", ready.status, ready.body)
			}
			if now, _ := r.metric(`hookgate_config_reloads_total{result="invalid"}`); now == refused {
				t.Errorf("invalid reloads stay at %s", now)
			}
			if good, _ := r.metric(`hookgate_config_last_reload_successful`); good != "0" {
				t.Errorf("hookgate_config_last_reload_successful is %q while the file is refused", good)
			}
			if !strings.Contains(r.log.String(), "configuration refused: the previous one stays in force") {
				t.Error("the log does not say so")
			}
			write(t, file, saying(t, "old"))
			r.reload()
			if ready := r.do(http.MethodGet, r.admin+"/readyz", ""); !strings.Contains(ready.body, `"last_reload":"ok"}`) {
				t.Errorf("with the old file back readyz answers %s", ready.body)
			}
			if good, _ := r.metric(`hookgate_config_last_reload_successful`); good != "1" {
				t.Errorf("hookgate_config_last_reload_successful is %q with the old file back", good)
			}
		})
	}
}

func TestAReloadThatIsAskedForIsCountedWhateverItFindsAndALookOnlyForNews(t *testing.T) {
	dir := files(t, map[string]string{"hooks.yaml": saying(t, "old")})
	file := filepath.Join(dir, "hooks.yaml")
	g, err := New(Options{ConfigFile: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	spoil := func() { write(t, file, "schema: 1\nhoks: []\n") }
	restore := func() { write(t, file, saying(t, "old")) }
	for i, step := range []struct {
		before      func()
		asked       bool
		ok, invalid string
	}{
		{func() {}, false, "0", "0"},
		{func() {}, true, "1", "0"},
		{spoil, false, "1", "1"},
		{func() {}, false, "1", "1"},
		{func() {}, true, "1", "2"},
		{restore, false, "2", "2"}, // nothing changed since what is in force, but what was refused is gone
		{func() {}, false, "2", "2"},
		{spoil, true, "2", "3"},
		{restore, true, "3", "3"},
	} {
		step.before()
		g.reload(t.Context(), step.asked)
		shown := httptest.NewRecorder()
		g.adminHandler().ServeHTTP(shown, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/metrics", http.NoBody))
		for result, want := range map[string]string{"ok": step.ok, "invalid": step.invalid} {
			if line := fmt.Sprintf("hookgate_config_reloads_total{result=%q} %s\n", result, want); !strings.Contains(shown.Body.String(), line) {
				t.Errorf("step %d: the metrics lack %s", i, line)
			}
		}
	}
}

func TestAChangedFileIsTakenUpByItself(t *testing.T) {
	dir := files(t, map[string]string{"hooks.yaml": saying(t, "old")})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	before, _ := r.metric(`hookgate_config_reloads_total{result="ok"}`)
	write(t, dir+"/hooks.yaml", saying(t, "new"))
	eventually(t, "the new file is in force", func() bool {
		_, reason := r.decide("", preText)
		return reason == "denied by hook 'h': new"
	})
	if after, _ := r.metric(`hookgate_config_reloads_total{result="ok"}`); after == before {
		t.Errorf("reloads stay at %s", after)
	}
}

func TestG5_AnEntryThatWasOnlyRenamedKeepsItsConnectionsAndItsBreaker(t *testing.T) {
	first, second := newHookServer(t, answers(`{"decision":"allow"}`)), newHookServer(t, fails(http.StatusInternalServerError))
	// Two of the entries differ only in their names.
	text := func(names ...string) string {
		return fmt.Sprintf(`schema: 1
hooks:
  - {name: %s, url: %q}
  - {name: %s, url: %q, tools: [broken], breaker: {consecutive_failures: 1, open_ms: 600000}}
  - {name: %s, url: %q, tools: [broken], breaker: {consecutive_failures: 1, open_ms: 600000}}
`, names[0], first.URL, names[1], second.URL, names[2], second.URL)
	}
	dir := files(t, map[string]string{"hooks.yaml": text("a", "b", "c")})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ReloadInterval: time.Hour})
	r.decide("", preText)
	r.wantMetric(`hookgate_hook_connections_total{connection="new",hook="a"}`, "1")
	r.decide("", strings.Replace(preText, "shell", "broken", 1)) // b denies, and c is not asked

	write(t, dir+"/hooks.yaml", text("renamed", "c", "other")) // b is now called other
	r.reload()
	r.decide("", preText)
	r.wantMetric(`hookgate_hook_connections_total{connection="new",hook="renamed"}`, "0")
	r.wantMetric(`hookgate_hook_connections_total{connection="reused",hook="renamed"}`, "1")
	r.wantMetric(`hookgate_breaker_state{hook="c",state="closed"}`, "1")
	r.wantMetric(`hookgate_breaker_state{hook="other",state="open"}`, "1")
	if _, there := r.metric(`hookgate_breaker_state{hook="a",state="closed"}`); there {
		t.Error("the series of the name before stay")
	}
	hooks := r.do(http.MethodGet, r.base+"/v1/hooks", "").body
	if !strings.Contains(hooks, `"name":"renamed"`) || !strings.Contains(hooks, `"counts":{"allow":3,`) {
		t.Errorf("hooks: %s", hooks)
	}
}

func TestG5_WhatDidNotChangeKeepsBreakerProcessesAndCounts(t *testing.T) {
	endpoint := newHookServer(t, fails(http.StatusInternalServerError))
	entries := func(more string) string {
		return fmt.Sprintf(`schema: 1
hooks:
  - {name: remote, url: %q, tools: [remote], breaker: {consecutive_failures: 1, open_ms: 600000}}
  - {name: worker, tools: [worker], worker: {processes: 1}, %s}
%s`, endpoint.URL, self(t, "worker"), more)
	}
	dir := files(t, map[string]string{"hooks.yaml": entries("")})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ReloadInterval: time.Hour})
	on := func(tool string) string {
		_, reason := r.decide("", strings.Replace(preText, "shell", tool, 1))
		return reason
	}
	if first := on("remote"); first != "hook 'remote' could not answer and denies on failure: answered with status 500" {
		t.Fatalf("first: %s", first)
	}
	process := on("worker")

	write(t, dir+"/hooks.yaml", entries("  - {name: third, url: \"http://127.0.0.1:1/\", tools: [third]}\n"))
	r.reload()
	if got := on("remote"); !strings.Contains(got, "circuit breaker is open") || endpoint.asked() != 1 {
		t.Errorf("after the reload the endpoint was asked %d times: %s", endpoint.asked(), got)
	}
	if got := on("worker"); got != process {
		t.Errorf("the worker was %q and is %q", process, got)
	}
	r.wantMetric(`hookgate_hook_failures_total{binding="webhook",cause="status",hook="remote"}`, "1")
	r.wantMetric(`hookgate_breaker_state{hook="remote",state="open"}`, "1")
	r.wantMetric(`hookgate_breaker_transitions_total{from="closed",hook="remote",to="open"}`, "1")
	if hooks := r.do(http.MethodGet, r.base+"/v1/hooks", "").body; !strings.Contains(hooks, `"breaker":{"state":"open"`) || !strings.Contains(hooks, `"failure":2`) {
		t.Errorf("/v1/hooks: %s", hooks)
	}

	write(t, dir+"/hooks.yaml", strings.Replace(entries(""), "consecutive_failures: 1", "consecutive_failures: 2", 1))
	r.reload()
	if got := on("remote"); !strings.Contains(got, "answered with status 500") {
		t.Errorf("a changed entry kept its breaker: %s", got)
	}
	if _, there := r.metric(`hookgate_hook_in_flight{hook="third"}`); there {
		t.Error("the series of a removed hook stay")
	}
}

func TestG2_ReloadsUnderLoadLoseNoDecision(t *testing.T) {
	endpoint := newHookServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"decision":"deny","reason":%q}`, r.URL.Path)
	})
	version := func(n int) string {
		// Two hooks that must be of the same version, so that a mixture would
		// be noticed.
		return fmt.Sprintf("schema: 1\nhooks:\n  - {name: \"first-%d\", url: \"%s/%d\", tools: [x]}\n  - {name: \"second-%d\", url: \"%s/%d\"}\n", n, endpoint.URL, n, n, endpoint.URL, n)
	}
	dir := files(t, map[string]string{"hooks.yaml": version(0)})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ReloadInterval: time.Hour})
	var asked atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for ctx.Err() == nil {
				got := r.ask("", preText)
				_, reason := decisionIn(t, got.body)
				var hook, path int
				if n, err := fmt.Sscanf(reason, "denied by hook 'second-%d': /%d", &hook, &path); got.status != http.StatusOK || n != 2 || err != nil || hook != path {
					t.Errorf("status %d: %s", got.status, got.body)
					return
				}
				asked.Add(1)
			}
		})
	}
	for n := 1; n <= 25; n++ {
		write(t, dir+"/hooks.yaml", version(n))
		r.reload()
		before := asked.Load()
		eventually(t, "calls go on", func() bool { return asked.Load() > before+4 || t.Failed() })
		if _, reason := r.decide("", preText); reason != fmt.Sprintf("denied by hook 'second-%d': /%d", n, n) {
			t.Errorf("after reload %d: %s", n, reason)
		}
	}
	stop()
	callers.Wait()
}

func TestACallInFlightEndsOnTheChainItBeganWith(t *testing.T) {
	release := make(chan struct{})
	endpoint := newHookServer(t, waits(release))
	last := self(t, "says", "GATEWAY_TEST_ANSWER", `{"decision":"deny","reason":"of the old file"}`)
	dir := files(t, map[string]string{"hooks.yaml": fmt.Sprintf("schema: 1\nhooks:\n  - {name: slow, url: %q}\n  - {name: last, %s}\n", endpoint.URL, last)})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ReloadInterval: time.Hour})
	reasons := make(chan string, 1)
	go func() { _, reason := r.decide("", preText); reasons <- reason }()
	eventually(t, "the slow hook is asked", func() bool { return endpoint.asked() == 1 })
	for _, word := range []string{"newer", "newest"} { // the second reload retires a plan that nobody entered
		write(t, dir+"/hooks.yaml", saying(t, word))
		r.reload()
		if _, reason := r.decide("", preText); reason != "denied by hook 'h': "+word {
			t.Errorf("a new call gets %q", reason)
		}
	}
	close(release)
	if got, want := <-reasons, "denied by hook 'last': of the old file"; got != want {
		t.Errorf("the old call gets %q, want %q", got, want)
	}
}

func TestC10_NoTenantGetsAheadOfTheOperator(t *testing.T) {
	noted := func(word string) string {
		return self(t, "says", "GATEWAY_TEST_ANSWER", `{"decision":"modify","input":{"by":"`+word+`"},"reason":"x"}`)
	}
	dir := files(t, map[string]string{
		"hooks.yaml":       "schema: 1\nbudget_ms: 60000\nhooks:\n  - {name: operators, " + noted("operator") + "}\n",
		"chains/team.yaml": "schema: 1\nhooks:\n  - {name: tenants, " + noted("tenant") + "}\n",
	})
	first := intercepting("embedder", func(context.Context, *chain.Request) (chain.Outcome, error) {
		return chain.Outcome{Decision: chain.Modify, Input: []byte(`{}`)}, nil
	})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ChainsDir: dir + "/chains", Interceptors: first})
	want := `{"decision":"modify","input":{"by":"tenant"},"reason":"interceptor 'embedder'; hook 'operators': x; hook 'tenants': x"}`
	if diff := cmp.Diff(want, r.ask("team", preText).body); diff != "" {
		t.Errorf("the tenant's chain (-want +got):\n%s", diff)
	}
	want = `{"decision":"modify","input":{"by":"operator"},"reason":"interceptor 'embedder'; hook 'operators': x"}`
	if diff := cmp.Diff(want, r.ask("", preText).body); diff != "" {
		t.Errorf("the operator's chain (-want +got):\n%s", diff)
	}
}

func TestASecretThatAProgramCrashesWithIsShownToNobody(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ env, said string }{
		"of a file":                    {`TOKEN: "Bearer ${file:token}"`, "what it wrote repeats a secret of its env and is not shown"},
		"of a variable":                {`TOKEN: "${TOKEN}"`, "what it wrote repeats a secret of its env and is not shown"},
		"what every program is told":   {`PLACE: "${HOME}"`, "panic: 401 with HOME=/home/gateway GATEWAY_TEST_HOOK=crash PLACE=/home/gateway"},
		"what stands in the file":      {`PLACE: somewhere-else`, "panic: 401 with HOME=/home/gateway GATEWAY_TEST_HOOK=crash PLACE=somewhere-else"},
		"too short not to be a chance": {`PLACE: "${SHORT}"`, "panic: 401 with HOME=/home/gateway GATEWAY_TEST_HOOK=crash PLACE=eu"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := files(t, map[string]string{
				"token":      "CANARY-of-a-file\n",
				"hooks.yaml": fmt.Sprintf("schema: 1\nhooks:\n  - {name: h, command: [%q], env: {GATEWAY_TEST_HOOK: crash, %s}}\n", path, c.env),
			})
			variables := map[string]string{"TOKEN": "CANARY-of-a-variable", "HOME": "/home/gateway", "SHORT": "eu"}
			var decisions syncBuffer
			r := start(t, Options{
				ConfigFile: dir + "/hooks.yaml", HookEnvironment: []string{"HOME=/home/gateway"}, DecisionLog: &decisions,
				LookupEnv: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
			})
			_, reason := r.decide("", preText)
			if want := "hook 'h' could not answer and denies on failure: exited with status 1: " + c.said; reason != want {
				t.Errorf("the caller reads %q, want %q", reason, want)
			}
			for where, text := range map[string]string{
				"the decision log": decisions.String(), "the log": r.log.String(),
				"the list of hooks": r.do(http.MethodGet, r.base+"/v1/hooks", "").body, "the metrics": r.do(http.MethodGet, r.admin+"/metrics", "").body,
			} {
				if strings.Contains(text, "CANARY") {
					t.Errorf("%s has the secret: %s", where, text)
				}
			}
		})
	}
}

func TestASubprocessFindsOnlyItsOwnEnvironment(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "CANARY")
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := files(t, map[string]string{"hooks.yaml": fmt.Sprintf("schema: 1\nhooks:\n  - {name: h, command: [%q], env: {GATEWAY_TEST_HOOK: environment, TEAM: \"${TEAM}\"}}\n", path)})
	r := start(t, Options{
		ConfigFile: dir + "/hooks.yaml", HookEnvironment: []string{"LANG=C"},
		LookupEnv: func(name string) (string, bool) { return "blue", name == "TEAM" },
	})
	_, reason := r.decide("", preText)
	if want := "denied by hook 'h': LANG=C GATEWAY_TEST_HOOK=environment TEAM=blue"; reason != want {
		t.Errorf("the hook finds %q, want %q", reason, want)
	}
}

func TestG3_WhatAReloadCameToIsLoggedInOneLine(t *testing.T) {
	const valid, mistaken = "schema: 1\nhooks: [{name: a, use: destructive-shell}]\n", "schema: 1\nhooks: {}\n"
	dir := files(t, map[string]string{"hooks.yaml": valid})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ReloadInterval: time.Hour})
	r.ask("", preText) // once it answers, the configuration that it began with has been logged
	for _, step := range []struct{ file, want string }{
		{valid, "the configuration on disk is already in force"},
		{mistaken, "configuration refused: the previous one stays in force"},
		{valid, "the configuration on disk is valid again, and already in force"},
		{mistaken, "configuration refused: the previous one stays in force"},
		{valid + "# changed\n", "configuration in force"},
	} {
		write(t, dir+"/hooks.yaml", step.file)
		before := len(r.log.String())
		r.reload()
		var got []string
		for line := range strings.Lines(r.log.String()[before:]) {
			var l struct{ Level, Msg string }
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			if l.Level != "DEBUG" && l.Msg != "serving" { // which another goroutine logs
				got = append(got, l.Msg)
			}
		}
		if diff := cmp.Diff([]string{step.want}, got); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", step.file, diff)
		}
	}
}
