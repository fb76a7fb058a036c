package gateway

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// refusedEverywhere checks that nothing was decided and that no secret is visible
// anywhere.
func refusedEverywhere(t *testing.T, r *running, secrets ...string) {
	t.Helper()
	metrics := r.do(http.MethodGet, r.admin+"/metrics", "").body
	for line := range strings.SplitSeq(metrics, "\n") {
		if strings.HasPrefix(line, "hookgate_decisions_total{") && !strings.HasSuffix(line, " 0") {
			t.Errorf("something was decided: %s", line)
		}
	}
	decisions := r.do(http.MethodGet, r.base+"/v1/decisions", "", bearer("carol")).body
	for _, secret := range secrets {
		for where, text := range map[string]string{"the log": r.log.String(), "the metrics": metrics, "the decisions": decisions} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %q in it", where, secret)
			}
		}
	}
}

func TestAttack_WithoutAGoodTokenNothingIsDecided(t *testing.T) {
	o, _ := guarded(t, "")
	r := start(t, o)
	const path = "/v1/chains/team-a/decide"
	const wrong = "hookgate_WRONGWRONGWRONGWRONGWRONGWRONGWRONG"
	var answers []reply
	send := func(path string, edits ...func(*http.Request)) {
		answers = append(answers, r.do(http.MethodPost, r.base+path, preText, edits...))
	}
	send(path)
	send(path, bearer(wrong))
	send(path, bearer(tokenHash("alice-new"))) // who reads the file of callers holds no token
	send(path, header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("alice:alice-new"))))
	send(path, header("Authorization", "alice-new"))
	send(path, header("Authorization", "Bearer alice-new, Bearer x"))
	send(path, bearer("alice-new"), func(h *http.Request) { h.Header.Add("Authorization", "Bearer bob") })
	send(path, header("X-Authorization", "Bearer alice-new"), header("Cookie", "token=alice-new"), header("X-Forwarded-Client-Cert", "URI=spiffe://x"))
	send(path + "?access_token=alice-new")
	send(path+"?token="+wrong, header("X-Original-URL", "/openapi.yaml"), header("X-HTTP-Method-Override", "GET"))
	for i, got := range answers {
		if got.header.Get("WWW-Authenticate") == "" || got.header.Get("Connection") != "" && got.header.Get("Connection") != "close" {
			t.Errorf("answer %d: headers %v", i, got.header)
		}
		wantRefusal(t, got, http.StatusUnauthorized, "the gateway cannot authenticate the caller")
		if strings.Contains(got.body, "alice") || strings.Contains(got.body, wrong) {
			t.Errorf("answer %d repeats a secret: %s", i, got.body)
		}
	}
	// An agent that lets calls run if its hook answers 401 gets a deny in its own
	// dialect.
	native := r.do(http.MethodPost, r.base+"/v1/chains/team-a/clients/claude-code/PreToolUse", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`, bearer(wrong))
	if native.status != http.StatusOK || !strings.Contains(native.body, `"permissionDecision":"deny"`) || !strings.Contains(native.body, "no caller has its token") {
		t.Errorf("Claude Code is told %+v", native)
	}
	native = r.do(http.MethodPost, r.base+"/v1/chains/team-b/clients/claude-code/PreToolUse", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`, bearer("alice-new"))
	if native.status != http.StatusOK || !strings.Contains(native.body, `"permissionDecision":"deny"`) || !strings.Contains(native.body, "may not use this chain") {
		t.Errorf("Claude Code is told %+v", native)
	}
	r.wantMetric(`hookgate_auth_failures_total{reason="missing"}`, "2")
	r.wantMetric(`hookgate_auth_failures_total{reason="unknown"}`, "3")
	r.wantMetric(`hookgate_auth_failures_total{reason="malformed"}`, "4")
	r.wantMetric(`hookgate_auth_failures_total{reason="in_url"}`, "2")
	refusedEverywhere(t, r, wrong, "alice-new")
}

