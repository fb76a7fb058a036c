// Package lab sets up what is measured: gateways with their hooks files, hooks,
// and baselines. Everything listens on free loopback ports and is stopped by
// Lab.Close.
package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookgate/hookgate/bench/internal/proc"
)

// Envelope is the default request: a call of about 320 bytes.
const Envelope = `{"hook_schema":1,"event":"pre_tool_use","workspace":"/srv/work/ledger","agent_id":"agent-41c9",` +
	`"tool_call_id":"call_7Qm2Xv9LrT4","tool_name":"shell","input":{"command":"grep -rn --include='*.go' 'func Post' internal/booking ` +
	`| sort | uniq -c | head -n 25 && go test -count=1 ./internal/booking/...","description":"find who posts entries"}}`

// EnvelopeOf returns a request of about size bytes.
func EnvelopeOf(size int) string {
	const mark = "find who posts entries"
	return strings.Replace(Envelope, mark, mark+" "+strings.Repeat("lorem ipsum ", max(size-len(Envelope), 0)/12), 1)
}

// Programs are the paths of the binaries that a lab starts.
type Programs struct {
	Gateway, Audited, Policy, Ask, Post, Peer, Say, Python, OPA string
}

// Lab starts programs and stops them.
type Lab struct {
	Programs
	// Dir contains the hooks files and logs.
	Dir     string
	started []*proc.Process
	files   int
}

// New returns a lab with a new temporary directory.
func New(p Programs) (*Lab, error) {
	dir, err := os.MkdirTemp("", "hookgate-bench-")
	if err != nil {
		return nil, err
	}
	return &Lab{Programs: p, Dir: dir}, nil
}

// Close stops the programs in reverse order of their start, and removes the
// files.
func (l *Lab) Close() error {
	var errs []error
	for _, p := range slices.Backward(l.started) {
		errs = append(errs, p.Stop())
	}
	l.started = nil
	return errors.Join(append(errs, os.RemoveAll(l.Dir))...)
}

