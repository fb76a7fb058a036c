package config

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookgate/hookgate/chain"
)

// plainHooks compares hooks without hashed, compiled or private fields.
func plainHooks() cmp.Options {
	return cmp.Options{
		cmpopts.IgnoreFields(Hook{}, "When", "Fingerprint", "keys"), cmpopts.IgnoreFields(Webhook{}, "Secrets"),
		cmpopts.IgnoreUnexported(File{}, TLS{}),
	}
}

func TestLoad_AFullFileIsReadWithEveryValue(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"token": "s3cret\r\n", "hooks.yaml": `
schema: 1
budget_ms: 30000
on_uncovered: deny
hooks:
  - name: no-force-push
    command: ["./no-force-push.sh", ""]
    tools: [shell, "mcp__git__*"]
    timeout_ms: 250
    on_failure: allow
    env: {TEAM: "${TEAM}", TOKEN: "x-${file:token}-$$y$", PLAIN: a}
    dir: sub/../scripts
    worker: {processes: 4}
    max_in_flight: 7
    max_response_bytes: 2048
    when:
      - {field: /input/command, glob: "git push*"}
  - name: dlp
    url: https://dlp.example.com/hook?x=1
    event: post_tool_use
    guard: true
    mode: shadow
    headers: {X-Team: "${TEAM}", authorization: "Bearer ${file:token}"}
    breaker: {consecutive_failures: 3, open_ms: 1500, half_open_probes: 2}
    tls: {server_name: dlp.internal}
    proxy: http://user:pw@proxy.example.com:3128
    max_in_flight: 64
    max_response_bytes: 1048576
  - name: paths
    use: shell
    with: {limit: 9007199254740993, ratio: 1.0, huge: 1e400, list: [true, null, "a"], nested: {b: 1, a: <>&}}
`})
	path := filepath.Join(dir, "hooks.yaml")
	set := loaded(t, Options{ConfigFile: path, Guards: []string{"shell"}, LookupEnv: lookup(map[string]string{"TEAM": "red"})})
	deny := chain.DenyUncovered
	proxy, err := url.Parse("http://user:pw@proxy.example.com:3128")
	if err != nil {
		t.Fatal(err)
	}
	want := &File{
		Path: path, Budget: 30 * time.Second, OnUncovered: &deny,
		Hooks: []*Hook{
			{
				Position: Position{File: path, Line: 6, Column: 5, Path: `hooks[0] "no-force-push"`},
				Name:     "no-force-push",
				Command: &Command{
					Argv: []string{"./no-force-push.sh", ""}, Dir: filepath.Join(dir, "scripts"),
					Env:       map[string]string{"TEAM": "red", "TOKEN": "x-s3cret-$y$", "PLAIN": "a"},
					Secrets:   []string{"red", "s3cret"},
					Processes: 4, Limits: Limits{MaxInFlight: 7, MaxResponseBytes: 2048},
				},
				Event: chain.PreToolUse, Tools: []string{"shell", "mcp__git__*"},
				Timeout: 250 * time.Millisecond, OnFailure: chain.AllowOnFailure,
			},
			{
				Position: Position{File: path, Line: 18, Column: 5, Path: `hooks[1] "dlp"`},
				Name:     "dlp",
				Webhook: &Webhook{
					URL:     &url.URL{Scheme: "https", Host: "dlp.example.com", Path: "/hook", RawQuery: "x=1"},
					Headers: http.Header{"X-Team": {"red"}, "Authorization": {"Bearer s3cret"}},
					Breaker: Breaker{ConsecutiveFailures: 3, Open: 1500 * time.Millisecond, HalfOpenProbes: 2, MaxRetryAfter: time.Minute}, ColdAfter: time.Minute, MaxConnAge: 5 * time.Minute,
					TLS:    &TLS{ServerName: "dlp.internal"},
					Proxy:  Proxy{URL: proxy},
					Limits: Limits{MaxInFlight: 64, MaxResponseBytes: 1 << 20},
				},
				Event: chain.PostToolUse, Timeout: 5 * time.Second, Guard: true, Mode: chain.Shadow,
			},
			{
				Position: Position{File: path, Line: 29, Column: 5, Path: `hooks[2] "paths"`},
				Name:     "paths",
				Use: &Use{Guard: "shell", With: map[string]json.RawMessage{
					"limit": json.RawMessage("9007199254740993"), "ratio": json.RawMessage("1.0"),
					"huge": json.RawMessage("1e400"), "list": json.RawMessage(`[true,null,"a"]`),
					"nested": json.RawMessage(`{"b":1,"a":"<>&"}`),
				}},
				Event: chain.PreToolUse, Timeout: 5 * time.Second,
			},
		},
	}
	same(t, "file", want, set.Operator, plainHooks(), cmp.AllowUnexported(url.Userinfo{}))
	if set.Operator.Hooks[0].When == nil || set.Operator.Hooks[1].When != nil {
		t.Error("When is set where there are conditions, and only there")
	}
}

