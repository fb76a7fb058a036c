package transport

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/internal/output"
)

func newCommand(tb testing.TB, o CommandOptions) *Command {
	tb.Helper()
	c, err := NewCommand(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// hookCommand runs the test binary as a command.
func hookCommand(tb testing.TB, steps ...string) *Command {
	tb.Helper()
	return newCommand(tb, CommandOptions{Argv: self(tb, steps...)})
}

func saidByCommand(t *testing.T, says string) chain.Binding {
	t.Helper()
	return hookCommand(t, "read", "file:"+written(t, says))
}

// written creates a file with the text.
func written(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "text")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// allowing is a plain allow.
func allowing() chain.Answer { return chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow}} }

// same compares answers exactly.
func same(t *testing.T, want, got chain.Answer) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// large is a call whose envelope is larger than any pipe's capacity.
func large(tb testing.TB, allowed time.Duration) chain.Call {
	tb.Helper()
	return call(request(tb, chain.PreToolUse, `{"x":"`+strings.Repeat("x", 8<<20)+`"}`), allowed)
}

func TestACommandReadsTheEnvelopeToItsLastByte(t *testing.T) {
	t.Parallel()
	c := large(t, plenty)
	envelope := c.Request.JSON()
	reason := fmt.Sprintf("%d bytes %x", len(envelope), sha256.Sum256(envelope))
	same(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: reason}}, hookCommand(t, "read", "digest").Ask(t.Context(), c))
}

func TestCommandsAskedAtTheSameTimeEachReadAllOfTheEnvelope(t *testing.T) {
	t.Parallel()
	c := large(t, plenty)
	envelope := c.Request.JSON()
	want := chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: fmt.Sprintf("%d bytes %x", len(envelope), sha256.Sum256(envelope))}}
	together := t.TempDir()
	answers := make(chan chain.Answer)
	for range 3 {
		b := hookCommand(t, "meet:"+together+",3", "read", "digest")
		go func() { answers <- b.Ask(t.Context(), c) }()
	}
	for range 3 {
		same(t, want, <-answers)
	}
}

func TestACommandThatDoesNotReadHasAnsweredStill(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]string{
		"never reads":      {sayAllow},
		"closes its stdin": {"take:10", "close:0", sayAllow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, allowing(), hookCommand(t, steps...).Ask(t.Context(), large(t, plenty)))
		})
	}
}

func TestTheExitIsLookedAtBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []string
		want  chain.Answer
	}{
		"status 1 after an allow":   {[]string{sayAllow, "exit:1"}, chain.Fail(chain.Exit, "exited with status 1", "")},
		"status 3 with last words":  {[]string{"grumble:line one\n\tline two\n", "exit:3"}, chain.Fail(chain.Exit, "exited with status 3: line one line two", "")},
		"status 2 and nothing else": {[]string{"exit:2"}, chain.Fail(chain.Exit, "exited with status 2", "")},
		"killed after an allow":     {[]string{sayAllow, "signal:9"}, chain.Fail(chain.Signal, "was ended by signal killed", "")},
		"terminated":                {[]string{"grumble:oh", "signal:15"}, chain.Fail(chain.Signal, "was ended by signal terminated: oh", "")},
		"status 1 over the size":    {[]string{"say:" + strings.Repeat("x", 64), "exit:1"}, chain.Fail(chain.Exit, "exited with status 1", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, c.want, hookCommand(t, append([]string{"read"}, c.steps...)...).Ask(t.Context(), plain(t)))
		})
	}
}

func TestT3_OfStderrOnlyTheEndIsKept(t *testing.T) {
	t.Parallel()
	got := hookCommand(t, "grumble:first ", "flood:1048576", "grumble:\nlast words", "exit:1").Ask(t.Context(), plain(t))
	want := "exited with status 1: …" + strings.Repeat("e", output.Kept-len("\nlast words")) + " last words"
	same(t, chain.Fail(chain.Exit, want, ""), got)
}

