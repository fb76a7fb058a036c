package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const waitingCall = `{"id":"0198-1","state":"pending","chain":"operator","asked_by":"hook 'p'","event":"pre_tool_use","workspace":"/r\u001b[2J",
 "agent_id":"a\u202e","tool_name":"shell\n","input":{"command":"rm \u001b[31m <x>"},"digest":"d","created_at":"2026-01-02T03:04:05Z","expires_at":"2999-01-01T00:00:00Z","used":false}`

// answering is a gateway that gives one answer and records what it was asked.
func answering(t *testing.T, status int, body string) (base string, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		*asked = append(*asked, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+r.Header.Get("Authorization")+" "+string(text)))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestApprovalsAreListedAndNothingInThemActsOnTheTerminal(t *testing.T) {
	base, asked := answering(t, 200, `{"approvals":[`+waitingCall+`]}`)
	got := commandLine(t, nil, "", "approvals", "--url", base+"/")
	want := `  shell\u000a of agent a\u202e in /r\u001b[2J
  asked by hook 'p' of chain operator at pre_tool_use
  input: {
    "command": "rm \u001b[31m <x>"
  }

`
	first, rest, _ := strings.Cut(got.stdout, "\n")
	if got.code != 0 || got.stderr != "" || rest != want || !strings.HasPrefix(first, "0198-1  waiting, ") {
		t.Errorf("code %d, stderr %q: %s", got.code, got.stderr, got.stdout)
	}
	if diff := cmp.Diff([]string{"GET /v1/approvals?state=pending"}, *asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	host := strings.TrimPrefix(base, "http://")
	if got := commandLine(t, []string{"HOOKGATE_ADDR=" + host}, "", "approvals", "list", "--state", "any"); got.code != 0 || (*asked)[1] != "GET /v1/approvals?state=any" {
		t.Errorf("code %d, asked %q, stderr %q", got.code, *asked, got.stderr)
	}
}

func TestWhatNobodyWaitsForIsListedAsSuch(t *testing.T) {
	for waiting, want := range map[string]string{
		"false": "0198-1  nobody waits for it any more: the gateway that asked for it no longer responds\n",
		"true":  "0198-1  waiting, ",
	} {
		base, _ := answering(t, 200, `{"approvals":[`+strings.Replace(waitingCall, `"used":false`, `"used":false,"waiting":`+waiting, 1)+`]}`)
		if got := commandLine(t, nil, "", "approvals", "--url", base); got.code != 0 || !strings.HasPrefix(got.stdout, want) {
			t.Errorf("waiting %s: code %d: %s", waiting, got.code, got.stdout)
		}
	}
}

func TestAnEmptyListSaysSo(t *testing.T) {
	base, _ := answering(t, 200, `{"approvals":[]}`)
	for state, want := range map[string]string{"pending": "no approval is pending\n", "any": "there are no approvals\n"} {
		if got := commandLine(t, nil, "", "approvals", "list", "--url", base, "--state", state); got.stdout != want {
			t.Errorf("%s: %q", state, got.stdout)
		}
	}
}

func TestApprovalsAreAnswered(t *testing.T) {
	dir := t.TempDir()
	input, token := filepath.Join(dir, "input.json"), filepath.Join(dir, "token")
	for path, text := range map[string]string{input: " {\"n\":9007199254740993}\n", token: "hookgate_x\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settled := strings.Replace(waitingCall, `"state":"pending"`, `"state":"allowed","settled_by":"ann\u001b","settled_at":"2026-01-02T03:04:05Z"`, 1)
	base, asked := answering(t, 200, settled)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"allow", "0198-1"}, `POST /v1/approvals/0198-1  {"behavior":"allow"}`},
		{[]string{"allow", "--message", "go <on>", "0198-1"}, `POST /v1/approvals/0198-1  {"behavior":"allow","message":"go <on>"}`},
		{[]string{"deny", "0198-1", "--message", `no "way"`}, `POST /v1/approvals/0198-1  {"behavior":"deny","message":"no \"way\""}`},
		{[]string{"allow", "0198-1", "--input", `{"a":1}`}, `POST /v1/approvals/0198-1  {"behavior":"allow","updated_input":{"a":1}}`},
		{[]string{"allow", "0198-1", "--input", "@" + input}, `POST /v1/approvals/0198-1  {"behavior":"allow","updated_input":{"n":9007199254740993}}`},
		{[]string{"allow", "0198-1", "--input", "-"}, `POST /v1/approvals/0198-1  {"behavior":"allow","updated_input":{"from":"stdin"}}`},
		{[]string{"allow", "0198-1", "--token-file", token}, `POST /v1/approvals/0198-1 Bearer hookgate_x {"behavior":"allow"}`},
	} {
		*asked = nil
		got := commandLine(t, nil, `{"from":"stdin"}`, append(append([]string{"approvals"}, tc.args...), "--url", base)...)
		if got.code != 0 || got.stdout != "0198-1  allowed by ann\\u001b at 2026-01-02T03:04:05Z\n" {
			t.Errorf("%q: code %d, %q %q", tc.args, got.code, got.stdout, got.stderr)
		}
		if diff := cmp.Diff([]string{tc.want}, *asked); diff != "" {
			t.Errorf("%q: asked (-want +got):\n%s", tc.args, diff)
		}
	}
}

