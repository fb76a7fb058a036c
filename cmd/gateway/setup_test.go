package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// standIn answers Codex as a gateway would: it denies removals and allows the
// rest.
func standIn(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if strings.Contains(string(text), "rm -rf") {
			w.Header().Set("X-Hookgate-Decision", "deny")
			w.Header().Set("X-Hookgate-Decision-Id", "1")
			_, _ = io.WriteString(w, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`)
			return
		}
		w.Header().Set("X-Hookgate-Decision", "allow")
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// home gives the user an empty home directory.
func home(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	return dir
}

func TestInitPrintsWhatBelongsIntoTheSettingsAndWritesNothing(t *testing.T) {
	dir := home(t)
	got := commandLine(t, []string{"HOOKGATE_ADDR=0.0.0.0:9999"}, "", "init", "claude-code")
	if got.code != 0 || !strings.Contains(got.stdout, `"url": "http://127.0.0.1:9999/v1/clients/claude-code/PreToolUse"`) || !strings.Contains(got.stdout, `"onFailure": "block"`) {
		t.Errorf("code %d, stdout %s", got.code, got.stdout)
	}
	for _, want := range []string{filepath.Join(dir, ".claude", "settings.json"), "What it cannot guarantee", "2.1.197"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%q is not in %s", want, got.stderr)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it wrote %v, %v", entries, err)
	}
}

func TestInitWritesOnce(t *testing.T) {
	dir := home(t)
	args := []string{"init", "--write", "codex", "--url", "http://127.0.0.1:1", "--program", "/opt/gateway"}
	first := commandLine(t, nil, "", args...)
	if path := filepath.Join(dir, ".codex", "hooks.json"); first.code != 0 || !strings.Contains(first.stderr, path+" was written") || !strings.Contains(first.stderr, "To do by hand: Start codex") {
		t.Errorf("%+v", first)
	}
	second := commandLine(t, nil, "", args...)
	if second.code != 0 || !strings.Contains(second.stderr, "nothing was changed") {
		t.Errorf("%+v", second)
	}
	third := commandLine(t, nil, "", append(args, "--timeout", "5s")...)
	if third.code != 0 || !strings.Contains(third.stderr, "the old file is kept as ") {
		t.Errorf("%+v", third)
	}
}

func TestInitHasAnAgentRunTheProgramThatStartsSooner(t *testing.T) {
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(itself), "init") //nolint:usetesting // a link stays on its file system, and t.TempDir may be on another
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	whole, small := filepath.Join(dir, "gateway"), filepath.Join(dir, "gateway-ask")
	const step = "put gateway-ask beside "
	initialise := func(client string) (settings, said string) {
		cmd := exec.CommandContext(t.Context(), whole, "init", client)
		cmd.Env = []string{runsProgram + "=1", "HOME=" + dir}
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, &stderr)
		}
		return stdout.String(), stderr.String()
	}
	if err := os.Link(itself, whole); err != nil {
		t.Fatal(err)
	}
	if settings, said := initialise("codex"); !strings.Contains(settings, whole+" ask --client codex") || !strings.Contains(said, step+whole) {
		t.Errorf("without it: %s\n%s", settings, said)
	}
	if settings, said := initialise("claude-code"); strings.Contains(settings, whole) || strings.Contains(said, step) {
		t.Errorf("an agent that runs no program: %s\n%s", settings, said)
	}
	if err := os.Link(itself, small); err != nil {
		t.Fatal(err)
	}
	if settings, said := initialise("codex"); !strings.Contains(settings, small+" ask --client codex") || strings.Contains(said, step) {
		t.Errorf("with it: %s\n%s", settings, said)
	}
}

// onceBuilt is where go run puts a program. Tests of the command line pretend
// to run from there, wherever the test binary is.
const onceBuilt = "/tmp/go-build4017/b001/exe/gateway"

func TestAProgramOfGoRunIsKnownByWhereItIs(t *testing.T) {
	for path, want := range map[string]bool{
		onceBuilt: true, "/var/cache/go-build1/gateway": true,
		"/usr/local/bin/gateway": false, "/home/go-builder/bin/gateway": false, "/src/go-build/gateway": false, "/src/my-go-build1x/gateway": false,
		"/opt/go-build77": false, // its own name, not its directory's
	} {
		if got := isTemporary(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestInitSaysWhatIsWrong(t *testing.T) {
	home(t)
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no client":             {nil, exitUsage, "name one client"},
		"an unknown client":     {[]string{"clod", "--url", "http://127.0.0.1:1"}, exitFailed, `unknown client "clod"`},
		"two clients":           {[]string{"codex", "cursor"}, exitUsage, `"cursor" is a second`},
		"both ways":             {[]string{"claude-code", "--http", "--command"}, exitUsage, "at most one of"},
		"no posting":            {[]string{"codex", "--http", "--url", "http://127.0.0.1:1"}, exitFailed, "only a command"},
		"an unknown flag":       {[]string{"codex", "--nope"}, exitUsage, "not defined"},
		"a bad environment":     {[]string{"codex"}, exitFailed, "HOOKGATE_MAX_IN_FLIGHT"},
		"a temporary program":   {[]string{"codex", "--url", "http://127.0.0.1:1", "--write"}, exitFailed, "which go run deletes afterwards"},
		"a usage is no failure": {[]string{"--help"}, exitOK, "usage: gateway init CLIENT"},
	} {
		t.Run(name, func(t *testing.T) {
			got := commandLine(t, []string{"HOOKGATE_MAX_IN_FLIGHT=x"}, "", append([]string{"init"}, tc.args...)...)
			if got.code != tc.code || !strings.Contains(got.stderr, tc.says) || got.stdout != "" {
				t.Errorf("%+v, want %d and %q", got, tc.code, tc.says)
			}
		})
	}
}

// doctored sets up Codex for an address, and runs doctor.
func doctored(t *testing.T, address string, args ...string) ran {
	t.Helper()
	dir := home(t)
	environ := []string{runsProgram + "=1", "PATH=" + os.Getenv("PATH")}
	if got := commandLine(t, environ, "", "init", "codex", "--write", "--url", address, "--program", os.Args[0], "--timeout", "10s"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	path := filepath.Join(dir, ".codex", "hooks.json")
	trust := fmt.Sprintf("[hooks.state.\"%s:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:00\"\n", path)
	if err := os.WriteFile(filepath.Join(dir, ".codex", "config.toml"), []byte(trust), 0o600); err != nil {
		t.Fatal(err)
	}
	return commandLine(t, environ, "", append([]string{"doctor"}, args...)...)
}

func TestDoctorIsContentWhereTheCanaryIsDeniedAndNothingFailsOpen(t *testing.T) {
	got := doctored(t, standIn(t))
	for _, want := range []string{`"rm -rf --no-preserve-root /" is denied`, "without a gateway the hook denies", "the hook gives up after 10s, the client after 20s"} {
		if got.code != 0 || !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "FAILS OPEN") {
			t.Errorf("code %d, %q is not in\n%s%s", got.code, want, got.stdout, got.stderr)
		}
	}
}

func TestDoctorSaysThatACanaryIsNotDenied(t *testing.T) {
	got := doctored(t, standIn(t), "codex", "--canary", "echo hi")
	if got.code != exitFailed || !strings.Contains(got.stdout, `FAILS OPEN: PreToolUse: "echo hi" is not denied`) {
		t.Errorf("code %d\n%s", got.code, got.stdout)
	}
}

func TestDoctorSaysThatTheGatewayCannotBeAsked(t *testing.T) {
	got := doctored(t, "http://127.0.0.1:1", "codex")
	if got.code != exitFailed || !strings.Contains(got.stdout, "broken:     PreToolUse: the gateway gives no decision, so every call is denied") || strings.Contains(got.stdout, "FAILS OPEN") {
		t.Errorf("code %d\n%s", got.code, got.stdout)
	}
}

func TestDoctorTakesARefusalForNoDecision(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Hookgate-Decision", "deny")
		_, _ = io.WriteString(w, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"there is no chain of that name"}}`)
	}))
	t.Cleanup(server.Close)
	byCommand := doctored(t, server.URL, "codex")
	home(t)
	if got := commandLine(t, nil, "", "init", "claude-code", "--write", "--url", server.URL+"/v1/chains/dev", "--program", "/opt/gateway"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for by, got := range map[string]ran{"a command": byCommand, "HTTP": commandLine(t, nil, "", "doctor", "claude-code")} {
		if got.code != exitFailed || !strings.Contains(got.stdout, "broken:     PreToolUse: the gateway gives no decision") || !strings.Contains(got.stdout, "there is no chain of that name") {
			t.Errorf("by %s: code %d\n%s", by, got.code, got.stdout)
		}
	}
}