func TestT4_WhatRepeatsASecretOfAProgramIsNotShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	long := strings.Repeat("0123456789abcdef", 1024)
	const unshown, unshownStdout = "what it wrote " + output.Repeats, "what it wrote to stdout " + output.Repeats
	for name, c := range map[string]struct {
		steps []string // of a command; a worker executes them for each line
		text  string
		want  string // for a worker: expected in the detail
	}{
		"in a crash":    {[]string{"grumble:401 with " + secret, "exit:1"}, "exited with status 1: " + unshown, "stderr: " + unshown},
		"in two pieces": {[]string{"grumble:" + secret[:9], "grumble:" + secret[9:], "exit:1"}, "exited with status 1: " + unshown, "stderr: " + unshown},
		"before so much that nothing of it is kept": {[]string{"grumble:" + secret, "flood:1048576", "exit:1"}, "exited with status 1: " + unshown, "stderr: " + unshown},
		"before so much that its end is kept":       {[]string{"grumble:" + secret + strings.Repeat("e", output.Kept-9), "exit:1"}, "exited with status 1: " + unshown, "stderr: " + unshown},
		"a part of one of several lines":            {[]string{"grumble:a-line-of-a-key", "exit:1"}, "exited with status 1: " + unshown, "stderr: " + unshown},
		"one that is longer than what is kept":      {[]string{"grumble:" + long, "exit:1"}, "exited with status 1: " + unshown, "stderr: " + unshown},
		"in an answer that is none":                 {[]string{`say:{"token":"` + secret + `"}` + "\n"}, "did not answer with one decision object", unshownStdout},
		"in an answer that is none, escaped":        {[]string{`say:{"decision":"\u0068unter2-hunter2"}` + "\n"}, "answered an unknown decision", unshownStdout},
		"beside an answer that is none":             {[]string{"grumble:" + secret, "say:{}\n"}, "did not answer with one decision object", "stderr: " + unshown},
		"something that only looks like it":         {[]string{"grumble:hunter2-hunter3", "exit:1"}, "exited with status 1: hunter2-hunter3", "stderr: hunter2-hunter3"},
		"what is too short not to be a chance":      {[]string{"grumble:short", "exit:1"}, "exited with status 1: short", "stderr: short"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secrets := []string{secret, "short", "a-line-of-a-key\nanother", long}
			once := newCommand(t, CommandOptions{Argv: self(t, append([]string{"read"}, c.steps...)...), Secrets: secrets})
			f := once.Ask(t.Context(), plain(t)).Failure
			if f == nil || f.Text != c.text || f.Cause != chain.Exit && !strings.HasSuffix(f.Detail, c.want) {
				t.Errorf("a command: failure %+v, want %q and %q", f, c.text, c.want)
			}
			stays := newWorker(t, WorkerOptions{Processes: 1, Backoff: never(), Command: CommandOptions{Argv: self(t, "obey"), Secrets: secrets}})
			for _, whose := range []string{"of the call", "of the next"} {
				f = stays.Ask(t.Context(), told(t, c.steps...)).Failure
				if f == nil || !strings.HasSuffix(f.Detail, c.want) || strings.Contains(f.Text, "hunter2") {
					t.Errorf("a worker: failure %s %+v, want %q", whose, f, c.want)
				}
			}
		})
	}
}

func TestAFloodOfStderrBlocksNobody(t *testing.T) {
	t.Parallel()
	same(t, allowing(), hookCommand(t, "read", "flood:33554432", sayAllow).Ask(t.Context(), plain(t)))
}

func TestAnAnswerOnStderrIsNone(t *testing.T) {
	t.Parallel()
	got := hookCommand(t, "read", `grumble:{"decision":"allow"}`).Ask(t.Context(), plain(t))
	same(t, chain.Fail(chain.Empty, "answered nothing", `stderr: {"decision":"allow"}`), got)
}

