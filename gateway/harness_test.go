package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport"
)

const (
	preText  = `{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"agent-1","tool_call_id":"call-1","tool_name":"shell","input":{"command":"ls"}}`
	postText = `{"hook_schema":1,"event":"post_tool_use","workspace":"/repo","agent_id":"agent-1","tool_call_id":"call-1","tool_name":"shell","input":{"command":"ls"},"output":"TOKEN","is_error":true}`
)

// running is a gateway that serves on the loopback.
type running struct {
	t       *testing.T
	gateway *Gateway
	base    string // of the main listener
	admin   string
	client  *http.Client
	// transport is the client's transport.
	transport *http.Transport
	log       *syncBuffer
	stop      func() error // shuts it down and returns the result of Serve
}

// start runs a gateway until the test ends. The options need neither addresses
// nor a logger.
func start(t *testing.T, o Options) *running {
	t.Helper()
	log := &syncBuffer{}
	o.Logger = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	main, admin := listenLoopback(t), listenLoopback(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(ctx, main, admin) }()
	transport, base := &http.Transport{DisableCompression: true}, "http://"+main.Addr().String()
	if o.TLSCertFile != "" {
		transport.TLSClientConfig, base = trusting(t, o.TLSCertFile), "https://"+main.Addr().String()
	}
	r := &running{
		t: t, gateway: g, base: base, admin: "http://" + admin.Addr().String(), transport: transport,
		client: &http.Client{Transport: documented(t, transport, base), CheckRedirect: noRedirect}, log: log,
	}
	r.stop = sync.OnceValue(func() error {
		transport.CloseIdleConnections()
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	})
	return r
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// reply is a response.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request after applying the edits.
func (r *running) do(method, url, body string, edits ...func(*http.Request)) reply {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, edit := range edits {
		edit(req)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer shut(r.t, resp.Body)
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// ask sends an envelope to a chain; the empty name is the operator's.
func (r *running) ask(chainName, envelope string) reply {
	r.t.Helper()
	path := "/v1/decide"
	if chainName != "" {
		path = "/v1/chains/" + chainName + "/decide"
	}
	return r.do(http.MethodPost, r.base+path, envelope)
}

// decide is ask, but returns only the decision and the reason.
func (r *running) decide(chainName, envelope string) (decision, reason string) {
	r.t.Helper()
	got := r.ask(chainName, envelope)
	if got.status != http.StatusOK {
		r.t.Fatalf("status %d: %s", got.status, got.body)
	}
	return decisionIn(r.t, got.body)
}

func decisionIn(t *testing.T, body string) (decision, reason string) {
	t.Helper()
	var a struct{ Decision, Reason string }
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return a.Decision, a.Reason
}

// metric returns the value of a series, and whether it exists.
func (r *running) metric(series string) (string, bool) {
	r.t.Helper()
	for line := range strings.SplitSeq(r.do(http.MethodGet, r.admin+"/metrics", "").body, "\n") {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return value, true
		}
	}
	return "", false
}

// wantMetric checks a series without waiting: counts are updated before the
// response.
func (r *running) wantMetric(series, want string) {
	r.t.Helper()
	if got, ok := r.metric(series); got != want || !ok {
		r.t.Errorf("%s is %q (there: %v), want %q", series, got, ok, want)
	}
}

// eventually waits until a condition holds that another goroutine brings about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("the test ended before: %s", what)
		}
	}
}

// files writes files to a directory of the test.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	// Atomically, as editors and volumes do, so that no reader sees a partial
	// file.
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

// hookServer is an endpoint with scripted answers.
type hookServer struct {
	*httptest.Server
	mu     sync.Mutex
	says   func(w http.ResponseWriter, r *http.Request)
	bodies []string
}

func newHookServer(t *testing.T, says func(http.ResponseWriter, *http.Request)) *hookServer {
	t.Helper()
	h := &hookServer{says: says}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller hung up
		}
		h.mu.Lock()
		h.bodies = append(h.bodies, string(body))
		says := h.says
		h.mu.Unlock()
		says(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hookServer) say(says func(http.ResponseWriter, *http.Request)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.says = says
}

func (h *hookServer) asked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.bodies)
}

// answers returns a handler with a fixed body.
func answers(body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func fails(status int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// waits answers once the caller has hung up or the channel is closed.
func waits(until <-chan struct{}) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-until:
			_, _ = io.WriteString(w, `{"decision":"allow"}`)
		}
	}
}

// self returns a command that runs the test binary as a hook.
func self(t *testing.T, behaviour string, more ...string) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := fmt.Sprintf("GATEWAY_TEST_HOOK: %q", behaviour)
	for i := 0; i+1 < len(more); i += 2 {
		env += fmt.Sprintf(", %s: %q", more[i], more[i+1])
	}
	return fmt.Sprintf("command: [%q], env: {%s}", path, env)
}

// interceptor is an interceptor made from a function.
type interceptor struct {
	name string
	does func(context.Context, *chain.Request) (chain.Outcome, error)
}

func (i interceptor) Name() string { return i.name }

func (i interceptor) Intercept(ctx context.Context, r *chain.Request) (chain.Outcome, error) {
	return i.does(ctx, r)
}

func (i interceptor) Review(ctx context.Context, r *chain.Request) (chain.Outcome, error) {
	return i.does(ctx, r)
}

func intercepting(name string, does func(context.Context, *chain.Request) (chain.Outcome, error)) []transport.Interceptor {
	return []transport.Interceptor{interceptor{name, does}}
}

func allowing(context.Context, *chain.Request) (chain.Outcome, error) {
	return chain.Outcome{Decision: chain.Allow}, nil
}

// syncBuffer is a buffer that can be read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// listed returns the ids in the body of GET /v1/decisions.
func listed(t *testing.T, body string) []string {
	t.Helper()
	var list struct {
		Decisions []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, d := range list.Decisions {
		ids = append(ids, d.ID)
	}
	return ids
}

// shut closes c, ignoring that it is already closed.
func shut(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Errorf("closing: %v", err)
	}
}

func loopbackIPs() []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1)} }

func denying(context.Context, *chain.Request) (chain.Outcome, error) {
	return chain.Outcome{Decision: chain.Deny}, nil
}
