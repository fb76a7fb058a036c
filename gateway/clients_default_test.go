package gateway

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookgate/hookgate/chain"
)

// fixtureCommand is the command in every client's fixture of a shell call.
const fixtureCommand = `echo 'hi-empty. <<empty>>' | tee -a ran.txt`

func TestTheDefaultChainDeniesAForcePushFromEveryClient(t *testing.T) {
	wantNoForcePush(t, start(t, Options{}))
}

func TestOneNameOfAToolCoversEveryClient(t *testing.T) {
	dir := files(t, map[string]string{"h.yaml": "schema: 1\nhooks:\n  - {name: no-force-push, use: no-force-push, tools: [shell]}\n"})
	wantNoForcePush(t, start(t, Options{ConfigFile: filepath.Join(dir, "h.yaml")}))
}

// wantNoForcePush checks that no client can force-push.
func wantNoForcePush(t *testing.T, r *running) {
	t.Helper()
	pushed := map[string]int{}
	for _, n := range natives(t) {
		call := n.call(t)
		if call.Passes() || call.Request().Event() != chain.PreToolUse || call.Request().ToolAlias() != "shell" && call.Request().ToolName() != "shell" {
			continue
		}
		body := n.body
		for _, command := range []string{
			fixtureCommand, strings.ReplaceAll(fixtureCommand, "hi-empty. <<empty>>", "hi-noverdict. <<noverdict>>"), strings.ReplaceAll(fixtureCommand, "empty", "allow"),
		} {
			body = strings.ReplaceAll(body, `"`+command+`"`, `"git push --force origin main"`)
		}
		if body == n.body {
			t.Errorf("%s: the command of the fixture was not found", n.name)
			continue
		}
		pushed[n.client.Name()]++
		got := r.do(http.MethodPost, r.base+"/v1"+n.path, body)
		if got.header.Get("X-Hookgate-Decision") != "deny" || !strings.Contains(got.body, "denied by hook 'no-force-push': force-push is not allowed") {
			t.Errorf("%s: %v %s", n.name, got.header, got.body)
		}
	}
	for _, name := range clientNames() {
		// AgentCore has no shell tool with a known name, and LiteLLM has no
		// tools at all.
		if name != "agentcore" && name != "litellm" && pushed[name] == 0 {
			t.Errorf("%s has no fixture with a shell call", name)
		}
	}
}

func TestTheDefaultChainDeniesAPushThroughAnMCPToolOfAnyClient(t *testing.T) {
	r := start(t, Options{})
	seen := 0
	for _, n := range natives(t) {
		call := n.call(t)
		if call.Passes() || call.Request().Event() != chain.PreToolUse || call.Request().ToolAlias() != "mcp__git__git_push" {
			continue
		}
		seen++
		body := strings.NewReplacer(`"`+fixtureCommand+`"`, `"git push --force"`).Replace(n.body)
		got := r.do(http.MethodPost, r.base+"/v1"+n.path, body)
		if got.header.Get("X-Hookgate-Decision") != "deny" || !strings.Contains(got.body, "no-force-push") {
			t.Errorf("%s: %v %s", n.name, got.header, got.body)
		}
	}
	if seen < 4 {
		t.Errorf("%d fixtures push through an MCP tool", seen)
	}
}

func TestTheDefaultChainKeepsSecretsFromEveryClientThatCanHideThem(t *testing.T) {
	const secret = "ghp_0123456789abcdefABCDEF0123456789abcd"
	r := start(t, Options{})
	for _, n := range natives(t) {
		call := n.call(t)
		if call.Passes() || call.Request().Event() != chain.PostToolUse {
			continue
		}
		body := strings.ReplaceAll(n.body, "hi-", secret)
		if body == n.body {
			continue // a result without text
		}
		got := r.do(http.MethodPost, r.base+"/v1"+n.path, body)
		decision := got.header.Get("X-Hookgate-Decision")
		switch {
		case decision != "replace" && decision != "deny":
			t.Errorf("%s: %s %s", n.name, decision, got.body)
		case bytes.Contains([]byte(got.body), []byte(secret)):
			t.Errorf("%s repeats the secret: %s", n.name, got.body)
		case decision == "replace" && !strings.Contains(got.body, "[redacted: github-token]"):
			t.Errorf("%s: %s", n.name, got.body)
		}
	}
}

func TestTheDefaultChainRedactsClaudeCodesOwnShapeOfAResult(t *testing.T) {
	r := start(t, Options{})
	got := r.do(http.MethodPost, r.base+"/v1/clients/claude-code", `{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"env"},`+
		`"tool_response":{"stdout":"TOKEN=ghp_0123456789abcdefABCDEF0123456789abcd","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false},"tool_use_id":"t"}`)
	want := `{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"stdout":"TOKEN=[redacted: github-token]","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}}}`
	if got.body != want {
		t.Errorf("answered %s, want %s", got.body, want)
	}
}

func TestAnAliasThatACallerSaysOnlyAddsHooks(t *testing.T) {
	r := start(t, Options{})
	for _, names := range []string{`"tool_name":"shell","tool_alias":"harmless"`, `"tool_name":"Unheard","tool_alias":"shell"`, `"tool_alias":"","tool_name":"Bash"`} {
		envelope := strings.NewReplacer(`"tool_name":"shell"`, names, `"ls"`, `"git push -f"`).Replace(preText)
		if decision, reason := r.decide("", envelope); decision != "deny" || !strings.Contains(reason, "no-force-push") {
			t.Errorf("%s: %s: %s", names, decision, reason)
		}
	}
}
