package credential

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authorizer is the interface of every kind.
type authorizer interface {
	Authorize(ctx context.Context, r *http.Request, body []byte) error
	String() string
}

// hookRequest returns a request as the gateway sends it, before it is
// authorized.
func hookRequest(tb testing.TB, url, body string) *http.Request {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity",
		"User-Agent": "hookgate/test", "Idempotency-Key": "msg_1", "X-Hookgate-Timeout-Ms": "5000",
		"Webhook-Id": "msg_1", "Webhook-Timestamp": "1614265330", "Webhook-Signature": "v1,abc=",
		"Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	} {
		r.Header.Set(name, value)
	}
	return r
}

// authorized returns the Authorization header that a credential sets.
func authorized(t *testing.T, a authorizer) (string, error) {
	t.Helper()
	r := hookRequest(t, "http://127.0.0.1:1/hook", "{}")
	before := r.Header.Clone()
	err := a.Authorize(t.Context(), r, []byte("{}"))
	if err != nil && len(before) != len(r.Header) {
		t.Errorf("A1: the request was changed by a call that failed: %v", r.Header)
	}
	return r.Header.Get("Authorization"), err
}

// stub is a loopback endpoint that records its requests.
type stub struct {
	*httptest.Server

	mu    sync.Mutex
	asked []*http.Request // with their bodies read
	forms []string
}

func newStub(t *testing.T, answer http.HandlerFunc) *stub {
	t.Helper()
	s := &stub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("stub: %v", err)
		}
		s.mu.Lock()
		s.asked, s.forms = append(s.asked, r), append(s.forms, string(body))
		s.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stub) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// inProcess is a RoundTripper without a network, for tests with a fake clock
// and for addresses that do not exist here.
type inProcess func(http.ResponseWriter, *http.Request)

func (f inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	f(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

// over makes a token use an in-process handler as its endpoint.
func over(token *Token, handler http.HandlerFunc) {
	token.header.wire = func() *wire { return &wire{next: inProcess(handler)} }
}

// answers is a handler with a fixed response.
func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
