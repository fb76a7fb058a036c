package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// replica is a gateway in its own process.
type replica struct {
	cmd         *exec.Cmd
	log         *lockedBuffer
	addr, admin string
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{log: &lockedBuffer{}}
	r.cmd = exec.CommandContext(t.Context(), self, "serve")
	r.cmd.Env = append(os.Environ(), runsProgram+"=1", "HOOKGATE_ADDR=127.0.0.1:0", "HOOKGATE_ADMIN_ADDR=127.0.0.1:0", "HOOKGATE_DRAIN_DELAY=1s")
	r.cmd.Stderr = r.log
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); r.addr == ""; {
		for line := range strings.SplitSeq(r.log.String(), "\n") {
			var record struct {
				Msg, Addr string
				AdminAddr string `json:"admin_addr"`
			}
			if json.Unmarshal([]byte(line), &record) == nil && record.Msg == "serving" {
				r.addr, r.admin = record.Addr, record.AdminAddr
			}
		}
		if <-time.After(time.Millisecond); time.Now().After(deadline) {
			t.Fatalf("it does not serve: %s", r.log)
		}
	}
	return r
}

// end stops the replica as Kubernetes does, and waits for it.
func (r *replica) end(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("a replica ended with %v: %s", err, r.log)
	}
}

// balancer is a simple load balancer: it sends each call once, to the next
// replica that was ready when it last checked.
type balancer struct {
	*httptest.Server
	mu    sync.Mutex
	all   []*replica
	ready []*replica
	next  atomic.Uint64
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			b.mu.Lock()
			to := b.ready[b.next.Add(1)%uint64(len(b.ready))]
			b.mu.Unlock()
			r.SetURL(&url.URL{Scheme: "http", Host: to.addr})
		},
	}
	b.Server = httptest.NewServer(proxy)
	ctx, cancel := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	looking.Go(func() {
		for ctx.Err() == nil {
			b.look(ctx)
			<-time.After(20 * time.Millisecond)
		}
	})
	t.Cleanup(func() {
		cancel()
		looking.Wait()
		b.Close()
		transport.CloseIdleConnections()
	})
	return b
}

// look checks which replicas are ready.
func (b *balancer) look(ctx context.Context) {
	b.mu.Lock()
	all := append([]*replica{}, b.all...)
	b.mu.Unlock()
	var ready []*replica
	for _, r := range all {
		if _, err := get(ctx, "http://"+r.admin+"/readyz"); err == nil {
			ready = append(ready, r)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = ready
}

// take adds the replica to the balancer, and waits until it is used.
func (b *balancer) take(t *testing.T, r *replica) {
	t.Helper()
	b.mu.Lock()
	b.all = append(b.all, r)
	b.mu.Unlock()
	b.look(t.Context())
}

func TestG9_ARollingUpdateGivesNoWrongAnswer(t *testing.T) {
	b := newBalancer(t)
	old := []*replica{newReplica(t), newReplica(t)}
	for _, r := range old {
		b.take(t, r)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ctx, stop := context.WithCancel(t.Context())
	var askers sync.WaitGroup
	var asked atomic.Int64
	for range 8 {
		askers.Go(func() {
			for ctx.Err() == nil {
				if err := askOnce(client, b.URL); err != nil {
					t.Errorf("after %d good answers: %v", asked.Load(), err)
					return
				}
				asked.Add(1)
			}
		})
	}
	for _, r := range old {
		next := newReplica(t)
		b.take(t, next)
		before := asked.Load()
		r.end(t)
		if asked.Load() == before {
			t.Error("nobody asked while a replica ended")
		}
		defer next.end(t)
	}
	before := asked.Load()
	for deadline := time.Now().Add(20 * time.Second); asked.Load() < before+100 && time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
	}
	stop()
	askers.Wait()
	t.Logf("%d calls were answered", asked.Load())
	if asked.Load() < before+100 {
		t.Error("the new replicas hardly answer")
	}
}

// askOnce asks for a decision whose outcome is known.
func askOnce(client *http.Client, base string) error {
	resp, err := client.Post(base+"/v1/decide", "application/json", bytes.NewReader([]byte(preText)))
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte(`{"decision":"deny","reason":"denied by hook 'no-force-push'`)) {
		return fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	return nil
}