func TestT2_TheClockDecidesWhateverAHookDoes(t *testing.T) {
	t.Parallel()
	running := "its program was still running"
	held := "its program had exited, but a process that it started still held its stdout open"
	for name, c := range map[string]struct {
		steps  []string // MARK stands for a file that the step creates
		detail string
		left   bool // whether a process that left the group survives
	}{
		"never answers":                      {[]string{"read", "mark:MARK", "wait"}, running, false},
		"never reads":                        {[]string{"mark:MARK", "wait"}, running, false},
		"answers and stays":                  {[]string{"read", sayAllow, "mark:MARK", "wait"}, running, false},
		"closes stdout and stays":            {[]string{"read", sayAllow, "close:1", "mark:MARK", "wait"}, running, false},
		"says why it hangs":                  {[]string{"read", "grumble:no route", "mark:MARK", "wait"}, running + "; stderr: no route", false},
		"stops itself":                       {[]string{"mark:MARK", "signal:19"}, running, false},
		"leaves its own group":               {[]string{"desert", "mark:MARK", "wait"}, running, false},
		"is deaf to signals":                 {[]string{"deaf", "mark:MARK", "wait"}, running, false},
		"waits for its child":                {[]string{"child:,MARK", "wait"}, running, false},
		"leaves a child with its stdout":     {[]string{"read", sayAllow, "child:1,MARK"}, held, false},
		"leaves a daemon with its stdout":    {[]string{"read", sayAllow, "daemon:1,MARK"}, held, true},
		"leaves a child with its stdin":      {[]string{sayAllow, "child:01,MARK"}, held, false},
		"fails and leaves one with stdout":   {[]string{"child:1,MARK", "exit:1"}, held, false},
		"leaves a daemon with all its pipes": {[]string{sayAllow, "daemon:012,MARK"}, held, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The machine may be slow, so the time is doubled until the hook gets as far
			// as it wants to.
			for allowed := 500 * time.Millisecond; ; allowed *= 2 {
				if allowed > plenty {
					t.Fatalf("the hook never came so far that %q", c.detail)
				}
				mark := filepath.Join(t.TempDir(), "mark")
				steps := slices.Clone(c.steps)
				for n := range steps {
					steps[n] = strings.ReplaceAll(steps[n], "MARK", mark)
				}
				b := hookCommand(t, steps...)
				cl := call(request(t, chain.PreToolUse, `{}`), allowed)
				if name == "never reads" {
					cl = large(t, allowed)
				}
				got := b.Ask(t.Context(), cl)
				if late := time.Since(cl.Deadline); late > lifetime/4 {
					t.Errorf("returned %v after the deadline", late)
				}
				if !exists(mark) || got.Failure != nil && got.Failure.Detail != c.detail {
					continue
				}
				same(t, cl.Expired(c.detail), got)
				b.Close()
				pid := marked(t, mark)
				if !c.left {
					dies(t, pid)
					return
				}
				if !runs(pid) {
					t.Error("a process in a session of its own was killed")
				}
				_ = syscall.Kill(pid, syscall.SIGKILL)
				return
			}
		})
	}
}

func TestNothingOfTheGroupOutlivesAnAnswer(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	began := time.Now()
	got := hookCommand(t, "read", "child:2,"+mark, sayAllow).Ask(t.Context(), plain(t))
	soon(t, began) // not delayed by the child that holds stderr
	same(t, allowing(), got)
	dies(t, marked(t, mark))
}

func TestADaemonThatGaveUpThePipesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]string{"all of them": "daemon:", "all but stderr": "daemon:2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "mark")
			began := time.Now()
			got := hookCommand(t, "read", step+","+mark, sayAllow).Ask(t.Context(), plain(t))
			soon(t, began)
			same(t, allowing(), got)
			pid := marked(t, mark)
			if !runs(pid) {
				t.Error("a process in a session of its own was killed")
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		})
	}
}