func TestDoctorNamesAFileThatItCannotRead(t *testing.T) {
	dir := home(t)
	path := filepath.Join(dir, ".qwen", "settings.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{\"hooks\": {\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := commandLine(t, nil, "", "doctor")
	if got.code != exitFailed || strings.Count(got.stdout, path+" cannot be read") != 1 || strings.Contains(got.stdout, "has no hook") || !strings.Contains(got.stdout, "not JSON: line 2, column 1") {
		t.Errorf("code %d\n%s", got.code, got.stdout)
	}
}

func TestDoctorSendsTheHeadersThatTheClientSends(t *testing.T) {
	dir := home(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Hookgate-Decision", "deny")
		if r.Header.Get("Authorization") == "Bearer abc" {
			w.Header().Set("X-Hookgate-Decision-Id", "1")
		}
		_, _ = io.WriteString(w, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`)
	}))
	t.Cleanup(server.Close)
	if got := commandLine(t, nil, "", "init", "claude-code", "--write", "--url", server.URL, "--program", "/opt/gateway"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	path := filepath.Join(dir, ".claude", "settings.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	token := `"headers": {"Authorization": "Bearer $GATE_TOKEN"}, "allowedEnvVars": ["GATE_TOKEN"], "type": "http"`
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), `"type": "http"`, token)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := commandLine(t, []string{"GATE_TOKEN=abc"}, "", "doctor"); got.code != 0 {
		t.Errorf("with the token: code %d\n%s", got.code, got.stdout)
	}
	if got := commandLine(t, []string{"GATE_TOKEN=x"}, "", "doctor"); got.code != exitFailed || !strings.Contains(got.stdout, "no chain decided") {
		t.Errorf("with another token: code %d\n%s", got.code, got.stdout)
	}
}

func TestDoctorAsksOverHTTPWhereTheClientDoes(t *testing.T) {
	dir := home(t)
	path := filepath.Join(dir, ".claude", "settings.json")
	if got := commandLine(t, nil, "", "init", "claude-code", "--file", path, "--write", "--url", standIn(t), "--program", "/opt/gateway"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := commandLine(t, nil, "", "doctor"); got.code != 0 || !strings.Contains(got.stdout, `onFailure is "block"`) || !strings.Contains(got.stdout, "is denied") {
		t.Errorf("code %d\n%s", got.code, got.stdout)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), `"block"`, `"allow"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := commandLine(t, nil, "", "doctor", "claude-code"); got.code != exitFailed || !strings.Contains(got.stdout, `no onFailure: "block"`) {
		t.Errorf("code %d\n%s", got.code, got.stdout)
	}
}

func TestDoctorSaysThatNobodyAsks(t *testing.T) {
	home(t)
	if got := commandLine(t, nil, "", "doctor"); got.code != exitFailed || !strings.Contains(got.stderr, "no client asks a gateway") {
		t.Errorf("%+v", got)
	}
	if got := commandLine(t, nil, "", "doctor", "codex"); got.code != exitFailed || !strings.Contains(got.stdout, "has no hook that asks a gateway") {
		t.Errorf("%+v", got)
	}
	if got := commandLine(t, nil, "", "doctor", "clod"); got.code != exitFailed || !strings.Contains(got.stderr, `unknown client "clod"`) {
		t.Errorf("%+v", got)
	}
}
