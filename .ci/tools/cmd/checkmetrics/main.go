// Command checkmetrics runs a gateway on free loopback ports, has it decide a
// request, and checks its metrics with promtool.
//
// It starts all processes as its own children and stops exactly those.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// patience is the deadline of the whole check.
const patience = time.Minute

func main() {
	gateway := flag.String("gateway", "", "the gateway's binary")
	promtool := flag.String("promtool", "promtool", "promtool's binary")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	err := check(ctx, os.Stdout, *gateway, *promtool)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "checkmetrics:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, out io.Writer, gateway, promtool string) (err error) {
	addrs, err := freeAddrs(ctx, 2)
	if err != nil {
		return err
	}
	g, err := start(ctx, gateway, addrs[0], addrs[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	if err := g.ready(ctx); err != nil {
		return err
	}
	if err := g.decide(ctx); err != nil {
		return err
	}
	exposed, err := g.get(ctx, "http://"+g.admin+"/metrics")
	if err != nil {
		return err
	}
	series := bytes.Count(exposed, []byte("\nhookgate_"))
	if series == 0 {
		return fmt.Errorf("/metrics has no series of the gateway's own:\n%s", exposed)
	}
	cmd := exec.CommandContext(ctx, promtool, "check", "metrics")
	cmd.Stdin = bytes.NewReader(exposed)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("promtool check metrics: %w\n%s", err, said)
	}
	_, err = fmt.Fprintf(out, "promtool has nothing to say to %d series\n", series)
	return err
}

// freeAddrs returns n distinct unused loopback addresses. All of them are
// reserved before any is released, so that they differ.
func freeAddrs(ctx context.Context, n int) ([]string, error) {
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

// running is a running gateway.
type running struct {
	cmd         *exec.Cmd
	said        bytes.Buffer
	main, admin string
	ended       chan struct{} // closed when it has ended and err is set
	err         error
}

func start(ctx context.Context, binary, mainAddr, adminAddr string) (*running, error) {
	g := &running{main: mainAddr, admin: adminAddr, ended: make(chan struct{})}
	g.cmd = exec.CommandContext(ctx, binary, "serve")
	g.cmd.Env = append(os.Environ(), "HOOKGATE_ADDR="+mainAddr, "HOOKGATE_ADMIN_ADDR="+adminAddr)
	g.cmd.Stdout, g.cmd.Stderr = &g.said, &g.said
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		g.err = g.cmd.Wait()
		close(g.ended)
	}()
	return g, nil
}

// stop sends SIGTERM to the gateway and returns its exit error.
func (g *running) stop() error {
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-g.ended // at the latest when the context ends, which kills it
	if g.err != nil {
		return fmt.Errorf("the gateway did not end well: %w\n%s", g.err, g.said.String())
	}
	return nil
}

// ready waits until /readyz reports 200.
func (g *running) ready(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := g.get(ctx, "http://"+g.admin+"/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-g.ended:
			return errors.New("the gateway ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("the gateway was not ready in time: %w", err)
		case <-tick.C:
		}
	}
}

func (g *running) get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return answer(req, http.StatusOK)
}

// decide requests one decision and sends one malformed request.
func (g *running) decide(ctx context.Context) error {
	for body, status := range map[string]int{
		`{"hook_schema":1,"event":"pre_tool_use","workspace":"/w","agent_id":"a","tool_call_id":"c","tool_name":"shell","input":{"command":"ls"}}`: http.StatusOK,
		`{`: http.StatusBadRequest,
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.main+"/v1/decide", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		if _, err := answer(req, status); err != nil {
			return err
		}
	}
	return nil
}

// answer returns the body of a response with the expected status.
func answer(req *http.Request, status int) ([]byte, error) {
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != status {
		return nil, fmt.Errorf("%s %s: status %d, want %d: %s", req.Method, req.URL, resp.StatusCode, status, body)
	}
	return body, nil
}