func TestLoad_WhatAnEntryLeavesOutHasTheDocumentedDefault(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hooks.json")
	write(t, dir, map[string]string{"hooks.json": `{"schema":1,"hooks":[
		{"name":"a","command":["x"]},
		{"name":"b","url":"http://localhost:1"},
		{"name":"c","url":"https://h","proxy":"environment"}]}`})
	set := loaded(t, Options{ConfigFile: path})
	webhook := func(u url.URL, p Proxy) *Webhook {
		return &Webhook{
			URL: &u, Proxy: p, Breaker: defaultBreaker(), ColdAfter: time.Minute, MaxConnAge: 5 * time.Minute,
			Limits: Limits{MaxInFlight: 64, MaxResponseBytes: 1 << 20},
		}
	}
	same(t, "file", &File{Path: path, Hooks: []*Hook{
		{
			Position: Position{File: path, Line: 2, Column: 3, Path: `hooks[0] "a"`}, Name: "a",
			Command: &Command{Argv: []string{"x"}, Dir: dir, Limits: Limits{MaxInFlight: 64, MaxResponseBytes: 1 << 20}},
			Event:   chain.PreToolUse, Timeout: 5 * time.Second,
		},
		{
			Position: Position{File: path, Line: 3, Column: 3, Path: `hooks[1] "b"`}, Name: "b",
			Webhook: webhook(url.URL{Scheme: "http", Host: "localhost:1"}, Proxy{}), Event: chain.PreToolUse, Timeout: 5 * time.Second,
		},
		{
			Position: Position{File: path, Line: 4, Column: 3, Path: `hooks[2] "c"`}, Name: "c",
			Webhook: webhook(url.URL{Scheme: "https", Host: "h"}, Proxy{FromEnvironment: true}), Event: chain.PreToolUse, Timeout: 5 * time.Second,
		},
	}}, set.Operator, plainHooks())
	operator, ok := set.Chain(OperatorChain)
	if !ok || operator.Budget != 20*time.Second || operator.OnUncovered != chain.AllowUncovered {
		t.Errorf("operator's chain = %+v, %v; want 20 s and allow", operator, ok)
	}
}

// basisFile is a hooks file as basis writes it, schema 1.
const basisFile = `{
  "schema": 1,
  "hooks": [
    {
      "name": "no-force-push",
      "command": ["./scripts/no-force-push.sh"],
      "tools": ["shell"],
      "event": "pre_tool_use",
      "timeout_ms": 2000,
      "on_failure": "deny"
    },
    {"name": "redact", "command": ["/usr/bin/redact", "--stdin"], "event": "post_tool_use", "on_failure": "allow"},
    {"name": "shell", "command": ["sh", "-ec", "exec ./guard \"${HOOK_MODE:-strict}\"", "${0}"]}
  ]
}
`

