package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func post(t *testing.T, address string) (status int, body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(`{"hook_schema":1}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func TestAHookAnswersAsItsPathSaysAndCounts(t *testing.T) {
	s := httptest.NewServer(newHook().handler())
	defer s.Close()
	for path, want := range map[string]int{"/allow": http.StatusOK, "/after/1ms": http.StatusOK, "/after/soon": http.StatusNotFound, "/nothing": http.StatusNotFound} {
		status, body, err := post(t, s.URL+path)
		if err != nil || status != want || (want == http.StatusOK && body != `{"decision":"allow"}`) {
			t.Errorf("%s: %d %q %v", path, status, body, err)
		}
	}
	if _, _, err := post(t, s.URL+"/reset"); err == nil {
		t.Error("/reset: no error")
	}
	resp, err := s.Client().Get(s.URL + "/counts")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var got map[string]count
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	delete(got, "/reset") // the transport may have tried again
	if diff := cmp.Diff(map[string]count{"/allow": {1, 0}, "/after/1ms": {1, 0}, "/after/soon": {1, 0}}, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestAHangingHookWaitsForItsCallerToLeave(t *testing.T) {
	h := newHook()
	s := httptest.NewServer(h.handler())
	defer s.Close()
	client := &http.Client{Timeout: 50 * time.Millisecond}
	if resp, err := client.Post(s.URL+"/hang", "application/json", strings.NewReader("{}")); err == nil {
		_ = resp.Body.Close()
		t.Error("it answered")
	}
}

func TestTheProxyForwardsToItsTarget(t *testing.T) {
	s := httptest.NewServer(newHook().handler())
	defer s.Close()
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := httptest.NewServer(proxy(to))
	defer p.Close()
	if status, body, err := post(t, p.URL+"/allow"); err != nil || status != http.StatusOK || body != `{"decision":"allow"}` {
		t.Errorf("%d %q %v", status, body, err)
	}
}

func TestOtherArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"hook", "x"}, {"proxy"}, {"proxy", "://"}} {
		if err := run(args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