func TestT3_AProgramsAnswerOneByteOverTheCapIsAFailure(t *testing.T) {
	t.Parallel()
	const most = 64
	exact := sayAllow + strings.Repeat(" ", most-len(sayAllow)+len("say:"))
	over := chain.Fail(chain.Oversize, "answered with more than 64 bytes", "")
	for name, c := range map[string]struct {
		steps []string
		want  chain.Answer
	}{
		"exactly the cap":                  {[]string{exact}, allowing()},
		"one byte over":                    {[]string{exact + " "}, over},
		"one byte over, in two writes":     {[]string{exact, "say:\n"}, over},
		"an answer and blanks without end": {[]string{sayAllow, "endless:\n"}, over},
		"an answer and no end of it":       {[]string{"endless:" + `{"decision":"allow"}`}, over},
		"over the cap, and stays":          {[]string{exact + " ", "wait"}, over},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCommand(t, CommandOptions{Argv: self(t, append([]string{"read"}, c.steps...)...), MaxResponseBytes: most})
			began := time.Now()
			same(t, c.want, b.Ask(t.Context(), plain(t)))
			soon(t, began)
		})
	}
}

func TestAProgramThatCannotBeStartedSaysWhichAndWhy(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("locked", "#!/bin/sh\n", 0o600)
	put("orphan", "#!/nonexistent/interpreter\n", 0o700)
	put("crlf", "#!/bin/sh\r\necho\n", 0o700)
	put("bare", "echo allow\n", 0o700)
	put("empty", "", 0o700)
	put("garbage", "\x7fELFgarbage", 0o700)
	for name, target := range map[string]string{"dangling": "/nonexistent/target", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "locked"), filepath.Join(bin, "locked")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	const noFormat = ": exec format error: neither a program for this machine nor a script that begins with #!"
	for name, c := range map[string]struct {
		program string
		why     string
	}{
		"no such file":                {"./ghost", "./ghost: no such file or directory"},
		"no such absolute file":       {"/nonexistent/ghost", "/nonexistent/ghost: no such file or directory"},
		"not executable":              {"./locked", "./locked: permission denied"},
		"a directory":                 {"./folder", "./folder: permission denied"},
		"no such interpreter":         {"./orphan", "./orphan exists, but the interpreter that it names does not"},
		"an interpreter ending in CR": {dir + "/crlf", dir + "/crlf exists, but the interpreter that it names does not"},
		"no interpreter":              {"./bare", "./bare" + noFormat},
		"an empty file":               {"./empty", "./empty" + noFormat},
		"another format":              {"./garbage", "./garbage" + noFormat},
		"a dangling link":             {"./dangling", "./dangling: no such file or directory"},
		"a loop of links":             {"./loop", "./loop: too many levels of symbolic links"},
		"not in PATH":                 {"ghost", "ghost is not in the PATH of its environment"},
		"not executable in PATH":      {"locked", "locked: permission denied"},
		"only in a relative PATH":     {"orphan", "orphan is not in the PATH of its environment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCommand(t, CommandOptions{Argv: []string{c.program}, Dir: dir, Env: []string{"PATH=.::" + bin}})
			f := b.Ask(t.Context(), plain(t)).Failure
			if f == nil || f.Cause != chain.Spawn || f.Text != "could not be started: "+c.why || !strings.HasSuffix(f.Detail, "in directory "+dir) {
				t.Errorf("failure %+v, want: could not be started: %s", f, c.why)
			}
		})
	}
	t.Run("no PATH", func(t *testing.T) {
		t.Parallel()
		b := newCommand(t, CommandOptions{Argv: []string{"sh"}, Env: []string{"HOME=/"}})
		f := b.Ask(t.Context(), plain(t)).Failure
		if f == nil || f.Cause != chain.Spawn || f.Text != "could not be started: sh is not in the PATH of its environment" {
			t.Errorf("failure %+v", f)
		}
	})
	t.Run("no such directory", func(t *testing.T) {
		t.Parallel()
		b := newCommand(t, CommandOptions{Argv: self(t, sayAllow), Dir: "/nonexistent/dir"})
		f := b.Ask(t.Context(), plain(t)).Failure
		if f == nil || f.Cause != chain.Spawn || f.Text != "could not be started: its working directory does not exist" || !strings.HasSuffix(f.Detail, "in directory /nonexistent/dir") {
			t.Errorf("failure %+v", f)
		}
	})
}

