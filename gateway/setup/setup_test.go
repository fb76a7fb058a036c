package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	dialect "github.com/hookgate/hookgate/gateway/client"
)

const program = "/opt/hook gate/gateway"

func options(t *testing.T, name string) Options {
	t.Helper()
	o := Options{Client: name, URL: "http://127.0.0.1:8080", Program: program, Home: Home{Dir: t.TempDir()}}
	if c, err := find(name); err == nil && c.file == nil {
		o.File = filepath.Join(o.Home.Dir, "agent.json") // only its user knows it
	}
	return o
}

func plan(t *testing.T, o Options) *Plan {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, o Options) []string {
	t.Helper()
	kept, err := plan(t, o).Write(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// open returns the findings that describe how a call runs unchecked.
func open(d *Diagnosis) []string {
	var all []string
	for _, f := range d.Findings {
		if f.Severity == Open {
			all = append(all, f.Text)
		}
	}
	return all
}

func TestS1_WhatIsWrittenFailsClosedAsFarAsTheClientOffersIt(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			o := options(t, name)
			// This test is not about whether the program exists.
			o.Program = os.Args[0]
			write(t, o)
			d, err := Diagnose(o)
			if err != nil {
				t.Fatal(err)
			}
			if name == "codex" { // its user has to trust it
				put(t, filepath.Join(o.Home.Dir, ".codex", "config.toml"), `[hooks.state."`+o.Home.Dir+`/.codex/hooks.json:pre_tool_use:0:0"]`)
				if d, err = Diagnose(o); err != nil {
					t.Fatal(err)
				}
			}
			if said := open(d); !d.There || len(said) > 0 {
				t.Errorf("what init wrote fails open: %q, there: %v", said, d.There)
			}
			for _, p := range d.Paths {
				if p.Command != "" && p.Patience < defaultPatience {
					t.Errorf("%s waits %v, and gateway ask %v", p.Event, p.Patience, defaultPatience)
				}
			}
		})
	}
}

func TestS2_WhatIsNotOursStaysByteForByte(t *testing.T) {
	o := options(t, "gemini-cli")
	path := filepath.Join(o.Home.Dir, ".gemini", "settings.json")
	before := `{
    // mine
    "theme": "dark", /* and
    this */
    "hooks": {
        "BeforeTool": [
            {"matcher": "write_.*", "hooks": [{"type": "command", "command": "./mine.sh"}]} // stays
        ],
    },
    "number": 1.0e400
}
`
	put(t, path, before)
	write(t, o)
	after := read(t, path)
	for line := range strings.Lines(before) {
		line = strings.TrimRight(strings.TrimSpace(line), ",")
		if line != "" && !strings.Contains(line, "// stays") && !strings.Contains(after, line) {
			t.Errorf("%q is gone from:\n%s", line, after)
		}
	}
	for _, want := range []string{`"./mine.sh"`, "// stays", `"hookgate"`, `"AfterTool"`, "1.0e400"} {
		if !strings.Contains(after, want) {
			t.Errorf("%q is not in:\n%s", want, after)
		}
	}
	if _, err := parseDocument([]byte(after)); err != nil {
		t.Errorf("it cannot be read any more: %v\n%s", err, after)
	}
}

func TestS2_SettingsThatCannotBeReadAreLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON": `{"hooks":`, "a list": `[]`, "a name twice": `{"hooks":{},"hooks":{}}`, "hooks of another kind": `{"hooks":[]}`,
		"an event of another kind": `{"hooks":{"PreToolUse":{}}}`, "two values": `{} {}`,
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "claude-code")
			path := filepath.Join(o.Home.Dir, ".claude", "settings.json")
			put(t, path, text)
			if _, err := New(o); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("the error is %v, and does not name %s", err, path)
			}
			if got := read(t, path); got != text {
				t.Errorf("it is %s now", got)
			}
		})
	}
}

func TestS3_TheOldFileIsKeptAndTheSecondTimeChangesNothing(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			o := options(t, name)
			path := plan(t, o).Files[0].Path
			c, _ := find(name)
			if c.layout != own {
				put(t, path, "{\n  \"mine\": true\n}\n")
			}
			kept := write(t, o)
			if c.layout != own && (kept[0] != path+".20261130-120000.bak" || read(t, kept[0]) != "{\n  \"mine\": true\n}\n") {
				t.Errorf("kept is %q", kept)
			}
			first := read(t, path)
			if kept := write(t, o); strings.Join(kept, "") != "" || read(t, path) != first {
				t.Errorf("the second time it kept %q and wrote\n%s", kept, read(t, path))
			}
			o.URL = "http://127.0.0.1:9090/v1/chains/dev"
			write(t, o)
			if moved := read(t, path); strings.Contains(moved, "8080") || !strings.Contains(moved, "9090/v1/chains/dev") || strings.Count(moved, "9090") != strings.Count(first, "8080") {
				t.Errorf("another address does not take the place of the first:\n%s", moved)
			}
		})
	}
}