func TestAttack_TenThousandBadTokensAreCountedAndChangeNothing(t *testing.T) {
	o, _ := guarded(t, "")
	r := start(t, o)
	series := strings.Count(r.do(http.MethodGet, r.admin+"/metrics", "").body, "\n")
	h := r.gateway.mainHandler()
	for i := range 10_000 {
		w := &discard{header: http.Header{}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.base+"/v1/chains/team-a/decide", strings.NewReader(preText))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", fmt.Sprintf("Bearer hookgate_guess%d", i))
		if h.ServeHTTP(w, req); w.status != http.StatusUnauthorized {
			t.Fatalf("guess %d is answered %d", i, w.status)
		}
	}
	r.wantMetric(`hookgate_auth_failures_total{reason="unknown"}`, "10000")
	if after := strings.Count(r.do(http.MethodGet, r.admin+"/metrics", "").body, "\n"); after > series+40 { // the buckets of what was first seen
		t.Errorf("%d lines of metrics became %d", series, after)
	}
	refusedEverywhere(t, r, "hookgate_guess")
}

// discard is a response writer that records only the status.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

func TestAttack_TricksWithPathsReachNoOtherChain(t *testing.T) {
	o, _ := guarded(t, "")
	r := start(t, o)
	for _, path := range []string{
		"/v1/chains/team-a/../team-b/decide", "/v1/chains/team-a%2f..%2fteam-b/decide", "/v1/chains/..%2f..%2fdecide/decide",
		"/v1/chains/team-b%00/decide", "/v1/chains/team-b;team-a/decide", "/v1/chains//decide", "/v1/chains/./decide", "//v1/chains/team-b/decide",
		"/v1/chains/team%2Db/decide", "/v1/chains/team-a%20/decide", "/v1/chains/%74eam-b/decide", "/v1/chains/TEAM-B/decide", "/v1/chains/team-a,team-b/decide",
		"/v1/decide/../chains/team-b/decide", "/V1/decide", "/v1/chains/team-b/decide/", "/openapi.yaml/../v1/decide", "/v1/chains/../../openapi.yaml", "/v1%2fdecide",
		"/v1/chains/..%2f..%2fopenapi.yaml/decide",
	} {
		answer := r.raw("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer alice-new\r\n" +
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(preText), preText))
		status, body, _ := strings.Cut(answer, "\r\n\r\n")
		if !strings.HasPrefix(status, "HTTP/1.1 4") || strings.Contains(body, `"allow"`) || strings.HasPrefix(status, "HTTP/1.1 40") && !strings.Contains(status, "400") && !strings.Contains(body, `"decision":"deny"`) {
			t.Errorf("%s is answered %s", path, answer)
		}
	}
	refusedEverywhere(t, r, "alice-new")
}

func TestAttack_NothingIsSmuggledBehindARequest(t *testing.T) {
	o, _ := guarded(t, "")
	r := start(t, o)
	inner := fmt.Sprintf("POST /v1/chains/team-b/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer bob\r\nContent-Length: %d\r\n\r\n%s", len(preText), preText)
	begin := "POST /v1/chains/team-a/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer wrong\r\n"
	for name, text := range map[string]string{
		"a body after a refusal":  begin + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(inner), inner),
		"two lengths":             begin + fmt.Sprintf("Content-Length: 2\r\nContent-Length: %d\r\n\r\n{}%s", len(inner)+2, inner),
		"a length and chunks":     begin + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", len(inner)+5, inner),
		"an odd coding":           begin + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + inner,
		"a space before a colon":  "POST /v1/chains/team-a/decide HTTP/1.1\r\nHost: localhost\r\nAuthorization : Bearer bob\r\nContent-Length: 2\r\n\r\n{}",
		"a folded header":         "POST /v1/chains/team-a/decide HTTP/1.1\r\nHost: localhost\r\nX: y\r\n Authorization: Bearer bob\r\nContent-Length: 2\r\n\r\n{}",
		"two hosts":               "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nContent-Length: 2\r\n\r\n{}",
		"an end of line in one":   "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nX: a\nAuthorization: Bearer bob\r\nX-Y: \x00\r\nContent-Length: 2\r\n\r\n{}",
		"another site by address": "POST http://evil.example/v1/decide HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bob\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			answer := r.raw(text)
			if strings.Contains(answer, "HTTP/1.1 2") || strings.Count(answer, "HTTP/1.1 ") > 1 {
				t.Errorf("it is answered %s", answer)
			}
		})
	}
	refusedEverywhere(t, r, "Bearer bob")
}