func TestFindableSaysWhatWouldKeepAProgramFromStarting(t *testing.T) {
	dir := t.TempDir()
	for name, file := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"good": {"#!/bin/sh\n", 0o700}, "locked": {"#!/bin/sh\n", 0o600}, "orphan": {"#! /nonexistent/sh -e\n", 0o700},
		"windows": {"#!/usr/bin/env sh\r\nexit\r\n", 0o700}, "binary": {"\x7fELF\r\n", 0o700}, "bare": {"#!\n", 0o700},
		"text": {"echo '{\"decision\":\"allow\"}' # déjà vu\n", 0o700}, "void": {"", 0o700},
		"marked": {"\ufeff#!/bin/sh\n", 0o700},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(file.text), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	for program, want := range map[string]string{
		"./good":      "",
		dir + "/good": "",
		"good":        "",
		"./binary":    "",
		"./bare":      "",
		"./void":      "",
		"./text":      "./text is a text without an interpreter: begin it with a line like #!/bin/sh",
		"./locked":    "./locked: permission denied: chmod +x makes it executable",
		"locked":      "locked: permission denied: chmod +x makes it executable",
		"./orphan":    "./orphan exists, but the interpreter that it names does not",
		"windows":     "windows has Windows line endings (CR LF), so its interpreter cannot be found: save it with LF",
		"./marked":    "./marked begins with a byte order mark, so its first line names no interpreter: save it as UTF-8 without BOM",
		"./ghost":     "./ghost: no such file or directory in directory " + dir,
		"/ghost":      "/ghost: no such file or directory",
		"./good -v":   "./good -v: no such file or directory: no shell splits it, so each argument is an item of its own in the list",
		"good -v":     "good -v is not in the PATH of its environment: no shell splits it, so each argument is an item of its own in the list",
		"ghost":       "ghost is not in the PATH of its environment",
		dir:           dir + ": is a directory",
	} {
		b := newCommand(t, CommandOptions{Argv: []string{program}, Dir: dir, Env: []string{"PATH=" + dir}})
		got := ""
		if err := b.Findable(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
	for _, program := range []string{"./good", dir + "/good"} {
		b := newCommand(t, CommandOptions{Argv: []string{program}, Dir: dir + "/none"})
		if err := b.Findable(); err == nil || err.Error() != "its working directory does not exist" {
			t.Errorf("%s without its directory: %v", program, err)
		}
	}
}

func TestAProgramThatIsBeingWrittenIsTriedOnceMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "busy")
	text, err := os.ReadFile(self(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	b := newCommand(t, CommandOptions{Argv: []string{path, hookWord, sayAllow}})
	began := time.Now()
	got := b.Ask(t.Context(), plain(t))
	if took := time.Since(began); took < busyPause {
		t.Errorf("gave up after %v", took)
	}
	if f := got.Failure; f == nil || f.Cause != chain.Spawn || f.Text != "could not be started: "+path+": text file busy" {
		t.Errorf("failure %+v", f)
	}
	c := plain(t)
	c.Deadline, c.Allowed = time.Now().Add(busyPause/2), busyPause/2
	if f := b.Ask(t.Context(), c).Failure; f == nil || f.Cause != chain.Timeout && f.Cause != chain.Spawn {
		t.Errorf("failure %+v", f)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got = b.Ask(t.Context(), plain(t))
	for end := time.Now().Add(20 * time.Second); got.Failure != nil && got.Failure.Cause == chain.Spawn && time.Now().Before(end); {
		// A fork elsewhere in this process keeps the file open until its exec.
		got = b.Ask(t.Context(), plain(t))
	}
	same(t, allowing(), got)
}

func TestABareNameIsLookedUpInTheProgramsOwnPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(self(t)[0], filepath.Join(dir, "guard")); err != nil {
		t.Fatal(err)
	}
	b := newCommand(t, CommandOptions{Argv: []string{"guard", hookWord, sayAllow}, Env: []string{"PATH=/nonexistent:" + dir}})
	same(t, allowing(), b.Ask(t.Context(), plain(t)))
}

func TestAPathIsRelativeToTheDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self(t)[0], filepath.Join(dir, "sub", "guard")); err != nil {
		t.Fatal(err)
	}
	b := newCommand(t, CommandOptions{Argv: []string{"sub/guard", hookWord, sayAllow}, Dir: dir})
	same(t, allowing(), b.Ask(t.Context(), plain(t)))
}

