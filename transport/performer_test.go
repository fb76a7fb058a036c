package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// hookWord, as the first argument, makes the test binary a hook. Its steps
// follow.
const hookWord = "hook"

// lifetime ends a hook that a failed test left behind.
const lifetime = time.Minute

// performer is the test binary as a well-behaved or hostile subprocess. It
// performs its steps in order and exits with status 0.
type performer struct {
	stdin  *bufio.Reader
	read   []byte // result of the last read
	before []byte // result of the read before it
}

func newPerformer() *performer { return &performer{stdin: bufio.NewReader(os.Stdin)} }

// The most common answers.
const (
	sayAllow     = `say:{"decision":"allow"}`
	sayAllowLine = sayAllow + "\n"
)

func (h *performer) run(steps []string) {
	for n, step := range steps {
		verb, arg, _ := strings.Cut(step, ":")
		switch verb {
		case "each": // perform the remaining steps for each line
			for h.line() {
				h.run(steps[n+1:])
			}
			return
		case "obey": // perform the steps in the input of each envelope
			for h.line() {
				var envelope struct{ Input []string }
				must(json.Unmarshal(h.read, &envelope))
				h.run(envelope.Input)
			}
			return
		default:
			h.step(verb, arg)
		}
	}
}

func (h *performer) step(verb, arg string) {
	switch verb {
	case "read": // read all of stdin
		all, err := io.ReadAll(h.stdin)
		must(err)
		h.read = all
	case "take": // read at most that many bytes of stdin
		must2(os.Stdin.Read(make([]byte, number(arg))))
	case "say":
		must2(os.Stdout.WriteString(arg))
	case "bound": // answer with these fields and the id of the current call
		h.answerTo(h.read, arg)
	case "stale": // the same with the id of the previous call
		h.answerTo(h.before, arg)
	case "file": // write a file's contents to stdout
		must2(os.Stdout.Write(must2(os.ReadFile(arg))))
	case "endless": // repeat it until stdout is closed
		block := []byte(strings.Repeat(arg, 4096/len(arg)))
		for {
			must2(os.Stdout.Write(block))
		}
	case "grumble":
		must2(os.Stderr.WriteString(arg))
	case "flood": // write that many bytes to stderr
		for range number(arg) / 4096 {
			must2(os.Stderr.Write(bytes.Repeat([]byte("e"), 4096)))
		}
	case "digest": // deny, with a digest of what was read
		deny(fmt.Sprintf("%d bytes %x", len(h.read), sha256.Sum256(h.read)))
	case "facts": // deny, with the facts of this process
		deny(string(must2(json.Marshal(newFacts()))))
	case "close":
		must(syscall.Close(number(arg)))
	case "wait":
		time.Sleep(lifetime)
		exit(97)
	case "signal": // send itself a signal
		must(syscall.Kill(os.Getpid(), syscall.Signal(number(arg))))
		time.Sleep(lifetime)
	case "desert": // leave its group for its parent's
		must(syscall.Setpgid(0, must2(syscall.Getpgid(os.Getppid()))))
	case "deaf": // ignore all signals that ask it to stop
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	case "exit":
		exit(number(arg))
	case "mark": // create a file, to show how far it has come
		must(os.WriteFile(arg+".new", []byte(strconv.Itoa(os.Getpid())), 0o600))
		must(os.Rename(arg+".new", arg)) // atomic, so that nobody reads half a mark
	case "await": // wait for a mark
		for end := time.Now().Add(lifetime); !exists(arg) && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	case "meet": // DIR,N: wait until N processes have met
		dir, n, _ := strings.Cut(arg, ",")
		h.step("mark", filepath.Join(dir, strconv.Itoa(os.Getpid())))
		for end := time.Now().Add(lifetime); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if len(must2(os.ReadDir(dir))) >= number(n) {
				return
			}
		}
	case "child": // FDS,MARK: start a child that keeps these descriptors open
		h.child(arg, nil)
	case "daemon": // the same, in its own session
		h.child(arg, &syscall.SysProcAttr{Setsid: true})
	default:
		panic("no such step: " + verb)
	}
}

func (h *performer) line() bool {
	line, err := h.stdin.ReadBytes('\n')
	h.before, h.read = h.read, line
	return err == nil
}

// answerTo answers the call in an envelope that has an id.
func (*performer) answerTo(envelope []byte, fields string) {
	var call struct {
		ID string `json:"webhook_id"`
	}
	must(json.Unmarshal(envelope, &call))
	must2(fmt.Printf("{%s,\"webhook_id\":%q}\n", fields, call.ID))
}

