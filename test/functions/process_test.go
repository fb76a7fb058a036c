package functions

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the timeout for anything that must happen: no passing test waits
// that long.
const patience = 60 * time.Second

// process is a program, with its child processes, that can be killed and
// restarted.
type process struct {
	t    testing.TB
	dir  string
	env  []string
	argv []string
	// address is where it listens.
	address string

	cmd    *exec.Cmd
	exited chan struct{} // closed once cmd has exited
	said   transcript
}

// start starts the program and waits until it listens. It is killed at the end
// of the test.
func start(t testing.TB, p *process) *process {
	t.Helper()
	p.t = t
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", p.argv[0], p.said.last(4000))
		}
	})
	p.start()
	return p
}

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	p.cmd.Dir = p.dir
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.t.TempDir(), "NO_COLOR=1"}, p.env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = 10 * time.Second
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	cmd, exited := p.cmd, make(chan struct{})
	p.exited = exited
	go func() {
		defer close(exited)
		_ = cmd.Wait() // its status is that it was killed, or is in what it said
	}()
	await(p.t, p.argv[0]+" listens on "+p.address, func() bool {
		select {
		case <-exited: // another program may be what listens there
			p.t.Fatalf("%s exited instead of listening on %s", p.argv[0], p.address)
		default:
		}
		c, err := net.Dial("tcp", p.address)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
}

// kill kills the program and its children, as if the machine had failed.
func (p *process) kill() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.exited
	p.cmd = nil
}

// transcript is the output of a program over all its restarts.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *transcript) last(n int) string {
	text := s.String()
	return text[max(0, len(text)-n):]
}

// await waits until a condition holds, and fails the test if it never does.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// port returns the port of an address.
func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// staged copies files to a new directory, as a deployment does: to maps their
// names there to their sources.
func staged(t testing.TB, to map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for name, from := range to {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.LastIndexByte(name, '/'); i > 0 {
			if err := root.MkdirAll(name[:i], 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := root.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t testing.TB, file, format string, args ...any) {
	t.Helper()
	if err := os.WriteFile(file, fmt.Appendf(nil, format, args...), 0o600); err != nil {
		t.Fatal(err)
	}
}
