package guard

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// long returns inputs of about n bytes that once took quadratic work, or work
// proportional to n times the number of rules.
func long() map[string]func(n int) string {
	times := strings.Repeat
	command := func(build func(n int) string) func(int) string {
		return func(n int) string { return shellInput(build(n)) }
	}
	return map[string]func(n int) string{
		"operands":       command(func(n int) string { return "rm " + times("a ", n/2) }),
		"wildcards":      command(func(n int) string { return "rm -rf " + times("* ", n/2) }),
		"sets":           command(func(n int) string { return "rm -rf " + times("[a]", n/3) }),
		"deep":           command(func(n int) string { return "rm -rf " + times("a/", n/2) }),
		"deep wildcards": command(func(n int) string { return "rm -rf " + times("a*/", n/3) }),
		"moves":          command(func(n int) string { return "mv " + times("a ", n/2) }),
		"a deep target":  command(func(n int) string { return "mv -t " + times("a/", n/4) + times(" a", n/4) }),
		"a deep place":   command(func(n int) string { return "cd " + times("a/", n/4) + ";rm" + times(" a", n/4) }),
		"redirections":   command(func(n int) string { return "rm " + times(" >a", n/3) }),
		"formats":        command(func(n int) string { return "printf '" + times("%s", n/4) + "' " + times("a ", n/4) + "| rm" }),
		"arithmetic":     command(func(n int) string { return "rm $((1" + times("+1", n/2) + "))" }),
		"pipes":          command(func(n int) string { return "rm" + times("|sh", min(n/3, 4000)) }),
		"programs":       command(func(n int) string { return times("sudo ", n/10) + "rm" + times(" a", n/4) }),
		"finds":          command(func(n int) string { return times("find -exec ", n/11) + "rm" }),
		"aliases":        command(func(n int) string { return "A=" + times("a", n/2) + times(";git -c alias.x=\"!git push $A\" x", n/80) }),
		"one here-document for many": command(func(n int) string {
			return "{" + times("psql;", min(n/10, 4000)) + "} <<E >&2\n" + times("drop ", n/10) + "\nE\n"
		}),
		"a patch": command(func(n int) string { return "*** Begin Patch\n" + times("+++ a\n", n/6) }),
		"shared arguments": func(n int) string {
			return `{"args":"` + times("a", n-60) + `","command":"rm","Command":"rm","COMMAND":"rm"}`
		},
		"paths":              func(n int) string { return `{"paths":[` + times(`"a/b",`, n/6) + `"a"]}` },
		"a deep path":        func(n int) string { return `{"path":"` + times("../a/", n/5) + `"}` },
		"what is no command": func(n int) string { return `{"a":[` + times("1,", n/2) + `1]}` },
	}
}

// timesAsked is a context that never ends and counts the calls of Err.
type timesAsked struct {
	context.Context //nolint:containedctx // this type is a context

	n int
}

func (c *timesAsked) Err() error {
	c.n++
	return nil
}

func TestG5_WorkGrowsWithTheLengthOfTheCall(t *testing.T) {
	for _, use := range []string{DestructiveShell, NoForcePush, ProtectedPaths} {
		g := newGuard(t, use, nil)
		for name, input := range long() {
			for _, n := range []int{2 << 10, 24_000} {
				req := call(t, "shell", input(n))
				ctx := &timesAsked{Context: t.Context()}
				if _, err := g.Intercept(ctx, req); err != nil {
					t.Errorf("%s, %s: %v", use, name, err)
				}
				// The number of units between two checks of a meter, and one
				// more check.
				if most := 17 + len(req.Input())/256 + 1; ctx.n > most {
					t.Errorf("%s, %s: the context was asked %d times for %d bytes, want at most %d", use, name, ctx.n, len(req.Input()), most)
				}
			}
		}
	}
}

