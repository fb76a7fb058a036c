package guard

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/config"
)

func TestG3_WhatIsNotUnderstoodInOptionsIsAnError(t *testing.T) {
	for _, c := range []struct{ use, option, value, want string }{
		{"", "", "", `unknown guard "": known are destructive-shell, no-force-push, protected-paths, secrets`},
		{"Secrets", "", "", `unknown guard "Secrets": known are destructive-shell, no-force-push, protected-paths, secrets`},
		{Secrets, "inputs", `"deny"`, `guard "secrets": option "inputs" is unknown (did you mean "input"?); known options: except, input`},
		{Secrets, "input", `"Deny"`, `guard "secrets": option "input" is "Deny" (did you mean "deny"?): want one of deny, allow`},
		{Secrets, "input", `true`, `guard "secrets": option "input" is true: want one of deny, allow`},
		{Secrets, "input", `null`, `guard "secrets": option "input" is null: want one of deny, allow`},
		{Secrets, "except", `["jwts"]`, `guard "secrets": option "except" has "jwts" (did you mean "jwt"?): want one of age-key, anthropic-key, `},
		{NoForcePush, "allow_lease", `"true"`, `guard "no-force-push": option "allow_lease" is "true": want true or false`},
		{NoForcePush, "allow_lease", `1`, `guard "no-force-push": option "allow_lease" is 1: want true or false`},
		{NoForcePush, "allow-lease", `true`, `guard "no-force-push": option "allow-lease" is unknown (did you mean "allow_lease"?); known options: allow_lease, allow_deletes, fields`},
		{DestructiveShell, "except", `"remove"`, `guard "destructive-shell": option "except" is "remove": want a list of strings`},
		{DestructiveShell, "except", `null`, `guard "destructive-shell": option "except" is null: want a list of strings`},
		{DestructiveShell, "except", `["remove",1]`, `guard "destructive-shell": option "except" is ["remove",1]: want a list of strings`},
		{DestructiveShell, "except", `["rm"]`, `guard "destructive-shell": option "except" has "rm": want one of remove, permissions, disk, fork-bomb, power, find-delete, piped-script, kubernetes, infrastructure, database`},
		{DestructiveShell, "fields", `["a",""]`, `guard "destructive-shell": option "fields" has an empty entry at position 1`},
		{DestructiveShell, "fields", `[null]`, `guard "destructive-shell": option "fields" has an empty entry at position 0`},
		{ProtectedPaths, "paths", `["/"]`, `guard "protected-paths": option "paths" has "/", which covers everything: name paths within it`},
		{ProtectedPaths, "paths", `["a/../b"]`, `guard "protected-paths": option "paths" has "a/../b", which has an element ".."`},
		{ProtectedPaths, "paths", `["~/"]`, `guard "protected-paths": option "paths" has "~/", which covers everything: name paths within it`},
		{ProtectedPaths, "paths", `["a//b"]`, `guard "protected-paths": option "paths" has "a//b", which has an element ""`},
		{ProtectedPaths, "paths", `["[a"]`, `guard "protected-paths": option "paths" has "[a", which has an unclosed bracket`},
		{ProtectedPaths, "except", `["/etc/"]`, `guard "protected-paths": option "except" has "/etc/" (did you mean "/etc"?): want one of /etc, `},
	} {
		with := map[string]json.RawMessage{}
		if c.option != "" {
			with[c.option] = json.RawMessage(c.value)
		}
		g, err := New(Options{Use: c.use, With: with})
		if err == nil || g != nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %s: %s\n got %v, %v\nwant %s", c.use, c.option, c.value, g, err, c.want)
		}
	}
}

