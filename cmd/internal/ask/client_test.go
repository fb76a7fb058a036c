package ask

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/client"
	"github.com/hookgate/hookgate/gateway/setup"
)

// question is what a client sends before a shell call.
func question(t *testing.T, name string) string {
	t.Helper()
	text, err := setup.Question(name, "", "echo hi", "/repo")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// gatewayThat serves the response of a gateway, or of something in its place.
func gatewayThat(t *testing.T, answers http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answers)
	t.Cleanup(server.Close)
	return server.URL
}

func decided(decision, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Hookgate-Decision", decision)
		_, _ = io.WriteString(w, body)
	}
}

func TestK1_AClientReadsWhatTheGatewayAnswered(t *testing.T) {
	for name, tc := range map[string]struct {
		client string
		answer http.HandlerFunc
		want   ran
	}{
		"an allow": {"codex", decided("allow", `{}`), ran{Stdout: `{}`}},
		"a deny": {
			"codex", decided("deny", `{"hookSpecificOutput":{"permissionDecision":"deny"}}`),
			ran{Stdout: `{"hookSpecificOutput":{"permissionDecision":"deny"}}`},
		},
		"a modify, byte for byte": {
			"gemini-cli", decided("modify", `{"hookSpecificOutput":{"tool_input":{"n":1e400,"s":"<&>"}}}`),
			ran{Stdout: `{"hookSpecificOutput":{"tool_input":{"n":1e400,"s":"<&>"}}}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sent := question(t, tc.client)
			var path, body, waits string
			address := gatewayThat(t, func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				path, body, waits = r.URL.Path, string(text), r.Header.Get("X-Hookgate-Timeout-Ms")
				tc.answer(w, r)
			})
			got := run(t, strings.NewReader(sent), "--client", tc.client, "--url", address)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if path != "/v1/clients/"+tc.client || body != sent || len(waits) != 5 {
				t.Errorf("it posted %s to %s, and waits %s ms", body, path, waits)
			}
		})
	}
}

// hangs does not respond until its caller gives up.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// hangsMidway starts a response and hangs.
func hangsMidway(w http.ResponseWriter, r *http.Request) {
	decided("allow", "{")(w, r)
	_ = http.NewResponseController(w).Flush() // the response must have begun
	hangs(w, r)
}

// failures are the ways in which a gateway can fail, and what the model reads
// in each.
func failures(t *testing.T) map[string]struct {
	url, says string
	args      []string
} {
	t.Helper()
	type failure = struct {
		url, says string
		args      []string
	}
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + closed.Addr().String()
	_ = closed.Close()
	says := func(status int, header, value, body string) string {
		return gatewayThat(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Hookgate-Decision", "allow")
			w.Header().Set(header, value)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	return map[string]failure{
		"nobody there":      {url: nobody, says: "the gateway could not be reached"},
		"hanging":           {url: gatewayThat(t, hangs), args: []string{"--timeout", "50ms"}, says: "the gateway did not answer within 50ms"},
		"hanging midway":    {url: gatewayThat(t, hangsMidway), args: []string{"--timeout", "50ms"}, says: "the gateway did not answer within 50ms"},
		"status 500":        {url: says(500, "X", "", `{}`), says: "the gateway answered with status 500"},
		"status 404":        {url: says(404, "X", "", `{}`), says: "the gateway answered with status 404: --url names a chain that it does not have, or not the address of its main listener"},
		"status 204":        {url: says(204, "X", "", ``), says: "the gateway answered with status 204"},
		"a redirect":        {url: says(307, "Location", "/", `{}`), says: "the gateway answered with status 307"},
		"another server":    {url: says(200, "X-Hookgate-Decision", "", `{}`), says: "the gateway's answer is not valid"},
		"no known decision": {url: says(200, "X-Hookgate-Decision", "Allow", `{}`), says: "the gateway's answer is not valid"},
		"undecided":         {url: says(200, "X-Hookgate-Decision", "undecided", `{}`), says: "the gateway's answer is not valid"},
		"garbage":           {url: says(200, "X", "", `<html>`), says: "the gateway's answer is not valid"},
		"nothing":           {url: says(200, "X", "", ``), says: "the gateway's answer is not valid"},
		"a list":            {url: says(200, "X", "", `[]`), says: "the gateway's answer is not valid"},
		"two answers":       {url: says(200, "X", "", `{}{}`), says: "the gateway's answer is not valid"},
		"cut short":         {url: says(200, "Content-Length", "9", `{}`), says: "the gateway's answer is not valid"},
		"gzip":              {url: says(200, "Content-Encoding", "gzip", `{}`), says: "the gateway's answer is not valid"},
		"another scheme":    {url: "ftp://127.0.0.1/", says: "--url is not a valid address"},
		"no address":        {url: "::", says: "--url is not a valid address"},
	}
}

func TestK2_EveryFailureIsTheClientsStrongestDeny(t *testing.T) {
	for name, f := range failures(t) {
		for _, c := range client.All() {
			if !isSetUp(c.Name()) {
				continue
			}
			t.Run(c.Name()+"/"+name, func(t *testing.T) {
				got := run(t, strings.NewReader(question(t, c.Name())), append([]string{"--client", c.Name(), "--url", f.url}, f.args...)...)
				if !setup.Denies(c.Name(), got.Code, []byte(got.Stdout), []byte(got.Stderr)) {
					t.Errorf("%+v lets the call run", got)
				}
				if !strings.Contains(got.Stdout+got.Stderr, f.says) {
					t.Errorf("%+v does not say %q", got, f.says)
				}
				if strings.Contains(got.Stdout, "127.0.0.1") {
					t.Errorf("the model reads an address: %s", got.Stdout)
				}
			})
		}
	}
}

// isSetUp reports whether package setup knows the client's denies.
func isSetUp(name string) bool {
	_, err := setup.Question(name, "", "true", "/")
	return err == nil
}

func TestK2_AStdinThatIsNoQuestionIsDenied(t *testing.T) {
	address := gatewayThat(t, decided("allow", `{}`))
	never, writes := io.Pipe()
	defer func() { _ = writes.Close() }() // ends the readers of stdin
	for name, tc := range map[string]struct {
		stdin   func() io.Reader
		timeout string
		says    string
	}{
		"broken":         {func() io.Reader { return broken{} }, "25s", "cannot read stdin"},
		"empty":          {func() io.Reader { return strings.NewReader(" \n") }, "25s", "stdin is empty"},
		"without an end": {func() io.Reader { return never }, "20ms", "stdin was not closed within 20ms"},
		"too long":       {func() io.Reader { return io.LimitReader(zeros{}, maxText+1) }, "25s", "stdin has more than"},
	} {
		for _, c := range client.All() {
			if name == "too long" && c.Name() != "codex" {
				continue // one client is enough for 64 MiB
			}
			t.Run(c.Name()+"/"+name, func(t *testing.T) {
				got := run(t, tc.stdin(), "--client", c.Name(), "--url", address, "--timeout", tc.timeout)
				if isSetUp(c.Name()) && !setup.Denies(c.Name(), got.Code, []byte(got.Stdout), []byte(got.Stderr)) {
					t.Errorf("%+v lets the call run", got)
				}
				if !strings.Contains(got.Stdout+got.Stderr, tc.says) {
					t.Errorf("%+v does not say %q", got, tc.says)
				}
			})
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestK3_WithExitCode2StdoutIsEmptyAndStderrIsNot(t *testing.T) {
	for name, tc := range map[string]struct {
		args  []string
		stdin io.Reader
		says  string
	}{
		"an unknown client":          {[]string{"--client", "nobody", "--url", "http://127.0.0.1:1"}, strings.NewReader("{}"), `unknown client "nobody": known are claude-code, `},
		"an unknown flag":            {[]string{"--client", "codex", "--nope"}, strings.NewReader("{}"), "its arguments are wrong"},
		"an unknown flag before it":  {[]string{"--nope", "--client", "codex"}, strings.NewReader("{}"), "its arguments are wrong"},
		"a client joined by =":       {[]string{"--nope", "-client=codex"}, strings.NewReader("{}"), "its arguments are wrong"},
		"a stray argument":           {[]string{"--client", "codex", "--url", "http://127.0.0.1:1", "more"}, strings.NewReader("{}"), `unexpected argument "more"`},
		"no time":                    {[]string{"--client", "codex", "--url", "http://127.0.0.1:1", "--timeout", "-1s"}, strings.NewReader("{}"), "--timeout is -1s"},
		"no address":                 {[]string{"--client", "codex"}, strings.NewReader("{}"), "--url is missing"},
		"no client behind its flag":  {[]string{"--client"}, strings.NewReader("{}"), "its arguments are wrong"},
		"a usage is no answer":       {[]string{"--help"}, strings.NewReader("{}"), "how long to wait"},
		"a usage is none for them":   {[]string{"--client", "codex", "-h"}, strings.NewReader("{}"), "how long to wait"},
		"an empty name of a client":  {[]string{"--client", "", "--url", "http://127.0.0.1:1"}, strings.NewReader("{}"), `unknown client ""`},
		"a client in another's case": {[]string{"--client", "Codex", "--url", "http://127.0.0.1:1"}, strings.NewReader("{}"), `unknown client "Codex"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.stdin, tc.args...)
			if got.Code != 2 || got.Stdout != "" || !strings.Contains(got.Stderr, tc.says) {
				t.Errorf("%+v, want exit 2, nothing on stdout, and %q", got, tc.says)
			}
		})
	}
}