func TestG5_OrdinaryCallsAreFarFromTheLimitOfWork(t *testing.T) {
	for name, command := range map[string]string{
		"many files":      "rm -f" + strings.Repeat(" build/cache/objects/file-12345.o", 3500),
		"a file to write": "cd src && sudo tee notes.md <<'E'\n" + strings.Repeat("what stands in a file > 1 that an agent writes\n", 2500) + "E\n",
		"a script":        "bash <<'E'\n" + strings.Repeat("cp -r \"$HOME/work/a\" ./b || echo failed >&2\n", 1000) + "E\n",
	} {
		for _, use := range []string{DestructiveShell, NoForcePush, ProtectedPaths} {
			if got := said(t, newGuard(t, use, nil), call(t, "shell", shellInput(command))); got != "" {
				t.Errorf("%s, %s: %s", use, name, got)
			}
		}
	}
}

func TestG5_TooMuchWorkIsDenied(t *testing.T) {
	const want = "the call could not be read: parsing it takes more work than its length allows"
	for use, command := range map[string]string{
		DestructiveShell: strings.Repeat("find -exec ", 5000) + "rm",
		NoForcePush:      "A=" + strings.Repeat("a", 60_000) + strings.Repeat(`;git -c alias.x="!git push $A" x`, 1000),
		ProtectedPaths:   "mv -t " + strings.Repeat("a/", 30_000) + strings.Repeat(" a", 30_000),
	} {
		if got := said(t, newGuard(t, use, nil), call(t, "shell", shellInput(command))); got != want {
			t.Errorf("%s: %q, want %q", use, got, want)
		}
	}
}

func TestG1_WhatIsTooLongToBeSearchedIsDenied(t *testing.T) {
	for input, want := range map[string]string{
		shellInput(strings.Repeat("x", longestSearched+1)):                                        "the command could not be read: it is longer than 131072 bytes",
		shellInput(strings.Repeat("x", longestSearched)):                                          "",
		`{"command":"a","COMMAND":"b","args":"` + strings.Repeat("x", longestSearched/2+1) + `"}`: "the input could not be read: 2 commands have arguments of 524289 bytes in common",
	} {
		if got := said(t, newGuard(t, DestructiveShell, nil), call(t, "shell", input)); got != want {
			t.Errorf("%.40s…: %q, want %q", input, got, want)
		}
	}
	const want = "the workspace could not be read: its name is longer than 4096 bytes"
	if got := said(t, newGuard(t, ProtectedPaths, nil), callIn(t, "/"+strings.Repeat("w", 4096), "Write", `{"path":"a"}`)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// endingContext is a context that ends after Err was called a number of times.
type endingContext struct {
	context.Context //nolint:containedctx // this type is a context

	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestG7_AGuardStopsWhereItsContextEnds(t *testing.T) {
	for _, use := range []string{DestructiveShell, NoForcePush, ProtectedPaths} {
		g := newGuard(t, use, nil)
		for name, input := range long() {
			req := call(t, "git_push", input(12_000))
			asked := &timesAsked{Context: t.Context()}
			if _, err := g.Intercept(asked, req); err != nil {
				t.Fatal(err)
			}
			for _, after := range []int{0, asked.n / 2, asked.n - 1} {
				ctx := &endingContext{Context: t.Context(), left: after}
				o, err := g.Intercept(ctx, req)
				if err == nil || o.Decision != chain.Undecided {
					t.Errorf("%s, %s: answered %v, %v though its context ended at question %d of %d", use, name, o, err, after, asked.n)
				}
				if ctx.left < -2 {
					t.Errorf("%s, %s: went on and asked %d times more", use, name, -1-ctx.left)
				}
			}
		}
	}
}

func TestG7_AContextThatEndedIsNoDenial(t *testing.T) {
	why := errors.New("hung up")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	m := work.For(ctx, 100)
	m.Spend(1)
	if o, err := verdict(m, "found something"); !errors.Is(err, why) || o.Decision != chain.Undecided {
		t.Errorf("answered %+v, %v", o, err)
	}
}