func (*performer) child(arg string, sys *syscall.SysProcAttr) {
	fds, mark, _ := strings.Cut(arg, ",")
	c := exec.CommandContext(context.Background(), must2(os.Executable()), hookWord, "mark:"+mark, "wait")
	c.SysProcAttr = sys
	for _, fd := range fds {
		switch fd {
		case '0':
			c.Stdin = os.Stdin
		case '1':
			c.Stdout = os.Stdout
		case '2':
			c.Stderr = os.Stderr
		}
	}
	must(c.Start())
	for !exists(mark) {
		time.Sleep(time.Millisecond)
	}
}

func deny(reason string) {
	o := chain.Outcome{Decision: chain.Deny, Reason: reason}
	must2(os.Stdout.Write(append(o.AppendJSON(nil), '\n')))
}

// must ends a hook whose reader is gone, and panics if the test itself is
// wrong.
func must(err error) {
	if errors.Is(err, syscall.EPIPE) {
		exit(0)
	}
	if err != nil {
		panic(err)
	}
}

func must2[T any](v T, err error) T {
	must(err)
	return v
}

// exit ends a hook at once: with the race detector, os.Exit takes a second.
func exit(status int) { syscall.Exit(status) }

func number(s string) int { return must2(strconv.Atoi(s)) }

// facts are what a hook sees of itself.
type facts struct {
	PID, Group int
	Dir        string
	Argv, Env  []string
	Inherited  []string // descriptors other than 0, 1 and 2
	Blocking   []bool   // stdin, stdout, stderr
}

func newFacts() facts {
	f := facts{PID: os.Getpid(), Group: syscall.Getpgrp(), Dir: must2(os.Getwd()), Argv: os.Args, Env: os.Environ()}
	slices.Sort(f.Env)
	for _, entry := range must2(os.ReadDir(descriptors)) {
		// An inherited descriptor cannot have close-on-exec set. One that this
		// program has opened itself has it.
		fd := number(entry.Name())
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if fd > 2 && errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			what, _ := os.Readlink(descriptors + "/" + entry.Name())
			f.Inherited = append(f.Inherited, what)
		}
	}
	for fd := range 3 {
		flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
		f.Blocking = append(f.Blocking, flags&syscall.O_NONBLOCK == 0)
	}
	return f
}

// self is the command line of the test binary as a hook.
func self(tb testing.TB, steps ...string) []string {
	tb.Helper()
	path, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return append([]string{path, hookWord}, steps...)
}

// request is an envelope for the event with the given input.
func request(tb testing.TB, event chain.Event, input string) *chain.Request {
	tb.Helper()
	text := `{"hook_schema":1,"event":"` + event.String() + `","workspace":"/repo","agent_id":"agent-1",` +
		`"tool_call_id":"call-1","tool_name":"shell","input":` + input
	if event == chain.PostToolUse {
		text += `,"output":"done","is_error":false`
	}
	req, err := chain.ParseRequest([]byte(text + "}"))
	if err != nil {
		tb.Fatalf("ParseRequest: %v", err)
	}
	return req
}

// call is a call with that much time.
func call(req *chain.Request, allowed time.Duration) chain.Call {
	return chain.Call{Request: req, Deadline: time.Now().Add(allowed), Allowed: allowed, Late: chain.Timeout}
}

// plenty is more time than any test needs.
const plenty = 50 * time.Second

// plain is a call with plenty of time.
func plain(tb testing.TB) chain.Call {
	tb.Helper()
	return call(request(tb, chain.PreToolUse, `{"command":"ls"}`), plenty)
}

// soon fails the test if what started at began has taken as long as a hostile
// hook wants it to.
func soon(t *testing.T, began time.Time) {
	t.Helper()
	if took := time.Since(began); took > lifetime/2 {
		t.Errorf("took %v", took)
	}
}

// eventually waits until yes returns true.
func eventually(tb testing.TB, what string, yes func() bool) {
	tb.Helper()
	for end := time.Now().Add(plenty); !yes(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("still not: %s", what)
		}
	}
}

// marked waits for a hook's mark and returns the pid of the process that left
// it.
func marked(tb testing.TB, mark string) int {
	tb.Helper()
	pid := 0
	eventually(tb, "a hook left its mark", func() bool {
		text, err := os.ReadFile(mark)
		pid, _ = strconv.Atoi(string(text))
		return err == nil && pid > 0
	})
	return pid
}

// runs reports whether the process exists and has not exited.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// dies waits for a killed process to exit. It polls, since only the parent is
// notified.
func dies(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "the process has gone", func() bool { return !runs(pid) })
}