func TestLoad_ABasisFileLoadsUnchangedAndItsCommandsStartInTheWorkspace(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{".basis/hooks.json": basisFile, "elsewhere/hooks.json": basisFile})
	for file, home := range map[string]string{
		".basis/hooks.json":    root,
		"elsewhere/hooks.json": filepath.Join(root, "elsewhere"),
	} {
		set := loaded(t, Options{ConfigFile: filepath.Join(root, file)})
		var names []string
		for _, h := range set.Operator.Hooks {
			names = append(names, h.Name)
			if h.Command.Dir != home {
				t.Errorf("%s: %s starts in %s, want %s", file, h.Name, h.Command.Dir, home)
			}
		}
		same(t, "names", []string{"no-force-push", "redact", "shell"}, names)
		first, second := set.Operator.Hooks[0], set.Operator.Hooks[1]
		if first.Timeout != 2*time.Second || first.OnFailure != chain.DenyOnFailure || second.Event != chain.PostToolUse ||
			second.OnFailure != chain.AllowOnFailure {
			t.Errorf("%s: values were lost: %+v %+v", file, first, second)
		}
	}
}

func TestLoad_WhatABasisFileLeavesOutOrSaysWithNullHasItsDefault(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "hooks.json")
	for text, want := range map[string]int{
		`{"schema": 1}`:              0,
		`{"schema": 1, "hooks": []}`: 0,
		`{"schema": 1, "hooks": [{"name": "g", "command": ["/bin/true"], "tools": null, "timeout_ms": null}]}`: 1,
	} {
		write(t, dir, map[string]string{"hooks.json": text})
		hooks := loaded(t, Options{ConfigFile: file}).Operator.Hooks
		if len(hooks) != want {
			t.Errorf("%s: %d hooks, want %d", text, len(hooks), want)
		}
		for _, h := range hooks {
			if h.Tools != nil || h.Timeout != 5*time.Second {
				t.Errorf("%s: tools %q, timeout %s", text, h.Tools, h.Timeout)
			}
		}
	}
	for _, text := range []string{
		`{"schema": 1, "hooks": null}`,
		`{"schema": 1, "hooks": [{"name": "g", "command": ["/bin/true"], "event": null}]}`,
		`{"schema": 1, "hooks": [{"name": "g", "command": ["/bin/true"], "on_failure": null}]}`,
		`{"schema": 1, "hooks": [{"name": "g", "command": null}]}`,
	} {
		write(t, dir, map[string]string{"hooks.json": text})
		if _, err := Load(Options{ConfigFile: file}); err == nil {
			t.Errorf("%s loads", text)
		}
	}
}

func TestLoad_WhatABasisFileSaysThatLeavesAHookUnaskedOrUnboundedIsRefused(t *testing.T) {
	dir := t.TempDir()
	for says, want := range map[string]string{
		`"tools": []`:          "tools: an empty list matches no tool: for every tool, leave the key out",
		`"timeout_ms": 0`:      "timeout_ms: 0 is not between 1 and 600000",
		`"timeout_ms": 600001`: "timeout_ms: 600001 is not between 1 and 600000",
		`"timeuot_ms": 1000`:   `unknown key "timeuot_ms"; did you mean "timeout_ms"?`,
		`"remark": "see wiki"`: `unknown key "remark"; known: `,
	} {
		write(t, dir, map[string]string{"hooks.json": `{"schema": 1, "hooks": [{"name": "g", "command": ["/bin/true"], ` + says + `}]}`})
		set, err := Load(Options{ConfigFile: filepath.Join(dir, "hooks.json")})
		if said := refused(t, dir, set, err); len(said) != 1 || !strings.Contains(said[0], want) {
			t.Errorf("%s: %q, want %s", says, said, want)
		}
	}
}

func TestLoad_ADirectoryIsRelativeToThatOfTheFileUnlessItIsAbsolute(t *testing.T) {
	hooks := entries(t, "schema: 1\nhooks:\n  - {name: a, command: [x], dir: /opt/./hooks/}\n  - {name: b, command: [x], dir: ../hooks}\n  - {name: c, command: [x]}\n")
	home := hooks[2].Command.Dir
	same(t, "absolute", "/opt/hooks", hooks[0].Command.Dir)
	same(t, "relative", filepath.Join(filepath.Dir(home), "hooks"), hooks[1].Command.Dir)
}