func TestAProgramIsGivenWhatItsOptionsSayAndNothingElse(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "CANARY")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	// A descriptor that every program would inherit, as a careless parent of the
	// gateway might leave behind.
	fd, err := syscall.Open(dir, syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	for name, c := range map[string]struct{ env, want []string }{
		"an environment":       {[]string{"B=2", "A=1=1", "EMPTY="}, []string{"A=1=1", "B=2", "EMPTY="}},
		"an empty environment": {[]string{}, []string{}},
		"no environment":       {nil, []string{}},
		"a name twice":         {[]string{"PATH=/bin", "A=1", "PATH=/sbin"}, []string{"A=1", "PATH=/sbin"}},
	} {
		t.Run(name, func(t *testing.T) {
			argv := self(t, "read", "facts")
			b := newCommand(t, CommandOptions{Argv: argv, Dir: ".", Env: c.env})
			a := b.Ask(t.Context(), call(request(t, chain.PreToolUse, `{"x":"CANARY $(id) \u0000"}`), plenty))
			var got facts
			if err := json.Unmarshal([]byte(a.Outcome.Reason), &got); err != nil {
				t.Fatalf("%v in %+v", err, a)
			}
			want := facts{PID: got.PID, Group: got.PID, Dir: dir, Argv: argv, Env: c.want, Blocking: []bool{true, true, true}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoShellReadsTheArguments(t *testing.T) {
	t.Parallel()
	reason := "$(id) `id` ; > x * ~ \"'\\"
	b := hookCommand(t, "read", `say:{"decision":"deny","reason":`+string(chain.AppendString(nil, reason))+`}`)
	same(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: reason}}, b.Ask(t.Context(), plain(t)))
}

func TestT5_ACallerThatHangsUpEndsTheProgram(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	b := hookCommand(t, "child:1,"+mark, "wait")
	ctx, hangUp := context.WithCancel(t.Context())
	began := time.Now()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		b.Ask(ctx, plain(t))
	}()
	pid := marked(t, mark)
	if got := b.Status().InFlight; got != 1 {
		t.Errorf("%d calls in flight, want 1", got)
	}
	hangUp()
	<-returned
	soon(t, began)
	b.Close()
	dies(t, pid)
	if got := b.Status().InFlight; got != 0 {
		t.Errorf("%d calls in flight", got)
	}
}

func TestT5_NothingIsStartedForACallerThatHasHungUp(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	b := hookCommand(t, "mark:"+mark, sayAllow)
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	b.Ask(ctx, plain(t))
	b.Close()
	if exists(mark) {
		t.Error("the program ran")
	}
}

func TestT2_ACallWithoutTimeIsNotStarted(t *testing.T) {
	t.Parallel()
	c := call(request(t, chain.PreToolUse, `{}`), 0)
	same(t, c.Expired("its program had not been started yet"), hookCommand(t, "wait").Ask(t.Context(), c))
}

func TestT6_CallsOverTheBoundFailAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newCommand(t, CommandOptions{Argv: self(t, "read", "mark:"+dir+"/began", "await:"+dir+"/go on", sayAllow), MaxInFlight: 1})
	first := make(chan chain.Answer)
	go func() { first <- b.Ask(t.Context(), plain(t)) }()
	marked(t, dir+"/began")
	want := chain.Fail(chain.Saturated, "was not asked: its limit of 1 calls in flight is reached", "max_in_flight is reached")
	same(t, want, b.Ask(t.Context(), plain(t)))
	(&performer{}).step("mark", dir+"/go on")
	same(t, allowing(), <-first)
}

func TestT6_KilledProcessesThatDoNotGoAreBounded(t *testing.T) {
	t.Parallel()
	b := newCommand(t, CommandOptions{Argv: self(t, sayAllow), MaxInFlight: 1})
	b.program.alive.enter() // as for two processes that hang in the kernel
	b.program.alive.enter()
	f := b.Ask(t.Context(), plain(t)).Failure
	if f == nil || f.Cause != chain.Spawn || f.Text != "could not be started: 2 of its processes already exist, some of them killed but not yet gone" {
		t.Errorf("failure %+v", f)
	}
}

func TestT7_CloseLetsCallsEndAndRefusesNewOnes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := hookCommand(t, "read", "mark:"+dir+"/began", "await:"+dir+"/go on", sayAllow)
	first := make(chan chain.Answer)
	go func() { first <- b.Ask(t.Context(), plain(t)) }()
	marked(t, dir+"/began")
	closed := make(chan struct{})
	go func() {
		b.Close()
		close(closed)
	}()
	want := chain.Fail(chain.Internal, "was not asked: the gateway has already closed it", "asked after Close")
	eventually(t, "the binding is closed", func() bool {
		b.gate.mu.Lock()
		defer b.gate.mu.Unlock()
		return b.gate.closed
	})
	same(t, want, b.Ask(t.Context(), plain(t)))
	if isClosed(closed) {
		t.Error("close did not wait for the call in flight")
	}
	(&performer{}).step("mark", dir+"/go on")
	same(t, allowing(), <-first)
	<-closed
}