func TestAttack_HugeHeadersAndSlowBodiesAreCutOff(t *testing.T) {
	o, _ := guarded(t, "")
	o.BodyTimeout = 300 * time.Millisecond
	r := start(t, o)
	begin := "POST /v1/chains/team-a/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	if answer := r.raw(begin + "Authorization: Bearer " + strings.Repeat("x", 2*maxHeaderBytes) + "\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 431") && answer != "" {
		t.Errorf("a huge header is answered %.200s", answer)
	}
	if answer := r.raw(begin + "Authorization: Bearer " + strings.Repeat("x", 32<<10) + "\r\nContent-Length: 2\r\n\r\n{}"); !strings.Contains(answer, "401 Unauthorized") {
		t.Errorf("a long token is answered %.200s", answer)
	}
	// A body that never arrives: the gateway does not wait for it if the caller
	// is unknown, and not for long if it is known.
	if answer := r.raw(begin + "Authorization: Bearer wrong\r\nContent-Length: 1000\r\n\r\n{"); !strings.Contains(answer, "401 Unauthorized") {
		t.Errorf("an unknown caller's slow body is answered %.300s", answer)
	}
	if answer := r.raw(begin + "Authorization: Bearer alice-new\r\nContent-Length: 1000\r\n\r\n{"); !strings.Contains(answer, "408 Request Timeout") || !strings.Contains(answer, `"decision":"deny"`) {
		t.Errorf("a slow body is answered %.300s", answer)
	}
	if answer := r.raw("POST /v1/decide HTTP/1.1\r\nHost: loc"); strings.Contains(answer, "HTTP/1.1 2") {
		t.Errorf("slow headers are answered %.300s", answer)
	}
	r.wantMetric(`hookgate_auth_failures_total{reason="malformed"}`, "1")
	refusedEverywhere(t, r, "alice-new", "xxxxxxxx")
}

func TestAttack_NamesOfToolsForgeNeitherLinesNorSeries(t *testing.T) {
	o, _ := guarded(t, "")
	lines := &syncBuffer{}
	o.DecisionLog = lines
	r := start(t, o)
	ask := func(tool string) reply {
		return r.do(http.MethodPost, r.base+"/v1/chains/team-a/decide", strings.Replace(preText, `"shell"`, tool, 1), bearer("alice-new"))
	}
	ask(`"shell"`)
	series := strings.Count(r.do(http.MethodGet, r.admin+"/metrics", "").body, "\n")
	forged := []string{`"x\n{\"decision\":\"allow\"}"`, `"\u001b[2Jx"`, `"\u202egnp.exe"`, `"a\u2028b"`, `"\u0000"`, `"\"} 1\nhookgate_fake{a=\"b"`}
	for _, tool := range forged {
		if got := ask(tool); got.status != http.StatusOK {
			t.Errorf("%s: %+v", tool, got)
		}
	}
	for i := range 500 {
		ask(fmt.Sprintf(`"made-up-%d"`, i))
	}
	if after := strings.Count(r.do(http.MethodGet, r.admin+"/metrics", "").body, "\n"); after != series {
		t.Errorf("%d lines of metrics became %d", series, after)
	}
	text := lines.String()
	if n := strings.Count(text, "\n"); n != 501+len(forged) {
		t.Errorf("%d decisions are %d lines", 501+len(forged), n)
	}
	for scan := bufio.NewScanner(strings.NewReader(text)); scan.Scan(); {
		if !strings.HasPrefix(scan.Text(), `{"time":"`) || strings.ContainsAny(scan.Text(), "\x1b\u202e\u2028\x00") {
			t.Errorf("a line was forged: %q", scan.Text())
		}
	}
	if strings.Contains(text+r.log.String(), "alice-new") {
		t.Error("a token is in a log")
	}
}

func TestAttack_EveryTestThatTheThreatModelNamesIsThere(t *testing.T) {
	text, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	if err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			var source []byte
			source, err = os.ReadFile(path)
			tests.Write(source)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 12 {
		t.Errorf("docs/operating.md names %d tests", len(named))
	}
	for _, n := range named {
		if !strings.Contains(tests.String(), "\nfunc "+n[1]+"(t *testing.T) {") {
			t.Errorf("docs/operating.md names %s, which there is not", n[1])
		}
	}
}