func TestWhatDoesNotWorkIsSaid(t *testing.T) {
	conflict, _ := answering(t, 409, `{"title":"x","detail":"it was already denied by bob\u001b"}`)
	nonsense, _ := answering(t, 200, `<html>`)
	moved, _ := answering(t, 302, ``)
	gone := filepath.Join(t.TempDir(), "gone")
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"allow", "x", "--url", conflict}, 1, `it was already denied by bob\u001b`},
		{[]string{"list", "--url", conflict}, 1, `it was already denied by bob\u001b`},
		{[]string{"list", "--url", nonsense}, 1, "the gateway's answer is not a list of approvals"},
		{[]string{"allow", "x", "--url", nonsense}, 1, "whether your answer was recorded"},
		{[]string{"allow", "x", "--url", moved}, 1, "the gateway answered with status 302"},
		{[]string{"list", "--url", "http://127.0.0.1:1"}, 1, "cannot reach the gateway"},
		{[]string{"allow", "x", "--input", "{", "--url", conflict}, 1, "--input is not JSON"},
		{[]string{"allow", "x", "--input", "@" + gone, "--url", conflict}, 1, "cannot read --input"},
		{[]string{"allow", "x", "--token-file", gone, "--url", conflict}, 1, "cannot use --token-file"},
		{[]string{"grant", "x"}, 2, `"grant" is not one of list, allow, deny`},
		{[]string{"allow"}, 2, "allow needs the id of one approval"},
		{[]string{"deny", "x", "y"}, 2, "deny needs the id of one approval"},
		{[]string{"list", "x"}, 2, "list takes no arguments"},
		{[]string{"deny", "x", "--input", "{}"}, 2, "flag provided but not defined: -input"},
		{[]string{"list", "--timeout", "0s"}, 2, "give a positive time"},
		{[]string{"list", "--url", "ftp://x"}, 2, "--url is not a valid address"},
	} {
		got := commandLine(t, nil, "", append([]string{"approvals"}, tc.args...)...)
		if got.code != tc.code || got.stdout != "" || !strings.Contains(got.stderr, tc.want) {
			t.Errorf("%q: code %d, want %d and %q; stdout %q, stderr %q", tc.args, got.code, tc.code, tc.want, got.stdout, got.stderr)
		}
	}
}

func TestAnApprovalSaysWhereItStands(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, a := range map[string]shownApproval{
		"waiting, 1m0s left":                  {State: "pending", ExpiresAt: at.Add(time.Minute)},
		"waiting, 0s left":                    {State: "pending", ExpiresAt: at.Add(-time.Minute)},
		"expired at 2026-01-02T03:04:05Z":     {State: "expired", SettledAt: at},
		"denied by x at 2026-01-02T03:04:05Z": {State: "denied", SettledAt: at, SettledBy: "x"},
	} {
		if got := a.standing(at); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
