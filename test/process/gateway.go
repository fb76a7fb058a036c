// Package process runs the real gateway program for tests.
package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the timeout for anything that should happen.
const patience = 60 * time.Second

// variable names an already built program, for tests that run where they cannot
// build it.
const variable = "HOOKGATE_TEST_GATEWAY"

// Build returns the program that the environment names. Without one it builds
// the module two directories above the test's package.
func Build(t testing.TB) string {
	t.Helper()
	if program := os.Getenv(variable); program != "" {
		return program
	}
	program := filepath.Join(t.TempDir(), "gateway")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", program, "./cmd/gateway")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the gateway cannot be built: %v: %s", err, said)
	}
	return program
}

// Gateway is a running gateway process.
type Gateway struct {
	// URL and Admin are the base URLs of its listeners.
	URL, Admin string

	t     testing.TB
	cmd   *exec.Cmd
	ended chan struct{} // closed once it has ended and err is set
	err   error
	mu    sync.Mutex
	log   bytes.Buffer
}

// Start starts the program with the given HOOKGATE_ variables, named without
// that prefix, and returns once it serves. It is killed at the end of the test.
func Start(t testing.TB, program string, variables map[string]string) *Gateway {
	t.Helper()
	g := &Gateway{t: t, cmd: exec.CommandContext(context.Background(), program), ended: make(chan struct{})}
	g.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOOKGATE_ADDR=127.0.0.1:0", "HOOKGATE_ADMIN_ADDR=127.0.0.1:0"}
	for name, value := range variables {
		g.cmd.Env = append(g.cmd.Env, "HOOKGATE_"+name+"="+value)
	}
	log, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	serving := make(chan struct{})
	go g.read(log, serving)
	t.Cleanup(func() {
		g.Stop()
		if t.Failed() {
			t.Logf("the log of the gateway at %s:\n%s", g.URL, g.Log())
		}
	})
	select {
	case <-serving:
	case <-g.ended:
		t.Fatalf("the gateway ended: %v: %s", g.err, g.Log())
	case <-time.After(patience):
		t.Fatalf("the gateway does not serve: %s", g.Log())
	}
	return g
}

// read collects the log, and closes serving once the log names the listeners.
func (g *Gateway) read(log io.Reader, serving chan<- struct{}) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		g.mu.Lock()
		g.log.Write(append(lines.Bytes(), '\n'))
		g.mu.Unlock()
		var line struct {
			Message string `json:"msg"`
			Addr    string `json:"addr"`
			Admin   string `json:"admin_addr"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "serving" {
			g.URL, g.Admin = "http://"+line.Addr, "http://"+line.Admin
			close(serving)
		}
	}
	g.err = g.cmd.Wait()
	close(g.ended)
}

// Log returns the log so far.
func (g *Gateway) Log() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log.String()
}

// PID returns the process id.
func (g *Gateway) PID() int { return g.cmd.Process.Pid }

// Kill kills it with SIGKILL, like a crash.
func (g *Gateway) Kill() { g.signal(syscall.SIGKILL) }

// Stop shuts it down with SIGTERM.
func (g *Gateway) Stop() { g.signal(syscall.SIGTERM) }

func (g *Gateway) signal(signal syscall.Signal) {
	g.t.Helper()
	if err := g.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		g.t.Error(err)
	}
	select {
	case <-g.ended:
	case <-time.After(patience):
		g.t.Errorf("the gateway does not end: %s", g.Log())
		_ = g.cmd.Process.Kill() // the test has failed already
	}
}

// Answer is an HTTP response, or the error instead of one.
type Answer struct {
	Status int
	Body   string
	Err    error
}

// Do sends a request.
func Do(ctx context.Context, method, url, body string) Answer {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return Answer{Err: err}
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return Answer{Err: err}
	}
	text, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, string(text), errors.Join(err, resp.Body.Close())}
}

// Ask asks the operator's chain about a call in the background.
func (g *Gateway) Ask(ctx context.Context, envelope string) <-chan Answer {
	answer := make(chan Answer, 1)
	go func() { answer <- Do(ctx, http.MethodPost, g.URL+"/v1/decide", envelope) }()
	return answer
}

// Reply answers an approval.
func (g *Gateway) Reply(id, body string) Answer {
	g.t.Helper()
	return Do(g.t.Context(), http.MethodPost, g.URL+"/v1/approvals/"+id, body)
}

// Approval holds the fields of an approval that the tests check.
type Approval struct {
	ID, State string
	AskedBy   string `json:"asked_by"`
	Used      bool
	Waiting   bool
}

// Approvals lists the approvals in a state.
func (g *Gateway) Approvals(state string) ([]Approval, error) {
	got := Do(g.t.Context(), http.MethodGet, g.URL+"/v1/approvals?limit=500&state="+state, "")
	if got.Err != nil || got.Status != http.StatusOK {
		return nil, errors.Join(got.Err, fmt.Errorf("status %d: %s", got.Status, got.Body))
	}
	var list struct{ Approvals []Approval }
	err := json.Unmarshal([]byte(got.Body), &list)
	return list.Approvals, err
}

// Waiting waits until n calls wait for a person.
func (g *Gateway) Waiting(n int) []Approval {
	g.t.Helper()
	var found []Approval
	Eventually(g.t, fmt.Sprintf("%d calls wait", n), func() bool {
		var err error
		found, err = g.Approvals("pending")
		return err == nil && len(found) == n
	})
	return found
}

// Eventually waits until a condition holds that depends on another process.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// File writes a file to a temporary directory and returns its path.
func File(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
