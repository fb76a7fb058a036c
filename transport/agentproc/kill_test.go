package agentproc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/internal/output"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// leave ends the goroutine.
func leave() { runtime.Goexit() }

func TestA8_ATimeoutCountsForMoreThanWhatTheAgentSaid(t *testing.T) {
	for name, c := range map[string]struct {
		mode  string
		lines []string
	}{
		"silence":                   {"waits", nil},
		"a result":                  {"lines-then-wait", []string{`{"type":"result","text":"done"}`}},
		"an error":                  {"lines-then-wait", []string{`{"type":"error","message":"e"}`}},
		"a deaf agent":              {"ignores-sigterm", nil},
		"an agent that ends well":   {"obeys-sigterm", nil},
		"an agent that asks":        {"lines-then-wait", []string{requestLine("1", "")}},
		"an input that is not read": {"waits", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := permitted(printing(t, c.mode, c.lines...))
			p.Timeout, p.KillGrace = 300*time.Millisecond, 200*time.Millisecond
			d := newHeldDecider()
			began := time.Now()
			turn := Turn{Message: strings.Repeat("m", 1<<20)} // more than a pipe holds
			result, err := Run(t.Context(), turn, Options{Profile: p, Sink: &recorder{}, Decider: d})
			if err != nil || result.ExitCode != 124 || result.Succeeded {
				t.Fatalf("%+v, %v", result, err)
			}
			if diff := cmp.Diff(&chain.Failure{Cause: chain.Timeout, Text: "timed out after 300ms"}, result.Failure); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestAnAgentMayFlushWhileItIsEnded(t *testing.T) {
	p := profile(t, "obeys-sigterm")
	sink := &recorder{}
	ctx, hangUp := context.WithCancelCause(t.Context())
	sink.onPartial = func(_ context.Context, p Partial) error {
		if p.Text == "ready" {
			hangUp(errors.New("the client closed the connection"))
		}
		return nil
	}
	result, err := Run(ctx, Turn{Message: "hi"}, Options{Profile: p, Sink: sink})
	if err == nil || err.Error() != "the caller stopped waiting: the client closed the connection" || result.Succeeded {
		t.Errorf("%+v, %v", result, err)
	}
	if diff := cmp.Diff([]string{"ready"}, sink.texts()); diff != "" { // the caller is gone and takes nothing more
		t.Errorf("partials (-want +got):\n%s", diff)
	}

	// The turn's time may be up before the agent is ready.
	for p.Timeout = 100 * time.Millisecond; ; p.Timeout *= 2 {
		sink = &recorder{}
		result = run(t, &p, sink, nil)
		if len(sink.partials) > 0 {
			break
		}
	}
	if diff := cmp.Diff([]string{"ready", "flushed"}, sink.texts()); diff != "" || result.ExitCode != 124 {
		t.Errorf("%+v, partials (-want +got):\n%s", result, diff)
	}
}

func TestATimeoutDeniesWhatIsOpen(t *testing.T) {
	c, out := talk(t, newHeldDecider())
	c.takeLine(t.Context(), []byte(requestLine("1", "")), nil)
	c.deny(errTimeout)
	want := `"behavior":"deny","message":"denied: the turn is being ended: the turn's time ran out"}` + "\n"
	if got, told := <-out.lines, <-out.told; !strings.HasSuffix(got, want) || told.Cause != chain.Timeout {
		t.Errorf("the open request got %s, told %+v", got, told)
	}
	c.takeLine(t.Context(), []byte(requestLine("2", "")), nil)
	if got := <-out.lines; !strings.HasSuffix(got, want) {
		t.Errorf("a later request got %s", got)
	}
}

func TestA6_ACallerWhoHangsUpEndsTheAgent(t *testing.T) {
	for _, mode := range []string{"waits", "ignores-sigterm", "asks", "prints-much"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := permitted(printing(t, mode))
			p.KillGrace = 100 * time.Millisecond
			ctx, hangUp := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer hangUp()
			sink := &recorder{onPartial: func(ctx context.Context, _ Partial) error { <-ctx.Done(); return ctx.Err() }}
			_, err := Run(ctx, Turn{Message: "hi"}, Options{Profile: p, Sink: sink, Decider: newHeldDecider()})
			if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "the caller stopped waiting: ") {
				t.Errorf("Run = %v", err)
			}
		})
	}
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	if _, err := Run(ctx, Turn{Message: "hi"}, Options{Profile: profile(t, "waits"), Sink: &recorder{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a caller gone before: %v", err)
	}
}

func TestA6_ASinkThatFailsEndsTheAgent(t *testing.T) {
	for name, c := range map[string]struct {
		sink *recorder
		want string
	}{
		"by a partial":  {&recorder{onPartial: func(context.Context, Partial) error { return errors.New("write: broken pipe") }}, "the turn's events could not be delivered: write: broken pipe"},
		"by a panic":    {&recorder{onPartial: func(context.Context, Partial) error { panic("nil map") }}, "the turn's events could not be delivered: the turn's reader panicked: nil map"},
		"by a response": {&recorder{onAnswer: func(context.Context, Response) error { return errors.New("write: broken pipe") }}, "the turn's events could not be delivered: write: broken pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := permitted(printing(t, "prints-much-and-waits", requestLine("1", ""), requestLine("2", "")))
			result, err := Run(t.Context(), Turn{Message: "hi"}, Options{Profile: p, Sink: c.sink, Decider: allowAll()})
			if err == nil || err.Error() != c.want || result.Succeeded || result.ExitCode != 143 {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

func TestA6_ASinkThatNeverTakesItsEventsEndsWithTheTurnsTime(t *testing.T) {
	p := printing(t, "lines", `{"type":"partial","text":"p"}`)
	p.Timeout, p.KillGrace = 200*time.Millisecond, 0
	sink := &recorder{onPartial: func(ctx context.Context, _ Partial) error { <-ctx.Done(); return context.Cause(ctx) }}
	_, err := Run(t.Context(), Turn{Message: "hi"}, Options{Profile: p, Sink: sink})
	if !errors.Is(err, errTimeout) {
		t.Errorf("Run = %v", err)
	}
}

func TestA6_NothingOfTheGroupOutlivesTheTurn(t *testing.T) {
	p := profile(t, "leaves-child")
	result := run(t, &p, &recorder{}, nil)
	pid, err := strconv.Atoi(result.Text)
	if err != nil || !result.Succeeded {
		t.Fatalf("%+v", result)
	}
	eventually(t, func() bool { return !alive(pid) }, "the child is alive")
}

// eventually waits for the kernel to finish with a process.
func eventually(t *testing.T, done func() bool, what string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func TestA6_ADescendantThatLeftTheGroupCannotHoldTheTurn(t *testing.T) {
	for _, mode := range []string{"leaves-escaped-child", "leaves-chatty-child"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			// The descendant also holds the agent's input, and does not read it.
			turn := Turn{Message: strings.Repeat("m", 1<<20)}
			result, err := Run(t.Context(), turn, Options{Profile: profile(t, mode), Sink: &recorder{}})
			if err != nil || !result.Succeeded {
				t.Fatalf("%+v, %v", result, err)
			}
			pid, err := strconv.Atoi(result.Text)
			if err != nil {
				t.Fatal(err)
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		})
	}
}

func TestA6_WhatAnEndedAgentLeftInItsPipeIsReadAndNoMore(t *testing.T) {
	for name, c := range map[string]struct {
		left int
		want string
	}{"all of it": {100, "said before"}, "no more than a pipe holds": {4, "said"}} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = errors.Join(r.Close(), w.Close()) }() // the other end stays open until then
			if _, err := w.WriteString("said before"); err != nil {
				t.Fatal(err)
			}
			o := &outlet{file: r, left: c.left}
			o.end()
			got, err := io.ReadAll(o)
			if string(got) != c.want || err != nil {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
}

func TestA6_AnAgentThatLeavesItsOwnGroupIsKilledAllTheSame(t *testing.T) {
	p := profile(t, "changes-group")
	p.Env[agentLines] = strconv.Itoa(syscall.Getpgrp())
	p.KillGrace = 10 * time.Millisecond
	sink := &recorder{}
	for p.Timeout = 100 * time.Millisecond; len(sink.partials) < 2; p.Timeout *= 2 {
		sink.partials = nil
		if result := run(t, &p, sink, nil); result.ExitCode != 124 {
			t.Fatalf("%+v", result)
		}
	}
	for _, said := range sink.texts() { // its child's word, and its own pid
		if pid, err := strconv.Atoi(said); err == nil && alive(pid) || err != nil && said != "deaf" {
			t.Errorf("%s is alive, or no number: %v", said, err)
		}
	}
}

func TestA6_AnAgentThatClosesItsInputIsHeardToItsEnd(t *testing.T) {
	p := permitted(printing(t, "closes-stdin", requestLine("1", ""), `{"type":"partial","text":"still here"}`))
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	sink := &recorder{onAnswer: func(context.Context, Response) error { hangUp(); return nil }}
	_, err := Run(ctx, Turn{Message: "hi"}, Options{Profile: p, Sink: sink, Decider: allowAll()})
	if !errors.Is(err, context.Canceled) || sink.behaviors() != "1=allow" || !errors.Is(sink.responses[0].Undelivered, syscall.EPIPE) {
		t.Errorf("%v, told %+v", err, sink.responses)
	}
}

func TestA6_AnAgentThatNeverReadsIsHeardToItsEnd(t *testing.T) {
	p := permitted(profile(t, "fills-its-input"))
	if result := run(t, &p, &recorder{}, nobody(t)); result.Text != "never read" || !result.Succeeded {
		t.Errorf("%+v", result)
	}
}

func TestA7_AnAgentThatAsksWithoutEndIsEnded(t *testing.T) {
	p := permitted(profile(t, "asks-without-end"))
	result := run(t, &p, &recorder{}, nobody(t))
	want := &chain.Failure{Cause: chain.Oversize, Text: "asked for permission more than 10000 times in one turn"}
	if diff := cmp.Diff(want, result.Failure); diff != "" || result.ExitCode != 1 {
		t.Errorf("exit %d, failure (-want +got):\n%s", result.ExitCode, diff)
	}
}

func TestA8_AProcessEndsWithItsOwnCode(t *testing.T) {
	p := profile(t, "dies-by-signal")
	result := run(t, &p, &recorder{}, nil)
	if diff := cmp.Diff(&chain.Failure{Cause: chain.Signal, Text: "was ended by signal killed"}, result.Failure); diff != "" || result.ExitCode != 137 {
		t.Errorf("exit %d, failure (-want +got):\n%s", result.ExitCode, diff)
	}
	p = profile(t, "complains")
	result = run(t, &p, &recorder{}, nil)
	want := &chain.Failure{
		Cause: chain.Exit, Text: "exited with status 3",
		Detail: "stderr: …" + strings.Repeat("x", 2048-28) + " module not found: left-pad",
	}
	if diff := cmp.Diff(want, result.Failure); diff != "" || result.ExitCode != 3 {
		t.Errorf("exit %d, failure (-want +got):\n%s", result.ExitCode, diff)
	}
}

func TestAProgramThatCannotBeStartedIsAFailureThatSaysWhy(t *testing.T) {
	plain := t.TempDir() + "/plain"
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir() + "/broken"
	if err := os.WriteFile(broken, []byte("\x7fELF"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		command, cwd string
		code         int
		want         string
	}{
		"nowhere":       {"/no/such/agent", "", 127, `could not be started: program "/no/such/agent" does not exist, or the interpreter that it names does not`},
		"bare":          {"no-such-agent", "", 127, `could not be started: program "no-such-agent" does not exist, or the interpreter that it names does not`},
		"no directory":  {"/bin/true", "/no/such/dir", 127, `could not be started: its directory "/no/such/dir" does not exist`},
		"a file":        {"/bin/true", plain, 127, `could not be started: its directory "` + plain + `" does not exist`},
		"not a program": {plain, "", 126, `could not be started: program "` + plain + `" is not executable`},
		"not this kind": {broken, "", 126, `could not be started: program "` + broken + `": exec format error`},
	} {
		t.Run(name, func(t *testing.T) {
			p := profile(t, "waits")
			p.Command, p.Cwd = c.command, c.cwd
			found := p.Findable()
			if name == "not this kind" { // only the system can tell
				if found != nil {
					t.Errorf("findable says %v", found)
				}
			} else if found == nil || found.Error() != c.want {
				t.Errorf("findable says %v", found)
			}
			result := run(t, &p, &recorder{}, nil)
			if result.Failure == nil || result.Failure.Cause != chain.Spawn || result.Failure.Text != c.want || result.Failure.Detail == "" || result.ExitCode != c.code || result.Succeeded {
				t.Errorf("exit %d, %+v", result.ExitCode, result.Failure)
			}
		})
	}
}

func TestFindableIsSilentOnWhatATurnDecides(t *testing.T) {
	p := profile(t, "waits")
	if err := p.Findable(); err != nil {
		t.Errorf("of a program that is there it says %v", err)
	}
	p.Cwd = "/no/such/{{SESSION_NAME}}"
	if err := p.Findable(); err != nil {
		t.Errorf("of a directory of the session's it says %v", err)
	}
}

func TestWhatCannotBeRunIsRefusedBeforeAnythingStarts(t *testing.T) {
	good := Options{Profile: profile(t, "waits"), Sink: &recorder{}}
	for name, c := range map[string]struct {
		turn  Turn
		spoil func(*Options)
		want  string
		turns bool
	}{
		"an empty turn":    {Turn{}, func(*Options) {}, "invalid turn: the turn is empty: it has neither a message nor attachments", true},
		"a session option": {Turn{Message: "m", SessionID: "-x"}, func(o *Options) { o.Profile.Args = []string{"{{SESSION_ID}}"} }, `agent "tester": args[0]: invalid turn: it would become the option "-x"`, true},
		"no sink":          {Turn{Message: "m"}, func(o *Options) { o.Sink = nil }, `agent "tester": sink: is missing`, false},
		"no decider":       {Turn{Message: "m"}, func(o *Options) { o.Profile.Permission = true }, `agent "tester": permission: there is no decider for requests`, false},
		"a negative limit": {Turn{Message: "m"}, func(o *Options) { o.MaxLineBytes = -1 }, `agent "tester": a limit is negative`, false},
		"a bad profile":    {Turn{Message: "m"}, func(o *Options) { o.Profile.Timeout = 0 }, `agent "tester": timeout_secs: 0s is not between 0 s and 24h0m0s`, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			c.spoil(&o)
			result, err := Run(t.Context(), c.turn, o)
			if err == nil || err.Error() != c.want || errors.Is(err, ErrTurn) != c.turns || result.Succeeded {
				t.Errorf("%+v, %v, want %q", result, err, c.want)
			}
		})
	}
}

func TestAnAgentIsRunWhereAndAsItsProfileSays(t *testing.T) {
	p := profile(t, "says-what-it-got")
	p.Args, p.Env["A"], p.Environ = []string{"a b", "{{SESSION_ID}}"}, "1", []string{"LANG=C", "SECRET=s"}
	result, err := Run(t.Context(), Turn{Message: "hi", SessionID: "s-1", FromUser: "u"}, Options{Profile: p, Sink: &recorder{}})
	if err != nil || !result.Succeeded {
		t.Fatal(result, err)
	}
	for _, want := range []string{
		`"argv":["a b","s-1"]`, `"env":["A=1","` + agentMode + `=says-what-it-got","LANG=C"]`, `"dir":"` + p.Dir + `"`,
		`"Message":"hi","SessionID":"s-1","FromUser":"u","SessionName":"default","Attachments":null,"Permission":false`,
	} {
		if !strings.Contains(result.Text, want) {
			t.Errorf("the agent says %s, want %s", result.Text, want)
		}
	}
}

func TestTheLogIsToldOfWhatIsIgnoredAndNotFlooded(t *testing.T) {
	for _, c := range []struct {
		level slog.Level
		quote bool
	}{{slog.LevelInfo, false}, {slog.LevelDebug, true}} {
		var log bytes.Buffer
		lines := []string{`{"type":"partial","session_id":"a"}`, `{"type":"partial","session_id":"b"}`, `{"type":"partial","session_id":"c/d"}`}
		for range 100 {
			lines = append(lines, "password=hunter2", `{"type":"partial","session_id":"b"}`)
		}
		p := printing(t, "lines", lines...)
		o := Options{Profile: p, Sink: &recorder{}, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: c.level}))}
		result, err := Run(t.Context(), Turn{Message: "hi"}, o)
		if err != nil || result.Ignored != 100 {
			t.Errorf("%+v, %v", result, err)
		}
		if n := strings.Count(log.String(), "\n"); n != maxLogged || !strings.Contains(log.String(), "ignored a line of an agent") {
			t.Errorf("logged %d times", n)
		}
		if strings.Contains(log.String(), "hunter2") != c.quote {
			t.Errorf("at %v the log says %s", c.level, log.String())
		}
		for _, want := range []string{"kept the first session_id of an agent that named another one later", "dropped an invalid session_id of an agent", "agent=tester"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %q", want)
			}
		}
	}
}

func TestA14_WhatAReferenceStandsForIsInNoFailureAndNoLog(t *testing.T) {
	const secret = "hunter2-hunter2"
	const unshown = "what it wrote " + output.Repeats
	long := strings.Repeat("0123456789abcdef", 1024)
	for name, c := range map[string]struct {
		mode  string
		lines []string
		want  chain.Failure
		log   string // substring of the log
	}{
		"on stderr": {"grumbles", []string{"401 with " + secret}, chain.Failure{Cause: chain.Exit, Text: "exited with status 3", Detail: "stderr: " + unshown}, ""},
		"on stderr before so much that it is gone":  {"grumbles", []string{secret, strings.Repeat("e", 64<<10)}, chain.Failure{Cause: chain.Exit, Text: "exited with status 3", Detail: "stderr: " + unshown}, ""},
		"one that is longer than what is kept":      {"grumbles", []string{long}, chain.Failure{Cause: chain.Exit, Text: "exited with status 3", Detail: "stderr: " + unshown}, ""},
		"something that only looks like it":         {"grumbles", []string{"hunter2-hunter3"}, chain.Failure{Cause: chain.Exit, Text: "exited with status 3", Detail: "stderr: hunter2-hunter3"}, ""},
		"what is too short not to be a chance":      {"grumbles", []string{"short"}, chain.Failure{Cause: chain.Exit, Text: "exited with status 3", Detail: "stderr: short"}, ""},
		"what every agent is told, under any name":  {"grumbles", []string{"/home/of/all"}, chain.Failure{Cause: chain.Exit, Text: "exited with status 3", Detail: "stderr: /home/of/all"}, ""},
		"what the profile says itself":              {"grumbles", []string{"said-openly"}, chain.Failure{Cause: chain.Exit, Text: "exited with status 3", Detail: "stderr: said-openly"}, ""},
		"in an error":                               {"lines", []string{`{"type":"error","message":"401 with hunter2\u002dhunter2"}`}, chain.Failure{Cause: chain.Error, Text: "reported an error that " + output.Repeats}, ""},
		"in a line that is none, and in a type too": {"lines", []string{"password=" + secret, `{"type":"hunter2\u002dhunter2"}`, `{"type":"error"}`}, chain.Failure{Cause: chain.Error, Text: "reported an error without a message"}, "it " + output.Repeats},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			p := printing(t, c.mode, c.lines...)
			p.EnvAllowlist = []string{"TOKEN", "SHORT", "KEY", "PLACE"}
			p.Environ = []string{"TOKEN=" + secret, "SHORT=short", "KEY=" + long, "PLACE=/home/of/all", "HOME=/home/of/all"}
			for _, name := range p.EnvAllowlist {
				p.Env["MY_"+name] = "Bearer ${" + name + "}"
			}
			p.Env["OWN"] = "said-openly"
			result, err := Run(t.Context(), Turn{Message: "hi"}, Options{
				Profile: p, Sink: &recorder{}, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&c.want, result.Failure); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			if said := log.String(); strings.Contains(said, "hunter2") || !strings.Contains(said, c.log) {
				t.Errorf("the log says %s", said)
			}
		})
	}
}

func TestA6_TwoHundredTurnsAtOnceLeaveNothingBehind(t *testing.T) {
	const turns = 200
	p := permitted(profile(t, "asks"))
	before := descriptors(t)
	var asked, all sync.WaitGroup
	asked.Add(turns)
	d := deciderFunc(func(context.Context, *PermissionRequest, *chain.Request) Answer {
		asked.Done()
		asked.Wait() // all two hundred ask at the same time
		return Answer{Behavior: Allow}
	})
	for range turns {
		all.Go(func() {
			result, err := Run(t.Context(), Turn{Message: "hi"}, Options{Profile: p, Sink: &recorder{}, Decider: d})
			if err != nil || result.Text != "ran" {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
	all.Wait()
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("a child is left: %v", err)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}