func TestS3_AFileThatChangedMeanwhileIsNotOverwritten(t *testing.T) {
	o := options(t, "cursor")
	p := plan(t, o)
	put(t, p.Files[0].Path, `{"version":1}`)
	if _, err := p.Write(time.Now()); err == nil || read(t, p.Files[0].Path) != `{"version":1}` {
		t.Errorf("the error is %v, the file %s", err, read(t, p.Files[0].Path))
	}
}

func TestS3_AProgramOfSomebodyElseIsNotOverwritten(t *testing.T) {
	o := options(t, "cline")
	path := filepath.Join(o.Home.Dir, "Documents", "Cline", "Rules", "Hooks", "PreToolUse")
	put(t, path, "#!/bin/sh\necho '{}'\n")
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "was not written by gateway init") || !strings.Contains(err.Error(), "ask --client cline") {
		t.Errorf("the error is %v", err)
	}
}

func TestS3_ALinkIsFollowed(t *testing.T) {
	o := options(t, "codex")
	real := filepath.Join(o.Home.Dir, "dotfiles", "hooks.json")
	put(t, real, "{}")
	link := filepath.Join(o.Home.Dir, ".codex", "hooks.json")
	put(t, filepath.Join(o.Home.Dir, ".codex", "x"), "")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	write(t, o)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || !strings.Contains(read(t, real), "ask --client codex") {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
}

func TestS3_ALinkToNothingIsLeftAloneAndNamed(t *testing.T) {
	o := options(t, "codex")
	link := filepath.Join(o.Home.Dir, ".codex", "hooks.json")
	put(t, filepath.Join(o.Home.Dir, ".codex", "x"), "")
	target := filepath.Join(o.Home.Dir, "dotfiles", "hooks.json")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	_, err := New(o)
	if want := link + " is a link to " + target + ", which does not exist: create that file"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if to, err := os.Readlink(link); err != nil || to != target {
		t.Errorf("the link leads to %s: %v", to, err)
	}
	put(t, target, "{}")
	write(t, o)
	if !strings.Contains(read(t, target), "ask --client codex") {
		t.Error("the file that was made is not written to")
	}
}

func TestTheHooksOfOthersInOurGroupsStay(t *testing.T) {
	o := options(t, "codex")
	path := filepath.Join(o.Home.Dir, ".codex", "hooks.json")
	ours := `{"type":"command","command":"/old/gateway ask --client codex --url http://127.0.0.1:1","timeout":5}`
	put(t, path, `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"./mine"},`+ours+`]},{"matcher":"Bash","hooks":[`+ours+`]},{"hooks":[`+ours+`]}]}}`)
	write(t, o)
	got := read(t, path)
	if strings.Count(got, "ask --client codex") != 2 || strings.Contains(got, "/old/gateway") || !strings.Contains(got, "./mine") {
		t.Errorf("it is\n%s", got)
	}
}

func TestS5_WhatFailsOpenIsSaid(t *testing.T) {
	line := askLine(asked{program: os.Args[0], client: "qwen-code", url: "http://127.0.0.1:8080", patience: 25 * time.Second}, "PreToolUse")
	quotedLine, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	hook := func(entry string) string {
		return `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[` + entry + `]}],"PostToolUse":[{"matcher":"*","hooks":[` + entry + `]}]}}`
	}
	good := `{"type":"command","command":` + string(quotedLine) + `,"timeout":35000}`
	for name, tc := range map[string]struct{ client, text, says string }{
		"nothing":               {"qwen-code", "", "has no hook that asks a gateway"},
		"no hook of ours":       {"qwen-code", hook(`{"type":"command","command":"./mine"}`), "has no hook that asks a gateway"},
		"of another client":     {"qwen-code", strings.ReplaceAll(hook(good), "qwen-code", "codex"), "has no hook that asks a gateway"},
		"hooks switched off":    {"qwen-code", strings.Replace(hook(good), `{"hooks"`, `{"disableAllHooks": true, "hooks"`, 1), "disables all hooks"},
		"our hook switched off": {"gemini-cli", strings.NewReplacer("qwen-code", "gemini-cli", "PreToolUse", "BeforeTool", `{"hooks":{`, `{"hooksConfig":{"disabled":["hookgate"]},"hooks":{`).Replace(hook(good)), "keeps the hook from running"},
		"some tools only":       {"qwen-code", strings.ReplaceAll(hook(good), `"*"`, `"run_shell_command"`), "calls of other tools run unchecked"},
		"a late hook":           {"qwen-code", hook(strings.Replace(good, "35000", "25000", 1)), "a slow gateway lets the call run"},
		"a time-out in seconds": {"qwen-code", hook(strings.Replace(good, "35000", "35", 1)), "a slow gateway lets the call run"},
		"no program":            {"qwen-code", strings.ReplaceAll(hook(good), os.Args[0], "/nowhere/gateway"), "cannot be run"},
		"other exits":           {"qwen-code", strings.ReplaceAll(hook(good), "exit 2; }", "exit 1; }"), "exits with a code other than 2"},
		"only after the call":   {"qwen-code", strings.Replace(hook(good), "PreToolUse", "PreToolUse2", 1), "PreToolUse: no hook asks a gateway"},
		"not JSON":              {"qwen-code", "{", "cannot be read"},
		"an address of nothing": {"qwen-code", strings.ReplaceAll(hook(good), "http://127.0.0.1:8080", "http://127.0.0.1:8080/other"), "has a path"},
		"no onFailure":          {"claude-code", hook(`{"type":"http","url":"http://127.0.0.1:8080/v1/clients/claude-code","timeout":35}`), `no onFailure: "block"`},
		"another onFailure":     {"claude-code", hook(`{"type":"http","url":"http://127.0.0.1:8080/v1/clients/claude-code","timeout":35,"onFailure":"allow"}`), `no onFailure: "block"`},
		"a condition":           {"claude-code", strings.ReplaceAll(hook(`{"type":"http","url":"http://127.0.0.1:8080/v1/clients/claude-code","timeout":35,"onFailure":"block","if":"Bash(git *)"}`), `"*"`, `""`), "has a condition"},
		"without trust":         {"codex", strings.NewReplacer("qwen-code", "codex", "35000", "35").Replace(hook(good)), "has not been trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, tc.client)
			if tc.text != "" {
				put(t, plan(t, o).Files[0].Path, tc.text)
			}
			d, err := Diagnose(o)
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(open(d), "\n"); !strings.Contains(said, tc.says) || d.Healthy() {
				t.Errorf("it says %q, and not %q", said, tc.says)
			}
		})
	}
}