func TestLoad_AnchorsAndAliasesStandForTheirValues(t *testing.T) {
	hooks := entries(t, `
schema: 1
hooks:
  - name: a
    command: &argv [./a, &flag --strict]
    tools: &tools [shell]
  - name: b
    command: *argv
    tools: *tools
    env: {FLAG: *flag}
`)
	same(t, "argv", []string{"./a", "--strict"}, hooks[1].Command.Argv)
	same(t, "tools", []string{"shell"}, hooks[1].Tools)
	same(t, "env", map[string]string{"FLAG": "--strict"}, hooks[1].Command.Env)
}

func TestLoad_DatesAndOldBooleansAreTexts(t *testing.T) {
	hooks := entries(t, "schema: 1\nhooks:\n  - {name: 2026-11-30, command: [yes, no, on, y, 12:30:45, 1.2.3]}\n")
	same(t, "name", "2026-11-30", hooks[0].Name)
	same(t, "argv", []string{"yes", "no", "on", "y", "12:30:45", "1.2.3"}, hooks[0].Command.Argv)
}

func TestLoad_AByteOrderMarkIsNotPartOfTheText(t *testing.T) {
	for _, text := range []string{"\ufeffschema: 1\nhooks: []\n", "\ufeff{\"schema\":1,\"hooks\":[]}"} {
		entries(t, text)
	}
}

func TestLoad_WithoutFilesThereIsNothing(t *testing.T) {
	set := loaded(t, Options{})
	if set.Operator != nil || len(set.Chains) != 0 || len(set.Warnings) != 0 || len(set.Dirs()) != 0 {
		t.Errorf("set = %+v, want nothing", set)
	}
	if _, ok := set.Chain(OperatorChain); ok {
		t.Error("there is an operator's chain without a file")
	}
}

func TestLoad_TheDefaultIsTheOperatorsFileWhereNoneIsConfigured(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"hooks.yaml": "schema: 1\nhooks: [{name: own, use: shell}]\n"})
	builtIn := []byte("schema: 1\nhooks: [{name: built-in, use: shell}]\n")
	o := Options{Default: builtIn, Guards: []string{"shell"}}
	set := loaded(t, o)
	same(t, "path", "built-in hooks", set.Operator.Path)
	same(t, "name", "built-in", set.Operator.Hooks[0].Name)
	o.Default = []byte("schema: 1\nhooks: []\n")
	if other := loaded(t, o); other.Sum == set.Sum {
		t.Error("two defaults have one sum")
	}
	o.ConfigFile = filepath.Join(dir, "hooks.yaml")
	same(t, "name", "own", loaded(t, o).Operator.Hooks[0].Name)
}

func TestLoad_AChainIsNamedByItsFile(t *testing.T) {
	dir := t.TempDir()
	text := "schema: 1\nhooks: []\non_uncovered: deny\n"
	write(t, dir, map[string]string{
		"hooks.yaml": text, "token": "x",
		"a.yaml": "schema: 1\nhooks: [{name: a, command: [x], env: {T: \"${file:token}\"}}]\n", "B-2.yml": text, "c.d_e.json": `{"schema":1,"hooks":[],"on_uncovered":"deny"}`,
		".hidden.yaml": "not: valid", "README.md": "# chains", "a.yaml~": "old", "sub/x.yaml": text,
	})
	set := loaded(t, Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: dir})
	var names []string
	for name, f := range set.Chains {
		names = append(names, name)
		if filepath.Dir(f.Path) != dir {
			t.Errorf("chain %s is in %s", name, f.Path)
		}
	}
	same(t, "names", []string{"B-2", "a", "c.d_e"}, names, cmpopts.SortSlices(func(a, b string) bool { return a < b }))
	var warnings []string
	for _, w := range set.Warnings {
		warnings = append(warnings, w.String()[len(dir)+1:])
	}
	same(t, "warnings", []string{
		"README.md: is ignored: a chain is a file NAME.yaml, NAME.yml or NAME.json",
		"a.yaml~: is ignored: a chain is a file NAME.yaml, NAME.yml or NAME.json",
		"sub: is ignored: a chain is a file NAME.yaml, NAME.yml or NAME.json",
	}, warnings)
}