// File writes a file and returns its path.
func (l *Lab) File(name, text string) (string, error) {
	path := filepath.Join(l.Dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// start starts a program that Close stops.
func (l *Lab) start(ctx context.Context, name string, env []string, argv ...string) (*proc.Process, error) {
	l.files++
	p, err := proc.Start(ctx, filepath.Join(l.Dir, fmt.Sprintf("%02d-%s.log", l.files, name)), env, argv...)
	if err == nil {
		l.started = append(l.started, p)
	}
	return p, err
}

// Server is a program that answers requests.
type Server struct {
	*proc.Process
	// URL receives the requests. For a hook server it has no path.
	URL string
	// Admin is the base URL of a gateway's admin listener.
	Admin string
}

// Hook starts a hook server.
func (l *Lab) Hook(ctx context.Context) (*Server, error) { return l.peer(ctx, "hook") }

// Proxy starts a reverse proxy in front of a URL.
func (l *Lab) Proxy(ctx context.Context, to string) (*Server, error) { return l.peer(ctx, "proxy", to) }

func (l *Lab) peer(ctx context.Context, args ...string) (*Server, error) {
	p, err := l.start(ctx, args[0], nil, append([]string{l.Peer}, args...)...)
	if err != nil {
		return nil, err
	}
	address, err := p.FirstLine(ctx)
	return &Server{Process: p, URL: address}, err
}

// Gateway starts a gateway with a hooks file and waits until it is ready. An
// empty text means the default chain.
func (l *Lab) Gateway(ctx context.Context, hooks string, env ...string) (*Server, error) {
	return l.ready(ctx, hooks, env, l.Programs.Gateway, "serve")
}

// Disk starts a gateway with the audit output that the arguments of cmd/audited
// select, and waits until it is ready.
func (l *Lab) Disk(ctx context.Context, hooks string, args ...string) (*Server, error) {
	return l.ready(ctx, hooks, nil, append([]string{l.Audited}, args...)...)
}

func (l *Lab) ready(ctx context.Context, hooks string, env []string, argv ...string) (*Server, error) {
	if hooks != "" {
		file, err := l.File(fmt.Sprintf("hooks-%02d.yaml", l.files+1), hooks)
		if err != nil {
			return nil, err
		}
		env = append(env, "HOOKGATE_CONFIG="+file)
	}
	s, err := l.launch(ctx, env, argv...)
	if err != nil {
		return nil, err
	}
	return s, s.await(ctx, s.Admin+"/readyz", http.MethodGet, "")
}

// Launch starts a gateway without waiting for it.
func (l *Lab) Launch(ctx context.Context, env ...string) (*Server, error) {
	return l.launch(ctx, env, l.Programs.Gateway, "serve")
}

func (l *Lab) launch(ctx context.Context, env []string, argv ...string) (*Server, error) {
	addrs, err := free(ctx, 2)
	if err != nil {
		return nil, err
	}
	env = append(env, "HOOKGATE_ADDR="+addrs[0], "HOOKGATE_ADMIN_ADDR="+addrs[1])
	p, err := l.start(ctx, "gateway", env, argv...)
	if err != nil {
		return nil, err
	}
	return &Server{Process: p, URL: "http://" + addrs[0] + "/v1/decide", Admin: "http://" + addrs[1]}, nil
}

// Embedded starts the gateway of examples/policy, with only its policy, and
// waits until it is ready.
func (l *Lab) Embedded(ctx context.Context) (*Server, error) {
	addrs, err := free(ctx, 2)
	if err != nil {
		return nil, err
	}
	file, err := l.File("none.yaml", "schema: 1\nhooks: []\n")
	if err != nil {
		return nil, err
	}
	p, err := l.start(ctx, "policy", nil, l.Policy, "-addr", addrs[0], "-admin", addrs[1], "-config", file)
	if err != nil {
		return nil, err
	}
	s := &Server{Process: p, URL: "http://" + addrs[0] + "/v1/decide", Admin: "http://" + addrs[1]}
	return s, s.await(ctx, s.Admin+"/readyz", http.MethodGet, "")
}

// Engine starts an OPA server with a policy.
func (l *Lab) Engine(ctx context.Context, policy string) (*Server, error) {
	addrs, err := free(ctx, 1)
	if err != nil {
		return nil, err
	}
	p, err := l.start(ctx, "opa", nil, l.OPA, "run", "--server", "--disable-telemetry", "--log-level", "error", "--addr", addrs[0], policy)
	if err != nil {
		return nil, err
	}
	s := &Server{Process: p, URL: "http://" + addrs[0] + "/v1/data/hooks/decision"}
	return s, s.await(ctx, "http://"+addrs[0]+"/health", http.MethodGet, "")
}

// free returns n unused loopback addresses.
func free(ctx context.Context, n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// Decided waits until the server has answered a request with 200, and returns
// the time since its start.
func (s *Server) Decided(ctx context.Context) (time.Duration, error) {
	err := s.await(ctx, s.URL, http.MethodPost, Envelope)
	return time.Since(s.Began), err
}

// await repeats a request until the status is 200, for at most 30 s.
func (s *Server) await(ctx context.Context, address, method, body string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		_, err := Ask(ctx, method, address, body)
		if err == nil {
			return nil
		}
		select {
		case <-s.Ended():
			return fmt.Errorf("it ended before it answered at %s: %w", address, s.Stop())
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// Ask sends one request on its own connection and returns the body of a 200
// response.
func Ask(ctx context.Context, method, address, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", address, resp.Status, bytes.TrimSpace(text))
	}
	return text, err
}

// Counts returns how many requests a hook server received at a path, and how
// many of them are waiting.
func (s *Server) Counts(ctx context.Context, path string) (asked, waiting int, err error) {
	text, err := Ask(ctx, http.MethodGet, s.URL+"/counts", "")
	if err != nil {
		return 0, 0, err
	}
	var all map[string]struct{ Asked, Waiting int }
	err = json.Unmarshal(text, &all)
	return all[path].Asked, all[path].Waiting, err
}