func TestEveryClientIsOneThatTheGatewayKnowsAndItsQuestionAShellCall(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			known, ok := dialect.Find(name)
			if !ok {
				t.Fatal("the gateway has no such client")
			}
			text, err := Question(name, "", "echo hi", "/repo")
			if err != nil {
				t.Fatal(err)
			}
			call, err := known.Read("", text)
			if err != nil {
				t.Fatal(err)
			}
			if r := call.Request(); r.Event() != chain.PreToolUse || r.ToolAlias() != "shell" {
				t.Errorf("%s is read as %v of %q, alias %q", text, r.Event(), r.ToolName(), r.ToolAlias())
			}
			refused := known.Command(known.Refuse("", text, "no"))
			if !Denies(name, refused.Exit, refused.Stdout, refused.Stderr) {
				t.Errorf("%+v is not taken for a deny", refused)
			}
			allowed := known.Command(call.Answer(chain.Outcome{Decision: chain.Allow}, true))
			if Denies(name, allowed.Exit, allowed.Stdout, allowed.Stderr) {
				t.Errorf("%+v is taken for a deny", allowed)
			}
		})
	}
}

func TestSilenceAndOtherExitsAreNoDeny(t *testing.T) {
	for name, tc := range map[string]struct {
		exit           int
		stdout, stderr string
		want           bool
	}{
		"exit 2 with words":      {2, "", "no", true},
		"exit 2 without words":   {2, "", " \n", false},
		"exit 2 with an answer":  {2, `{"decision":"allow"}`, "no", false},
		"exit 1 with a deny":     {1, `{"decision":"deny"}`, "", false},
		"a deny":                 {0, `{"decision":"deny"}`, "", true},
		"a deny in another case": {0, `{"decision":"Deny"}`, "", false},
		"nothing":                {0, "", "", false},
		"no object":              {0, `"deny"`, "", false},
	} {
		if got := Denies("gemini-cli", tc.exit, []byte(tc.stdout), []byte(tc.stderr)); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestALineIsReadBackAsItWasWritten(t *testing.T) {
	for _, program := range []string{"/usr/bin/gateway", "/opt/hook gate/gateway", "/it's/gateway", "/a'b c$d/gateway"} {
		want := asked{program, "codex", "http://127.0.0.1:8080/v1/chains/dev", "/etc/hook gate/token", 3 * time.Second}
		got, ok := readAskLine(askLine(want, "PreToolUse"))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(asked{})); !ok || diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for _, line := range []string{"/bin/gateway-ask --client codex", "/bin/gateway-ask ask --client=codex", "exec /bin/gateway-ask -client codex --url x"} {
		if a, ok := readAskLine(line); !ok || a.program != "/bin/gateway-ask" || a.client != "codex" || a.patience != defaultPatience {
			t.Errorf("%q is read as %+v, %v", line, a, ok)
		}
	}
	for _, line := range []string{"", "ask --client codex", "gateway ask", "echo 'gateway ask --client codex'", "gateway check; ask --client codex"} {
		if a, ok := readAskLine(line); ok {
			t.Errorf("%q is read as %+v", line, a)
		}
	}
}

func TestWhatCannotBeSetUpIsAnErrorThatSaysWhatCan(t *testing.T) {
	post := HTTP
	for name, tc := range map[string]struct {
		change func(*Options)
		says   string
	}{
		"one without settings":    {func(o *Options) { o.Client = "litellm" }, "LiteLLM has no user settings: whoever operates it sends its calls to /v1/clients/litellm"},
		"an unknown client":       {func(o *Options) { o.Client = "clod-code" }, "known are claude-code, codex"},
		"an address of nothing":   {func(o *Options) { o.URL = "127.0.0.1:8080" }, "use http://127.0.0.1:8080"},
		"another path":            {func(o *Options) { o.URL += "/v1/decide" }, "has a path"},
		"no posting of its own":   {func(o *Options) { o.Transport = &post }, "only a command"},
		"a path that is relative": {func(o *Options) { o.Program = "gateway" }, "is not absolute"},
		"a token to post":         {func(o *Options) { o.Client, o.TokenFile = "claude-code", "/etc/token" }, "use --command"},
		"a token somewhere":       {func(o *Options) { o.TokenFile = "token" }, "absolute path"},
		"no time":                 {func(o *Options) { o.Patience = -1 }, "give a positive duration"},
		"an unknown place":        {func(o *Options) { o.Client = "kiro" }, "name the file with --file"},
		"a file for programs":     {func(o *Options) { o.Client, o.File = "cline", "/x" }, "omit --file"},
	} {
		o := options(t, "codex")
		tc.change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}

func TestTheExampleForOpencodeIsWhatInitWrites(t *testing.T) {
	o := options(t, "opencode")
	o.Fresh = true
	want := strings.ReplaceAll(read(t, filepath.Join("..", "..", "examples", "opencode", "hookgate.js")), "25_000", "25000")
	if diff := cmp.Diff(want, string(plan(t, o).Files[0].After)); diff != "" {
		t.Errorf("(-example +init):\n%s", diff)
	}
}

func FuzzDeclared(f *testing.F) {
	f.Add([]byte(`{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"command":"x"}]},],}}`))
	f.Add([]byte("{// a\n\"hooks\":{\"PreToolUse\":[ /* b */ ]}}"))
	f.Add([]byte(`{"hooks":{"PreToolUse":[{"hooks":[{"command":"g ask --client codex"}]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := codex()
		h := hook{event: "PreToolUse", command: askLine(asked{program: program, client: "codex", url: "http://127.0.0.1:1", patience: time.Second}, "PreToolUse"), wait: time.Second}
		once, err := declared(&c, h, text)
		if err != nil {
			return
		}
		d, err := parseDocument(once)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, once, err)
		}
		if !strings.Contains(string(once), "ask --client codex --event PreToolUse --url") || d.at("hooks", "PreToolUse") == nil {
			t.Fatalf("%q became %q", text, once)
		}
		twice, err := declared(&c, h, once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%q became %q, %v", once, twice, err)
		}
	})
}