func TestK3_AnAnswerThatCannotBePrintedBlocks(t *testing.T) {
	address := gatewayThat(t, decided("allow", `{}`))
	var stderr strings.Builder
	p := &Program{Name: "gateway ask", Stdin: strings.NewReader(question(t, "codex")), Stdout: broken{}, Stderr: &stderr}
	if code := p.Run(t.Context(), []string{"--client", "codex", "--url", address}); code != 2 || stderr.Len() == 0 {
		t.Errorf("exit %d, stderr %q", code, stderr.String())
	}
}

func TestK2_AProcessThatIsToldToEndDenies(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	address := gatewayThat(t, func(w http.ResponseWriter, r *http.Request) { stop(); hangs(w, r) })
	var stdout strings.Builder
	p := &Program{Name: "gateway ask", Stdin: strings.NewReader(question(t, "codex")), Stdout: &stdout, Stderr: io.Discard}
	if code := p.Run(ctx, []string{"--client", "codex", "--url", address}); code != 0 || !strings.Contains(stdout.String(), "it was stopped before it got an answer") {
		t.Errorf("exit %d, %s", code, &stdout)
	}
}

func TestARouteIsThatOfTheClientBelowTheAddress(t *testing.T) {
	for _, tc := range []struct{ url, event, want string }{
		{"http://127.0.0.1:8080", "", "http://127.0.0.1:8080/v1/clients/codex"},
		{"http://127.0.0.1:8080/", "PreToolUse", "http://127.0.0.1:8080/v1/clients/codex/PreToolUse"},
		{"http://127.0.0.1:8080/v1/chains/dev", "", "http://127.0.0.1:8080/v1/chains/dev/clients/codex"},
		{"http://127.0.0.1:8080/v1/chains/dev/?explicit_allow=true", "", "http://127.0.0.1:8080/v1/chains/dev/clients/codex?explicit_allow=true"},
		{"https://gate.example/v1/clients/codex/PreToolUse", "ignored", "https://gate.example/v1/clients/codex/PreToolUse"},
	} {
		got, err := clientRoute(options{url: tc.url, client: "codex", event: tc.event})
		if err != nil || got != tc.want {
			t.Errorf("%s: %s, %v, want %s", tc.url, got, err, tc.want)
		}
	}
}

