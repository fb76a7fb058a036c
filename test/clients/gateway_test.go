package clients_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookgate/hookgate/test/freeport"
)

// The command itself tells the test's policy what to do.
const (
	denyReason = "the policy of the test says no"
	withheld   = "the policy of the test keeps this"
)

// policy is a remote hook. It denies a command that contains please-deny,
// changes one that contains please-change, replaces the result of one that
// contains please-replace, and withholds that of one that contains
// please-withhold.
func policy(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Event  string
			Input  json.RawMessage
			Output json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, decide(call.Event, string(call.Input), call.Output))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func decide(event, input string, output json.RawMessage) string {
	before := event == "pre_tool_use"
	switch {
	case before && strings.Contains(input, "please-deny"):
		return in(`{"decision":"deny","reason":%s}`, denyReason)
	case before && strings.Contains(input, "please-change"):
		return `{"decision":"modify","input":` + strings.ReplaceAll(input, "ran-original", "ran-changed") + `}`
	case !before && strings.Contains(input, "please-withhold"):
		return in(`{"decision":"deny","reason":%s}`, withheld)
	case !before && strings.Contains(input, "please-replace"):
		return `{"decision":"replace","output":` + strings.ReplaceAll(string(output), "42-shown", "43-shown") + `}`
	}
	return `{"decision":"allow"}`
}

// gateway is a real gateway process.
type gateway struct {
	address string
	process *os.Process
}

// startGateway starts a gateway and waits until it answers.
func startGateway(t *testing.T) gateway {
	t.Helper()
	dir := t.TempDir()
	hooks := filepath.Join(dir, "hooks.yaml")
	url := policy(t)
	text := fmt.Sprintf("schema: 1\nhooks:\n  - {name: before, url: %q}\n  - {name: after, url: %q, event: post_tool_use}\n", url, url)
	if err := os.WriteFile(hooks, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	main, admin := freeport.Address(t), freeport.Address(t)
	var log bytes.Buffer
	cmd := exec.Command(os.Getenv(gatewayVariable))
	cmd.Env = []string{"HOOKGATE_ADDR=" + main, "HOOKGATE_ADMIN_ADDR=" + admin, "HOOKGATE_CONFIG=" + hooks, "HOOKGATE_LOG_LEVEL=warn"}
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have been killed already
		_ = cmd.Wait()         // its status is that it was killed
		if t.Failed() {
			t.Logf("the gateway's log:\n%s", &log)
		}
	})
	ready(t, "http://"+admin+"/readyz")
	return gateway{"http://" + main, cmd.Process}
}

func ready(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{Timeout: time.Second}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		resp, err := client.Get(url)
		if err == nil {
			_ = resp.Body.Close() // it was only read
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Fatalf("no gateway is ready at %s", url)
}

// killed returns the address of a gateway that was killed.
func killed(t *testing.T) string {
	t.Helper()
	g := startGateway(t)
	if err := g.process.Kill(); err != nil {
		t.Fatal(err)
	}
	return g.address
}

// hanging returns the address of a gateway that is stopped by a signal: it
// accepts connections, but never responds.
func hanging(t *testing.T) string {
	t.Helper()
	g := startGateway(t)
	if err := g.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return g.address
}

// garbage returns the address of a server whose responses are truncated.
func garbage(t *testing.T) string {
	t.Helper()
	return answering(t, http.StatusOK, `{"hookSpecificOutput": {"permissionDec`)
}

// answering returns the address of a server that is not a gateway and gives a
// fixed response.
func answering(t *testing.T, status int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Location", "/")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // a client that is gone makes the test fail elsewhere
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func working(t *testing.T) string {
	t.Helper()
	return startGateway(t).address
}