func TestG3_EveryMistakeIsReportedAtOnceAndOnOneLine(t *testing.T) {
	_, err := New(Options{Use: NoForcePush, With: map[string]json.RawMessage{"b": nil, "a": nil, "allow_lease": json.RawMessage("0")}})
	want := `guard "no-force-push": option "a" is unknown; known options: allow_lease, allow_deletes, fields; ` +
		`option "b" is unknown; known options: allow_lease, allow_deletes, fields; option "allow_lease" is 0: want true or false`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestNew_AGuardIsCalledByItsEntryOrByWhatItIs(t *testing.T) {
	for _, use := range Names() {
		for name, want := range map[string]string{"": use, "mine": "mine"} {
			g, err := New(Options{Use: use, Name: name})
			if err != nil || g.Name() != want {
				t.Errorf("%s called %q: %v, %v", use, name, g, err)
			}
		}
	}
}

func TestG4_AGuardAnswersTheSameFromManyGoroutines(t *testing.T) {
	req := call(t, "shell", shellInput(`git push -f; rm -rf / > /etc/x; echo `+token()))
	for _, use := range Names() {
		g := newGuard(t, use, nil)
		want := said(t, g, req)
		if want == "" {
			t.Errorf("%s lets it pass", use)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 20 {
					o, err := g.Intercept(context.Background(), req)
					if err != nil || o.Reason != want {
						t.Errorf("%s: %+v, %v", use, o, err)
					}
				}
			})
		}
		all.Wait()
	}
}