func TestLoad_TheSumFollowsEveryFileThatWasRead(t *testing.T) {
	dir := t.TempDir()
	o := Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: filepath.Join(dir, "chains")}
	write(t, dir, map[string]string{
		"hooks.yaml":    "schema: 1\nhooks: [{name: a, command: [x], env: {T: \"${file:token}\"}}]\n",
		"chains/a.yaml": "schema: 1\nhooks: []\n",
		"token":         "one",
		"unused":        "x",
	})
	before := loaded(t, o)
	if isZero(before.Sum) || loaded(t, o).Sum != before.Sum {
		t.Fatal("the sum of the same files is not the same")
	}
	write(t, dir, map[string]string{"unused": "y", ".swp": "z"})
	if loaded(t, o).Sum != before.Sum {
		t.Error("a file that nobody refers to changes the sum")
	}
	for file, content := range map[string]string{
		"hooks.yaml":    "schema: 1\nhooks: [{name: a, command: [y], env: {T: \"${file:token}\"}}]\n",
		"chains/a.yaml": "schema: 1\nhooks: []\n# more\n",
		"chains/b.yaml": "schema: 1\nhooks: []\n",
		"token":         "two",
	} {
		sum := loaded(t, o).Sum
		write(t, dir, map[string]string{file: content})
		if loaded(t, o).Sum == sum {
			t.Errorf("%s does not change the sum", file)
		}
	}
}

func TestNext_WhereNoFileChangedTheSetIsReturnedItself(t *testing.T) {
	dir := t.TempDir()
	const text = "schema: 1\nhooks: [{name: a, command: [x], env: {T: \"${file:token}\"}}]\n"
	write(t, dir, map[string]string{"hooks.yaml": text, "token": "one", "chains/a.yaml": text, "chains/token": "one"})
	for name, o := range map[string]Options{
		"files":   {ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: filepath.Join(dir, "chains")},
		"default": {Default: []byte("schema: 1\nhooks: []\n"), ChainsDir: filepath.Join(dir, "chains")},
	} {
		set := loaded(t, o)
		if next, err := set.Next(); err != nil || next != set {
			t.Errorf("%s: Next = %p, %v; want %p itself", name, next, err, set)
		}
		for file, content := range map[string]string{"chains/token": "two", "chains/b.yaml": text, "chains/a.yaml": text + "#"} {
			write(t, dir, map[string]string{file: content})
			next, err := set.Next()
			if err != nil || next == set || next.Sum == set.Sum {
				t.Errorf("%s: %s changed, and Next = %v, %v", name, file, next, err)
				continue
			}
			set = next
		}
		remove(t, filepath.Join(dir, "chains/b.yaml"))
		if next, err := set.Next(); err != nil || len(next.Chains) != 1 {
			t.Errorf("%s: a chain is gone, and Next = %v, %v", name, next, err)
		}
		write(t, dir, map[string]string{"chains/token": "one", "chains/a.yaml": text})
	}
}