// The test simulates a start that hangs, because a real process could not run
// with the fake clock.
func TestT7_CloseGivesUpOnAStartThatHangsInsideTheKernel(t *testing.T) {
	for name, c := range map[string]func() (hung *sync.WaitGroup, shut func()){
		"of a command": func() (*sync.WaitGroup, func()) {
			c := &Command{}
			return &c.exchanges, c.Close
		},
		"of a worker": func() (*sync.WaitGroup, func()) {
			w := &Worker{stop: func() {}}
			return &w.seats, w.Close
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hung, shut := c()
				comeBack := make(chan struct{})
				hung.Go(func() { <-comeBack })
				for range 2 { // a second Close waits for the same time
					began := time.Now()
					shut()
					if took := time.Since(began); took != clearWithin {
						t.Errorf("closed after %v, want %v", took, clearWithin)
					}
				}
				close(comeBack)
				began := time.Now()
				shut()
				if took := time.Since(began); took != 0 {
					t.Errorf("waited %v for nothing", took)
				}
			})
		})
	}
}

func TestOptionsThatAreNoCommandAreRefusedWithEveryReason(t *testing.T) {
	for name, c := range map[string]struct {
		options CommandOptions
		want    string
	}{
		"no argv":        {CommandOptions{}, "command: argv is empty"},
		"an empty name":  {CommandOptions{Argv: []string{"", "x"}}, "command: argv is empty"},
		"NUL in argv":    {CommandOptions{Argv: []string{"a", "b\x00"}}, `command: argv ["a" "b\x00"] has a NUL character`},
		"NUL in dir":     {CommandOptions{Argv: []string{"a"}, Dir: "\x00"}, `command: dir "\x00" has a NUL character`},
		"no assignment":  {CommandOptions{Argv: []string{"a"}, Env: []string{"HOME"}}, "command: env[0] is not NAME=VALUE"},
		"no name":        {CommandOptions{Argv: []string{"a"}, Env: []string{"A=", "=x"}}, "command: env[1] is not NAME=VALUE"},
		"NUL in a value": {CommandOptions{Argv: []string{"a"}, Env: []string{"KEY=secret\x00"}}, "command: env KEY has a NUL character in its value"},
		"below zero": {
			CommandOptions{MaxResponseBytes: -1, MaxInFlight: -2},
			"command: argv is empty\ncommand: max response bytes -1 is negative\ncommand: max in flight -2 is negative",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewCommand(c.options); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}