func TestG6_TheDocumentationSaysWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("../../docs/guards.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		sections[strings.Trim(title, "`")] = body
	}
	for _, use := range Names() {
		d, ok := Describe(use)
		body := sections[use]
		if !ok || body == "" {
			t.Errorf("%s has no description or no section", use)
			continue
		}
		if d.Looks == "" || d.Answers == "" || len(d.Misses) == 0 || len(d.Events) == 0 {
			t.Errorf("%s is described by halves: %+v", use, d)
		}
		if !strings.Contains(body, "does not see") {
			t.Errorf("the section on %s does not say what it does not see", use)
		}
		for _, o := range d.Options {
			if o.Name == "" || o.Type == "" || o.Default == "" || o.Meaning == "" || !strings.Contains(body, "| `"+o.Name+"` |") {
				t.Errorf("%s: option %+v is not whole, or not in the documentation", use, o)
			}
			for _, word := range o.Words {
				if !strings.Contains(body, "`"+word+"`") {
					t.Errorf("the section on %s does not name %s of %s", use, word, o.Name)
				}
			}
		}
	}
	if _, ok := Describe("none"); ok {
		t.Error("a guard that there is not is described")
	}
}

func TestG6_AGuardHasSomethingToSayAtItsEvents(t *testing.T) {
	for _, use := range Names() {
		d, _ := Describe(use)
		_, reviews := newGuard(t, use, nil).(interface {
			Review(ctx context.Context, req *chain.Request) (chain.Outcome, error)
		})
		if reviews != slices.Contains(d.Events, chain.PostToolUse) {
			t.Errorf("%s: reviews %v, described at %v", use, reviews, d.Events)
		}
	}
}

func TestDefaultChain_IsAFileThatLoadsAndItsGuardsCanBeMade(t *testing.T) {
	set, err := config.Load(config.Options{Default: DefaultChain(), Guards: Names()})
	if err != nil {
		t.Fatal(err)
	}
	var participants []*chain.Participant
	for _, h := range set.Operator.Hooks {
		g, err := New(Options{Use: h.Use.Guard, Name: h.Name, With: h.Use.With})
		if err != nil {
			t.Fatal(err)
		}
		participants = append(participants, &chain.Participant{
			Name: h.Name, Binding: asked{g}, Events: []chain.Event{h.Event}, Tools: h.Tools, Timeout: time.Minute,
		})
	}
	c, err := chain.New(chain.Options{Name: "operator", Participants: participants, Budget: time.Minute, OnUncovered: chain.AllowUncovered})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct {
		req  *chain.Request
		want chain.Outcome
	}{
		{call(t, "shell", shellInput("git push --force")), chain.Outcome{Decision: chain.Deny, Reason: "denied by hook 'no-force-push': " + forcedReason}},
		{call(t, "Bash", shellInput("rm -rf /")), chain.Outcome{Decision: chain.Deny, Reason: "denied by hook 'destructive-shell': rm / deletes the root directory"}},
		{call(t, "mcp__x__shell_run", shellInput("rm -rf /")), chain.Outcome{Decision: chain.Deny, Reason: "denied by hook 'destructive-shell': rm / deletes the root directory"}},
		{call(t, "Bash", shellInput("echo x > ~/.bashrc")), chain.Outcome{Decision: chain.Deny, Reason: "denied by hook 'protected-paths': ~/.bashrc may not be changed: ~/.bashrc is protected"}},
		{call(t, "Write", `{"file_path":".git/hooks/x"}`), chain.Outcome{Decision: chain.Deny, Reason: "denied by hook 'protected-paths': .git/hooks/x may not be changed: .git/hooks is protected"}},
		{call(t, "apply_patch", `"*** Begin Patch\n*** Update File: a\n@@\n-it's (\n+x\n*** End Patch"`), chain.Outcome{Decision: chain.Allow}},
		{call(t, "Read", `{"file_path":"/etc/hosts"}`), chain.Outcome{Decision: chain.Allow}},
		{call(t, "Bash", shellInput("go test ./... && git push")), chain.Outcome{Decision: chain.Allow}},
		{call(t, "Bash", shellInput("export T="+token())), chain.Outcome{Decision: chain.Allow}},
		{result(t, `"plain"`), chain.Outcome{Decision: chain.Allow}},
		{result(t, `"`+token()+`"`), chain.Outcome{
			Decision: chain.Replace, Output: []byte(`"[redacted: github-token]"`), IsError: new(bool),
			Reason: "hook 'secrets': redacted 1 credential (github-token)",
		}},
	} {
		if diff := cmp.Diff(d.want, c.Decide(t.Context(), d.req, 0).Outcome); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d.req.JSON(), diff)
		}
	}
}

// asked asks a guard as the gateway does, but without a deadline.
type asked struct{ guard Guard }

func (a asked) Ask(ctx context.Context, c chain.Call) chain.Answer {
	ask := a.guard.Intercept
	if c.Request.Event() == chain.PostToolUse {
		r, ok := a.guard.(interface {
			Review(ctx context.Context, req *chain.Request) (chain.Outcome, error)
		})
		if !ok {
			return chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow}}
		}
		ask = r.Review
	}
	o, err := ask(ctx, c.Request)
	if err != nil {
		return chain.Fail(chain.Error, err.Error(), "")
	}
	return chain.Answer{Outcome: o}
}

func FuzzGuards(f *testing.F) {
	for _, seed := range []string{
		`{"command":"rm -rf /"}`, `{"command":["git","push","-f"]}`, `{"cmd":"psql -c 'DROP DATABASE x'"}`, `{"args":["a",1,{"x":"y"}],"command":"b"}`,
		`"git -c alias.p='push -f' p"`, `{"file_path":"~/.ssh/x","paths":["a"]}`, `{"patch":"*** Begin Patch\n*** Update File: /etc/x"}`,
		`{"commands":["cd /","rm -rf *"],"cwd":"x"}`, `{"command":"find / -delete; mkfs $X; kubectl delete ns/x; echo x > /dev/sda"}`, `[[[{"script":["a"]}]]]`,
	} {
		f.Add(seed)
	}
	var guards []Guard
	for _, use := range Names() {
		guards = append(guards, newGuard(f, use, nil))
	}
	f.Fuzz(func(t *testing.T, input string) {
		// The text is used as an input if it is JSON, and as the command in an
		// input.
		for _, input := range []string{input, shellInput(input)} {
			if chain.CheckValue([]byte(input)) != nil {
				continue
			}
			req := call(t, "shell_push", input)
			for _, g := range guards {
				said(t, g, req)
			}
		}
	})
}

func BenchmarkGuards(b *testing.B) {
	for name, command := range map[string]string{
		"plain": `go test ./gateway/... 2>&1 | tail -20`,
		"risky": `cd /home/dev/repo && rm -rf build/ && git add -A && git commit -m "fix: the thing" && git push origin HEAD > push.log`,
	} {
		input := `{"command":` + quoted(command) + `,"description":"` + strings.Repeat("what it is for ", 10) + `","timeout":120000}`
		req := call(b, "Bash", input)
		for _, use := range Names() {
			g := newGuard(b, use, nil)
			b.Run(use+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if got := said(b, g, req); got != "" {
						b.Fatal(got)
					}
				}
			})
		}
	}
}