func TestF6_WhatVanishedSinceTheLastLoadIsAnError(t *testing.T) {
	const text = "schema: 1\nhooks: []\non_uncovered: deny\n"
	tests := map[string]struct {
		change func(t *testing.T, dir string)
		want   []string // nil if the next load succeeds
	}{
		"the operator's file is removed": {
			func(t *testing.T, dir string) { t.Helper(); remove(t, filepath.Join(dir, "hooks.yaml")) },
			[]string{"hooks.yaml: does not exist; the hooks in force stay: to run the built-in chain, restart the gateway without HOOKGATE_CONFIG"},
		},
		"the operator's file is emptied": {
			func(t *testing.T, dir string) { t.Helper(); write(t, dir, map[string]string{"hooks.yaml": ""}) },
			[]string{"hooks.yaml:1: the file is empty: for a chain without hooks, write schema: 1 and hooks: []"},
		},
		"one chain of two is removed": {
			func(t *testing.T, dir string) { t.Helper(); remove(t, filepath.Join(dir, "chains/a.yaml")) },
			nil,
		},
		"all chains are removed": {
			func(t *testing.T, dir string) {
				t.Helper()
				remove(t, filepath.Join(dir, "chains/a.yaml"))
				remove(t, filepath.Join(dir, "chains/b.yaml"))
			},
			[]string{"chains: all 2 chains disappeared at once, as if the volume were empty, so nothing changes; to remove the last chain, restart the gateway"},
		},
		"the directory of chains is removed": {
			func(t *testing.T, dir string) { t.Helper(); remove(t, filepath.Join(dir, "chains")) },
			[]string{"chains: the directory of chains does not exist"},
		},
		"a chain is emptied": {
			func(t *testing.T, dir string) {
				t.Helper()
				write(t, dir, map[string]string{"chains/a.yaml": "# soon\n"})
			},
			[]string{"chains/a.yaml:1: the file is empty: for a chain without hooks, write schema: 1 and hooks: []"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"hooks.yaml": text, "chains/a.yaml": text, "chains/b.yaml": text})
			set := loaded(t, Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: filepath.Join(dir, "chains")})
			test.change(t, dir)
			next, err := set.Next()
			if test.want == nil {
				if err != nil || len(next.Chains) != 1 {
					t.Errorf("Next = %v, %v; want one chain", next, err)
				}
				return
			}
			same(t, "messages", test.want, refused(t, dir, next, err))
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func TestF6_AtTheFirstLoadADirectoryWithoutChainsIsAWarning(t *testing.T) {
	dir := t.TempDir()
	set := loaded(t, Options{ChainsDir: dir})
	same(t, "warnings", []Warning{{Position{File: dir}, "contains no chain: a chain is a file NAME.yaml, NAME.yml or NAME.json"}}, set.Warnings)
	if next, err := set.Next(); err != nil || next.Sum != set.Sum {
		t.Errorf("Next = %v, %v; want the same again", next, err)
	}
	missing := filepath.Join(dir, "none")
	set, err := Load(Options{ChainsDir: missing, ConfigFile: filepath.Join(dir, "hooks.yaml")})
	same(t, "messages", []string{
		"hooks.yaml: does not exist",
		"none: the directory of chains does not exist",
	}, refused(t, dir, set, err))
}

func TestLoad_APipeIsRefusedAndNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "hooks.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := Load(Options{ConfigFile: filepath.Join(dir, "hooks.yaml")})
	same(t, "messages", []string{"hooks.yaml: is neither a file nor a directory"}, refused(t, dir, set, err))
}

func TestHook_AMistakeThatABuilderFindsReadsLikeTheRest(t *testing.T) {
	hooks := entries(t, "schema: 1\nhooks:\n  - {name: a, use: shell}\n")
	e := hooks[0].Mistake("with.patterns[2]", "is not a pattern")
	e.File = "hooks.yaml"
	same(t, "with a key", `hooks.yaml:3: hooks[0] "a": with.patterns[2]: is not a pattern`, e.Error())
	e = hooks[0].Mistake("", "cannot be made")
	e.File = "hooks.yaml"
	same(t, "without one", `hooks.yaml:3: hooks[0] "a": cannot be made`, e.Error())
}

func TestApproval_APersonHasMinutesAndMayHaveMoreThanTheBudget(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"hooks.yaml": "schema: 1\nbudget_ms: 1000\nhooks:\n  - {name: a, use: approval}\n  - {name: b, use: approval, timeout_ms: 600000}\n"})
	set := loaded(t, Options{ConfigFile: filepath.Join(dir, "hooks.yaml")})
	a, b := set.Operator.Hooks[0], set.Operator.Hooks[1]
	if !a.IsApproval() || a.Timeout != 5*time.Minute || b.Timeout != 10*time.Minute || len(set.Warnings) > 0 {
		t.Errorf("%v: %v and %v: %v", a.IsApproval(), a.Timeout, b.Timeout, set.Warnings)
	}
}

