// Package cloudevents sends calls to a hook that uses the CloudEvents SDK for
// Go, as an independent check that they are CloudEvents.
package cloudevents

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/cloudevents/sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/gateway"
)

const (
	pre  = `{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"a","tool_call_id":"c1","tool_name":"größe 100%","input":{"b":1e400,"a":"<&>"}}`
	post = `{"hook_schema":1,"event":"post_tool_use","workspace":"/repo","agent_id":"a","tool_call_id":"c1","tool_name":"shell","input":{},"output":"x","is_error":false}`
)

// serve runs a gateway on files until the test ends, and returns its URL.
func serve(t *testing.T, operator, tenant string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"hooks.yaml": operator, "chains/team.yaml": tenant} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := gateway.New(gateway.Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: filepath.Join(dir, "chains")})
	if err != nil {
		t.Fatal(err)
	}
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(ctx, listeners[0], listeners[1]) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listeners[0].Addr().String()
}

func decide(t *testing.T, at, envelope string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(envelope))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(string(body))
}

func TestACallIsAnEventThatTheSDKTakesAndAnswers(t *testing.T) {
	var mu sync.Mutex
	var events []sdk.Event
	protocol, err := sdk.NewHTTP()
	if err != nil {
		t.Fatal(err)
	}
	handler, err := sdk.NewHTTPReceiveHandler(t.Context(), protocol, func(e sdk.Event) (*sdk.Event, sdk.Result) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
		answer := sdk.NewEvent()
		answer.SetID("answer-" + e.ID())
		answer.SetSource("/hook")
		answer.SetType("decision")
		if err := answer.SetData(sdk.ApplicationJSON, map[string]string{"decision": "deny", "reason": e.Type()}); err != nil {
			return nil, err
		}
		return &answer, sdk.ResultACK
	})
	if err != nil {
		t.Fatal(err)
	}
	// The SDK does not show whether the whole event came from headers.
	var headers []http.Header
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		headers = append(headers, r.Header.Clone())
		mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(hook.Close)
	entry := fmt.Sprintf("schema: 1\nhooks:\n  - {name: h, url: %q, cloudevents: true, signing: {secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}", hook.URL)
	base := serve(t, "schema: 1\nhooks: []\n", entry+"}\n  - {name: i, url: \""+hook.URL+"\", event: post_tool_use, cloudevents: true}\n")

	for i, c := range []struct{ envelope, kind, subject string }{
		{pre, "io.github.hookgate.pre_tool_use", "größe 100%"},
		{post, "io.github.hookgate.post_tool_use", "shell"},
	} {
		name := []string{"h", "i"}[i]
		want := fmt.Sprintf(`{"decision":"deny","reason":"denied by hook '%s': %s"}`, name, c.kind)
		if got := decide(t, base+"/v1/chains/team/decide", c.envelope); got != want {
			t.Errorf("answered %s, want %s", got, want)
		}
		mu.Lock()
		e := events[i]
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
		if age := time.Since(e.Time()); age < 0 || age > time.Minute {
			t.Errorf("the event is %v old", age)
		}
		// The HTTP binding requires receivers to decode percent-encoded header
		// values. This SDK does not, up to version 2.16.
		subject, err := url.PathUnescape(e.Subject())
		if err != nil {
			t.Error(err)
		}
		got := map[string]string{
			"specversion": e.SpecVersion(), "type": e.Type(), "source": e.Source(), "subject": subject, "datacontenttype": e.DataContentType(),
			"data": string(e.Data()), "extensions": fmt.Sprint(e.Extensions()), "id": e.ID(),
		}
		if diff := cmp.Diff(map[string]string{
			"specversion": "1.0", "type": c.kind, "source": "/hookgate/chains/team", "subject": c.subject, "datacontenttype": "application/json",
			"data": c.envelope, "extensions": "map[]", "id": headers[i].Get("Idempotency-Key"),
		}, got); diff != "" {
			t.Errorf("the event (-want +got):\n%s", diff)
		}
		mu.Unlock()
	}
}

func TestAnEventThatTheSDKOnlyAcknowledgesIsNoAnswer(t *testing.T) {
	protocol, err := sdk.NewHTTP()
	if err != nil {
		t.Fatal(err)
	}
	handler, err := sdk.NewHTTPReceiveHandler(t.Context(), protocol, func(sdk.Event) sdk.Result { return sdk.ResultACK })
	if err != nil {
		t.Fatal(err)
	}
	hook := httptest.NewServer(handler)
	t.Cleanup(hook.Close)
	base := serve(t, fmt.Sprintf("schema: 1\nhooks:\n  - {name: h, url: %q, cloudevents: true}\n", hook.URL), "schema: 1\nhooks: []\n")
	want := `{"decision":"deny","reason":"hook 'h' could not answer and denies on failure: answered nothing"}`
	if got := decide(t, base+"/v1/decide", pre); got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
}
