package agentproc

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hookgate/hookgate/chain"
)

// The test binary is its own agent: if agentMode is set, it behaves as that
// mode says and runs no tests.
const (
	agentMode  = "HOOKGATE_TEST_AGENT"
	agentLines = "HOOKGATE_TEST_LINES" // a JSON array of what "lines" prints
	agentExit  = "HOOKGATE_TEST_EXIT"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(agentMode); mode != "" {
		beAgent(mode)
		exit(0)
	}
	goleak.VerifyTestMain(m)
}

// exit ends the process at once. os.Exit would print to stderr when tests are
// run with coverage.
func exit(code int) { syscall.Exit(code) }

// beAgent is the agent's main.
func beAgent(mode string) {
	switch mode {
	case "lines":
		readTurn()
		printLines()
		code, _ := strconv.Atoi(os.Getenv(agentExit))
		exit(code)
	case "lines-then-wait":
		readTurn()
		printLines()
		wait()
	case "says-what-it-got":
		a := mustReadTurn()
		text, _ := json.Marshal(map[string]any{"argv": os.Args[1:], "env": os.Environ(), "dir": workingDir(), "turn": a.Turn, "more": afterTurn(a)})
		must(a.Result(string(text), nil))
	case "asks":
		a := mustReadTurn()
		must(a.Partial(Partial{Text: "asking"}))
		must(a.Result(verdict(a.Ask(context.Background(), PermissionRequest{ToolName: "Bash", Input: json.RawMessage(`{"command":"ls"}`)})), nil))
	case "asks-of-many":
		asksOfMany(mustReadTurn())
	case "asks-raw": // prints its own lines, then all responses
		readTurn()
		printLines()
		n := strings.Count(os.Getenv(agentLines), typePermissionRequest)
		for range n {
			fmt.Printf(`{"type":"partial","text":%s}`+"\n", chain.AppendString(nil, readRaw()))
		}
	case "ignores-sigterm":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println(`{"type":"partial","text":"deaf"}`)
		wait()
	case "obeys-sigterm":
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		fmt.Println(`{"type":"partial","text":"ready"}`)
		<-term
		fmt.Println(`{"type":"partial","text":"flushed"}`)
	case "waits":
		wait()
	case "leaves-child":
		child("waits", false)
	case "leaves-escaped-child":
		child("waits", true)
	case "leaves-chatty-child":
		child("chats", true)
	case "chats":
		for {
			fmt.Println(`{"type":"partial","text":"chat"}`)
		}
	case "closes-stdin":
		readTurn()
		must(os.Stdin.Close())
		printLines()
		wait()
	case "fills-its-input": // asks and never reads the responses
		readTurn()
		for i := range 3000 {
			fmt.Printf(`{"type":"permission_request","request_id":"%d","tool_name":"Bash","input":[]}`+"\n", i)
		}
		fmt.Println(`{"type":"result","text":"never read"}`)
	case "asks-without-end":
		readTurn()
		for i := 0; ; i++ {
			fmt.Printf(`{"type":"permission_request","request_id":"%d","tool_name":"Bash","input":[]}`+"\n", i)
		}
	case "prints-much":
		printMuch()
	case "prints-much-and-waits":
		readTurn()
		printMuch()
		printLines()
		wait()
	case "changes-group":
		child("ignores-sigterm", false) // stays in the group, and so keeps its number in use
		leader, _ := strconv.Atoi(os.Getenv(agentLines))
		must(syscall.Setpgid(0, leader))
		fmt.Printf(`{"type":"partial","text":"%d"}`+"\n", os.Getpid())
		wait()
	case "dies-by-signal":
		must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
		wait()
	case "complains":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 5000)+"\nmodule not found: left-pad")
		exit(3)
	case "grumbles":
		readTurn()
		os.Stdout = os.Stderr
		printLines()
		exit(3)
	default:
		fmt.Fprintf(os.Stderr, "unknown mode %q\n", mode)
		exit(64)
	}
}

// printMuch prints four times maxWaiting.
func printMuch() {
	for range 64 {
		fmt.Printf(`{"type":"partial","text":"%s"}`+"\n", strings.Repeat("p", maxWaiting/16))
	}
}

func asksOfMany(a *Agent) {
	const n = 50
	verdicts := make(chan string, n)
	for i := range n {
		go func() {
			input := fmt.Appendf(nil, `{"n":%d}`, i)
			answer, err := a.Ask(context.Background(), PermissionRequest{ToolName: "Db", Input: input})
			if err != nil || answer.Behavior != Allow || string(answer.UpdatedInput) != string(input) {
				verdicts <- fmt.Sprintf("%d got %v %s %v", i, answer.Behavior, answer.UpdatedInput, err)
				return
			}
			verdicts <- ""
		}()
	}
	wrong := ""
	for range n {
		wrong += <-verdicts
	}
	must(a.Result("wrong: "+wrong, nil))
}