func TestLoad_AFileThatIsForSomethingElseIsCalledByItsName(t *testing.T) {
	const (
		hooks   = "schema: 1\nhooks: []\n"
		callers = "# who\nschema: 1\ncallers: []\n"
		issuers = "schema: 1\nissuers: []\n"
		profile = "command: ./coder\nargs: [x]\n"
		partial = "permission: true\n"
	)
	isCallers := "this is a callers file, not a hooks file: HOOKGATE_CALLERS names it, and gateway check reads it when it has no argument"
	isProfile := "this is the profile of an agent, not a hooks file: HOOKGATE_AGENTS_DIR names its directory, and gateway check reads it when it has no argument"
	for name, tc := range map[string]struct {
		config, chain, agent, callers string
		want                          []string
	}{
		"each in its place":                {hooks, hooks, profile, callers, nil},
		"callers in place of hooks":        {callers, "", "", "", []string{"hooks.yaml:2: " + isCallers}},
		"issuers in place of hooks":        {issuers, "", "", "", []string{"hooks.yaml:1: " + isCallers}},
		"a profile in place of hooks":      {profile, "", "", "", []string{"hooks.yaml:1: " + isProfile}},
		"a part of one in place of hooks":  {partial, "", "", "", []string{"hooks.yaml:1: " + isProfile}},
		"a profile in place of a chain":    {hooks, profile, "", "", []string{"chains/x.yaml:1: " + isProfile}},
		"hooks in place of a profile":      {hooks, "", hooks, "", []string{"agents/x.yaml:1: this is a hooks file, not the profile of an agent: HOOKGATE_CONFIG names the operator's, HOOKGATE_CHAINS_DIR the directory of the tenants'"}},
		"hooks in place of callers":        {hooks, "", "", hooks, []string{"callers.yaml:1: this is a hooks file, not a callers file: HOOKGATE_CONFIG names the operator's, HOOKGATE_CHAINS_DIR the directory of the tenants'"}},
		"an entry in place of a file":      {"name: a\ncommand: [x]\n", "", "", "", []string{`hooks.yaml:1: hooks is missing: for a chain without hooks, write hooks: []`, `hooks.yaml:1: schema is missing: write schema: 1`, `hooks.yaml:1: unknown key "name"; known: schema, budget_ms, on_uncovered, hooks and audit`, `hooks.yaml:2: unknown key "command"; known: schema, budget_ms, on_uncovered, hooks and audit`}},
		"neither one thing nor the other":  {"x: 1\n", "", "", "", []string{`hooks.yaml:1: hooks is missing: for a chain without hooks, write hooks: []`, `hooks.yaml:1: schema is missing: write schema: 1`, `hooks.yaml:1: unknown key "x"; known: schema, budget_ms, on_uncovered, hooks and audit`}},
		"a list in place of whatever else": {"[]\n", "", "", "", []string{"hooks.yaml:1: want a mapping, not a list"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := Options{ConfigFile: filepath.Join(dir, "hooks.yaml")}
			files := map[string]string{"hooks.yaml": tc.config}
			if tc.chain != "" {
				o.ChainsDir, files["chains/x.yaml"] = filepath.Join(dir, "chains"), tc.chain
			}
			if tc.agent != "" {
				o.AgentsDir, files["agents/x.yaml"] = filepath.Join(dir, "agents"), tc.agent
			}
			if tc.callers != "" {
				o.CallersFile, files["callers.yaml"] = filepath.Join(dir, "callers.yaml"), tc.callers
			}
			write(t, dir, files)
			set, err := Load(o)
			if tc.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			same(t, "the mistakes", tc.want, refused(t, dir, set, err))
		})
	}
}
