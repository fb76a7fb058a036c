package guard

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// The same command in every place of an input from which a tool may take it.
func TestCommands_AreFoundWhereverTheyStandInAnInput(t *testing.T) {
	g := newGuard(t, NoForcePush, map[string]string{"fields": `["code","run_this"]`})
	for _, input := range []string{
		`{"command":"git push -f"}`, `{"cmd":"git push -f"}`, `{"script":"ls\ngit push -f"}`, `{"command_line":"git push -f"}`, `{"COMMAND":"git push -f"}`,
		`{"command":["git","push","-f"]}`, `{"cmd":["bash","-lc","git push -f"]}`, `{"command":["git push -f"]}`, `{"commands":["ls","git push -f"]}`,
		`{"script":["ls","git push -f"]}`, `{"args":["git","push","-f"]}`, `{"args":"git push -f"}`, `{"command":"git","args":["push","-f"]}`,
		`{"args":["push","-f"],"command":"git"}`, `{"command":"git push","args":"-f"}`, `{"command":["git","push"],"args":["-f"]}`, `{"command":"git push -f","args":[]}`,
		`{"command":"git push -f #","args":["x"]}`, `{"action":{"type":"exec","command":["git","push","-f"]}}`, `[{"x":[{"command":"git push -f"}]}]`,
		`{"description":"x","command":"git push -f","timeout":1e400}`, `{"code":"git push -f"}`, `{"Run_This":"git push -f"}`, `{"c\u006fmmand":"git p\u0075sh -f"}`,
		`{"command":"git","args":["push",1,"-f"]}`, `{"command":["git","push",["x"],"-f"]}`, `"git push -f"`, `" git push -f\n"`, `{"command":"git push -f \ud83d"}`,
		`{"command":"ls","cmd":"git push -f"}`, `{"command":["git","commit","-m","it's"],"x":{"command":"git push -f"}}`,
	} {
		if got := said(t, g, call(t, "shell", input)); got != forcedReason {
			t.Errorf("%s: %q", input, got)
		}
	}
	for _, input := range []string{
		`{"description":"git push -f"}`, `{"command":["echo","git push -f"]}`, `{"command":["git","commit","-m","git push -f"]}`, `{"command":{"text":"git push -f"}}`,
		`{"command":null}`, `{"command":true}`, `{"command":1}`, `{"command":[]}`, `{"command":""}`, `{}`, `[]`, `null`, `1`, `true`, `""`, `["git push -f"]`, `{"args":[]}`,
		`{"command":["git","push","it's -f"]}`,
	} {
		if got := said(t, g, call(t, "shell", input)); got != "" {
			t.Errorf("%s is denied: %s", input, got)
		}
	}
}

func TestCommands_StartWhereTheInputSays(t *testing.T) {
	g := newGuard(t, DestructiveShell, nil)
	for input, want := range map[string]string{
		`{"command":"rm -rf *","cwd":"/"}`:                      "rm * deletes the root directory",
		`{"workdir":"/etc","command":["bash","-c","rm -rf *"]}`: "rm * deletes /etc, a directory of the system",
		`{"command":"rm -rf *","working_directory":"~"}`:        "rm * deletes a home directory",
		`{"command":"rm -rf *","directory":".."}`:               "rm * deletes a home directory",
		`{"command":"rm -rf *","cwd":"sub"}`:                    "",
		`{"command":"rm -rf ..","cwd":"sub"}`:                   "rm .. deletes the workspace itself",
	} {
		if got := said(t, g, call(t, "shell", input)); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
	for workspace, want := range map[string]string{
		"": "rm .. deletes the directory that holds the workspace", "w1": "rm .. deletes the directory that holds the workspace", "/": "rm .. deletes the root directory",
		"/srv/x": "rm .. deletes /srv, a directory of the system", "/a/b": "rm .. deletes a directory that holds the workspace",
	} {
		if got := said(t, g, callIn(t, workspace, "shell", shellInput("rm -rf .."))); got != want {
			t.Errorf("workspace %q: %q, want %q", workspace, got, want)
		}
	}
	if got := said(t, g, callIn(t, "w1", "shell", shellInput("rm -rf . ../../x"))); got != "rm . deletes the workspace itself" {
		t.Error(got)
	}
}

func TestG1_WhatCannotBeReadIsDenied(t *testing.T) {
	for _, use := range []string{DestructiveShell, NoForcePush, ProtectedPaths} {
		g := newGuard(t, use, nil)
		for input, want := range map[string]string{
			shellInput(`rm 'x > git push`):                          "the command could not be read: the shell parser says: 1:4: reached EOF without closing quote `'`",
			shellInput(`bash -c 'if rm > push'`):                    "the command could not be read: in a script inside it: the shell parser says: 1:1: `if <cond>` must be followed by `then`",
			shellInput("rm > push " + strings.Repeat("x", 128<<10)): "the command could not be read: it is longer than 131072 bytes",
			shellInput("rm > push " + strings.Repeat("$(", 50_000)): "the command could not be read: it is nested too deep",
			shellInput("rm > push;" + strings.Repeat("a;", 10_000)): "the command could not be read: it has more than 4096 commands",
			`"{\"command\": \"rm > push"`:                           "the input is JSON that cannot be read, so neither can the command in it",
			`" [\"rm\", "`:                                          "the input is JSON that cannot be read, so neither can the command in it",
		} {
			if got := said(t, g, call(t, "shell", input)); got != want {
				t.Errorf("%s of %.60s\n got %q\nwant %q", use, input, got, want)
			}
		}
		// An unparsable command that would be irrelevant anyway is not an
		// objection.
		if got := said(t, g, call(t, "shell", shellInput("echo 'it"))); got != "" {
			t.Errorf("%s: %s", use, got)
		}
	}
}

func TestCommands_AContextThatEndedIsAnError(t *testing.T) {
	why := errors.New("hung up")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	for _, use := range []string{DestructiveShell, NoForcePush, ProtectedPaths} {
		if o, err := newGuard(t, use, nil).Intercept(ctx, call(t, "shell", shellInput("rm x > git push"))); !errors.Is(err, why) {
			t.Errorf("%s: %+v, %v", use, o, err)
		}
	}
}

func TestG1_AnInputThatIsNotJSONIsAnError(t *testing.T) {
	for _, input := range []string{`{"command":`, `{"command":"a"`, `{]`, `nope`, `{"a":1}}`} {
		if err := eachObject(work.Unbounded(t.Context()), []byte(input), commandFields(), func([]member) error { return nil }); err == nil {
			t.Errorf("%s is read", input)
		}
	}
	why := errors.New("enough")
	if err := eachObject(work.Unbounded(t.Context()), []byte(`{"command":"a"}`), commandFields(), func([]member) error { return why }); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

// An input can be deeply nested without being long: the contract permits 10,000
// levels.
func TestG5_DepthCostsNoStack(t *testing.T) {
	input := strings.Repeat(`{"a":[`, 4900) + shellInput("git push -f") + strings.Repeat(`]}`, 4900)
	if got := said(t, newGuard(t, NoForcePush, nil), call(t, "shell", input)); got != forcedReason {
		t.Error(got)
	}
	if got := said(t, newGuard(t, ProtectedPaths, nil), call(t, "shell", input)); got != "" {
		t.Error(got)
	}
}