// verdict is what an agent does with an answer.
func verdict(answer Answer, err error) string {
	switch {
	case err != nil:
		return "not run: " + err.Error()
	case answer.Behavior != Allow:
		return "not run: " + answer.Message
	case answer.UpdatedInput != nil:
		return "ran " + string(answer.UpdatedInput)
	}
	return "ran"
}

// wait waits to be killed. It expects a signal, so that the runtime does not
// report a deadlock.
func wait() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
	select {}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		exit(70)
	}
}

func mustReadTurn() *Agent {
	a, err := ReadTurn(os.Stdin, os.Stdout)
	must(err)
	return a
}

// readRaw reads one line, without using the package under test.
func readRaw() string {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := os.Stdin.Read(one)
		if n == 1 && one[0] == '\n' {
			return string(line)
		}
		if err != nil {
			return string(line) + "<end>"
		}
		line = append(line, one[:n]...)
	}
}

func readTurn() { readRaw() }

// afterTurn is what follows the turn line on stdin in a turn without
// permission.
func afterTurn(a *Agent) string {
	if a.Turn.Permission {
		return "not looked"
	}
	more, err := readLine(a.in, maxBridgeLine)
	return fmt.Sprintf("%q %v", more, err)
}

func workingDir() string {
	dir, err := os.Getwd()
	must(err)
	return dir
}

func printLines() {
	var lines []string
	must(json.Unmarshal([]byte(os.Getenv(agentLines)), &lines))
	for _, line := range lines {
		_, err := os.Stdout.WriteString(line)
		must(err)
	}
}

// child starts a process that inherits all three streams, and prints its pid.
func child(mode string, escaped bool) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{agentMode + "=" + mode}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: escaped}
	must(cmd.Start())
	fmt.Printf(`{"type":"result","text":"%d"}`+"\n", cmd.Process.Pid)
}

// profile is a profile that runs the test binary in a mode.
func profile(t *testing.T, mode string) Profile {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := DefaultProfile()
	p.Name, p.Dir, p.Command = "tester", t.TempDir(), self
	p.Env = map[string]string{agentMode: mode}
	p.Timeout, p.KillGrace = time.Minute, time.Minute
	return p
}

// printing is a profile whose agent prints lines.
func printing(t *testing.T, mode string, lines ...string) Profile {
	t.Helper()
	p := profile(t, mode)
	for i, line := range lines {
		lines[i] = line + "\n"
	}
	text, err := json.Marshal(lines)
	if err != nil {
		t.Fatal(err)
	}
	p.Env[agentLines] = string(text)
	return p
}

// recorder is a sink that records.
type recorder struct {
	partials  []Partial
	responses []Response
	onPartial func(ctx context.Context, p Partial) error
	onAnswer  func(ctx context.Context, r Response) error
}

func (r *recorder) Partial(ctx context.Context, p Partial) error {
	r.partials = append(r.partials, p)
	if r.onPartial != nil {
		return r.onPartial(ctx, p)
	}
	return nil
}

func (r *recorder) Responded(ctx context.Context, answered Response) error {
	r.responses = append(r.responses, answered)
	if r.onAnswer != nil {
		return r.onAnswer(ctx, answered)
	}
	return nil
}

func (r *recorder) texts() []string {
	var texts []string
	for _, p := range r.partials {
		texts = append(texts, p.Text)
	}
	return texts
}

// behaviors are the responses to the agent, in order, with the cause of those
// that were not decided.
func (r *recorder) behaviors() string {
	var told []string
	for _, a := range r.responses {
		one := a.RequestID + "=" + a.Answer.Behavior.String()
		if a.Cause != chain.NoCause {
			one += "/" + a.Cause.String()
		}
		told = append(told, one)
	}
	return strings.Join(told, " ")
}

// deciderFunc makes a function a Decider.
type deciderFunc func(ctx context.Context, req *PermissionRequest, envelope *chain.Request) Answer

func (f deciderFunc) Decide(ctx context.Context, req *PermissionRequest, envelope *chain.Request) Answer {
	return f(ctx, req, envelope)
}

// allowAll allows every request.
func allowAll() Decider {
	return deciderFunc(func(context.Context, *PermissionRequest, *chain.Request) Answer { return Answer{Behavior: Allow} })
}

// nobody is a decider that must not be asked.
func nobody(t *testing.T) Decider {
	t.Helper()
	return deciderFunc(func(_ context.Context, r *PermissionRequest, _ *chain.Request) Answer {
		t.Errorf("the decider was asked about request %q", r.RequestID)
		return Answer{Behavior: Allow}
	})
}

// run runs a turn that must end by itself.
func run(t *testing.T, p *Profile, sink Sink, d Decider) Result {
	t.Helper()
	result, err := Run(t.Context(), Turn{Message: "hi"}, Options{Profile: *p, Sink: sink, Decider: d})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err != nil || !strings.HasPrefix(state, "Z")
}