func TestTheRouteOfAnEnvelopeIsThatOfTheChainThatTheAddressNames(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:8080":                               "http://127.0.0.1:8080/v1/decide",
		"http://127.0.0.1:8080/":                              "http://127.0.0.1:8080/v1/decide",
		"http://127.0.0.1:8080/v1":                            "http://127.0.0.1:8080/v1/decide",
		"http://127.0.0.1:8080/v1/decide":                     "http://127.0.0.1:8080/v1/decide",
		"http://127.0.0.1:8080/v1/chains/dev":                 "http://127.0.0.1:8080/v1/chains/dev/decide",
		"http://127.0.0.1:8080/v1/chains/dev/?a=b":            "http://127.0.0.1:8080/v1/chains/dev/decide?a=b",
		"http://127.0.0.1:8080/v1/chains/dev/decide":          "http://127.0.0.1:8080/v1/chains/dev/decide",
		"https://gate.example/hookgate/v1/chains/dev":         "https://gate.example/hookgate/v1/chains/dev/decide",
		"https://dlp.example/hooks/that/speak/the/contract?x": "https://dlp.example/hooks/that/speak/the/contract?x",
	} {
		if got, err := decidingRoute(address); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", address, got, err, want)
		}
	}
}

func TestK1_AnEventThatIsNoToolCallPasses(t *testing.T) {
	got := run(t, strings.NewReader(`{"hook_event_name":"SessionStart","session_id":"s","cwd":"/"}`), "--client", "claude-code", "--url", "http://127.0.0.1:1", "--timeout", "5s")
	if got.Code != 0 || strings.Contains(got.Stdout, chain.Deny.String()) {
		t.Errorf("%+v", got)
	}
}

func TestACallerSaysWhoItIs(t *testing.T) {
	var said atomic.Value // who asked last, from the Authorization header
	address := gatewayThat(t, func(w http.ResponseWriter, r *http.Request) {
		said.Store(r.Header.Get("Authorization"))
		if r.URL.Path == "/v1/decide" {
			_, _ = io.WriteString(w, `{"decision":"allow"}`)
			return
		}
		decided("allow", `{}`)(w, r)
	})
	file := filepath.Join(t.TempDir(), "token")
	envelope := `{"hook_schema":1,"event":"pre_tool_use","workspace":"/","agent_id":"a","tool_call_id":"c","tool_name":"shell","input":{}}`
	for text, want := range map[string]string{"hg_token\n": "Bearer hg_token", "": "", "two words": "", "two\nlines": ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, args := range map[string][]string{question(t, "codex"): {"--client", "codex"}, envelope: nil} {
			said.Store("")
			got := run(t, strings.NewReader(name), append(args, "--url", address, "--token-file", file)...)
			if allowed := !strings.Contains(got.Stdout, "deny"); said.Load() != want || allowed != (want != "") {
				t.Errorf("%q: it said %q: %+v", text, said.Load(), got)
			}
			if strings.Contains(got.Stdout, file) {
				t.Errorf("the model reads where the token is: %s", got.Stdout)
			}
		}
	}
	if got := run(t, strings.NewReader(question(t, "codex")), "--client", "codex", "--url", address, "--token-file", file+".gone"); !strings.Contains(got.Stdout, "its token file cannot be used") {
		t.Errorf("%+v", got)
	}
}
