package gateway

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func TestG9_AStopLetsCallsInFlightEnd(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	r := start(t, Options{Interceptors: intercepting("i", func(context.Context, *chain.Request) (chain.Outcome, error) {
		close(entered)
		<-release
		return chain.Outcome{Decision: chain.Deny, Reason: "in the end"}, nil
	})})
	if ready := r.do(http.MethodGet, r.admin+"/readyz", ""); ready.status != http.StatusOK {
		t.Fatalf("readyz answers %d: %s", ready.status, ready.body)
	}
	reasons, stopped := make(chan string, 1), make(chan error, 1)
	go func() { _, reason := r.decide("", preText); reasons <- reason }()
	<-entered
	go func() { stopped <- r.stop() }()
	eventually(t, "it is not ready", func() bool {
		ready := r.do(http.MethodGet, r.admin+"/readyz", "")
		return ready.status == http.StatusServiceUnavailable && strings.Contains(ready.body, `"status":"stopping"`)
	})
	eventually(t, "nobody is let in", func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.base, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	close(release)
	if got := <-reasons; got != "denied by interceptor 'i': in the end" {
		t.Errorf("the call in flight gets %q", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("the stop ends with %v", err)
	}
}

func TestG9_AStopDoesNotWaitBeyondTheDrainTimeout(t *testing.T) {
	entered := make(chan struct{})
	r := start(t, Options{DrainTimeout: 50 * time.Millisecond, Interceptors: intercepting("i", func(ctx context.Context, _ *chain.Request) (chain.Outcome, error) {
		close(entered)
		<-ctx.Done()
		return chain.Outcome{}, ctx.Err()
	})})
	conn := r.dial(posted(preText))
	defer shut(t, conn)
	<-entered
	if err := r.stop(); err != nil {
		t.Errorf("the stop ends with %v", err)
	}
	if !strings.Contains(r.log.String(), "the drain timeout passed: calls still in flight were cut off") {
		t.Error("the log does not say so")
	}
}

func TestG9_AStopDoesNotWaitForShadows(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	endpoint := newHookServer(t, waits(never))
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: s, url: " + endpoint.URL + ", mode: shadow, timeout_ms: 600000}\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	r.decide("", preText)
	eventually(t, "the shadow is asked", func() bool { return endpoint.asked() == 1 })
	if err := r.stop(); err != nil { // otherwise the test hangs
		t.Errorf("the stop ends with %v", err)
	}
}

func TestAStopEndsThoseWhoFollow(t *testing.T) {
	r := start(t, Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.base+"/v1/decisions", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, resp.Body)
	if err := r.stop(); err != nil {
		t.Errorf("the stop ends with %v", err)
	}
}

func TestListeningBeyondTheLoopbackHasToBeAllowed(t *testing.T) {
	for addr, refused := range map[string]bool{
		"127.0.0.1:0": false, "localhost:0": false, "[::1]:0": false, "": false,
		"0.0.0.0:0": true, ":0": true, "[::]:0": true, "192.0.2.1:80": true,
	} {
		g, err := New(Options{Addr: addr})
		if (err != nil) != refused {
			t.Errorf("%q: %v", addr, err)
		}
		if err != nil {
			if !strings.Contains(err.Error(), "HOOKGATE_ALLOW_ANONYMOUS=true") {
				t.Errorf("%q: the error does not say what to do: %v", addr, err)
			}
			if g, err = New(Options{Addr: addr, AllowAnonymous: true}); err != nil {
				t.Fatalf("%q, allowed: %v", addr, err)
			}
		}
		g.Close()
	}
}

func TestAnAddressWithoutAPortIsNamed(t *testing.T) {
	_, err := New(Options{Addr: "8080"})
	if want := `the address of the main listener (HOOKGATE_ADDR) is "8080": use HOST:PORT, like 127.0.0.1:8080`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	_, err := New(Options{MaxRequestBytes: -1, MaxInFlight: -1, MaxTurns: -1, BodyTimeout: -1, DrainTimeout: -1, ReloadInterval: -1, InterceptorTimeout: -1, InterceptorInlineUpTo: -1})
	if err == nil {
		t.Fatal("New took them")
	}
	want := `MaxRequestBytes is negative: give a positive value
MaxInFlight is negative: give a positive value
MaxTurns is negative: give a positive value
BodyTimeout is negative: give a positive value
DrainTimeout is negative: give a positive value
ReloadInterval is negative: give a positive value
InterceptorTimeout is negative: give a positive value
InterceptorInlineUpTo is negative: give a positive value`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestAnAddressInUseIsSaid(t *testing.T) {
	taken := listenLoopback(t)
	defer shut(t, taken)
	for variable, o := range map[string]Options{
		"HOOKGATE_ADDR":       {Addr: taken.Addr().String(), AdminAddr: "127.0.0.1:0"},
		"HOOKGATE_ADMIN_ADDR": {Addr: "127.0.0.1:0", AdminAddr: taken.Addr().String()},
	} {
		var logged bytes.Buffer
		o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		g, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Run(t.Context()); err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s: %v", variable, err)
		}
		if strings.Contains(logged.String(), "in force") {
			t.Errorf("%s: a configuration that decides nothing is logged as in force:\n%s", variable, logged.String())
		}
	}
}

func TestG4_WithoutAConfigurationNothingIsAllowed(t *testing.T) {
	r := start(t, Options{})
	r.gateway.Close()
	got := r.ask("", preText)
	decision, _ := decisionIn(t, got.body)
	if got.status != http.StatusServiceUnavailable || decision != "deny" {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if got := r.do(http.MethodGet, r.base+"/v1/hooks", ""); got.status != http.StatusServiceUnavailable {
		t.Errorf("/v1/hooks answers %d", got.status)
	}
	if got := r.do(http.MethodGet, r.admin+"/readyz", ""); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "starting") {
		t.Errorf("/readyz answers %d: %s", got.status, got.body)
	}
	r.reload() // has no effect on a closed gateway
}

func TestProfilesAreOffUnlessAskedFor(t *testing.T) {
	for _, on := range []bool{false, true} {
		r := start(t, Options{Pprof: on})
		got := r.do(http.MethodGet, r.admin+"/debug/pprof/cmdline", "")
		if (got.status == http.StatusOK) != on {
			t.Errorf("on: %v, status %d", on, got.status)
		}
		if got := r.do(http.MethodGet, r.admin+"/healthz", ""); got.body != `{"status":"alive"}` {
			t.Errorf("healthz: %s", got.body)
		}
	}
}

func TestG9_AnAnnouncedStopStillAnswersAndAsksForAnotherConnection(t *testing.T) {
	r := start(t, Options{DrainDelay: 2 * time.Second})
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	eventually(t, "it is not ready", func() bool {
		return r.do(http.MethodGet, r.admin+"/readyz", "").status == http.StatusServiceUnavailable
	})
	got := r.raw(posted(preText))
	if !strings.HasPrefix(got, "HTTP/1.1 200 OK") || !strings.Contains(got, "\r\nConnection: close\r\n") || !strings.HasSuffix(got, `{"decision":"allow"}`) {
		t.Errorf("it is answered %s", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
