package lab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestMain lets the test binary act as a gateway.
func TestMain(m *testing.M) {
	switch os.Getenv("LAB_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "gateway":
		ready := http.NewServeMux()
		ready.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
		go func() { _ = http.ListenAndServe(os.Getenv("HOOKGATE_ADMIN_ADDR"), ready) }()
		decide := http.NewServeMux()
		decide.HandleFunc("POST /v1/decide", func(w http.ResponseWriter, _ *http.Request) {
			hooks, _ := os.ReadFile(os.Getenv("HOOKGATE_CONFIG"))
			_, _ = w.Write(hooks)
		})
		fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Getenv("HOOKGATE_ADDR"), decide))
		os.Exit(1)
	case "broken":
		fmt.Fprintln(os.Stderr, "hooks.yaml:1: what?")
		os.Exit(1)
	}
}

func newLab(t *testing.T, role string) *Lab {
	t.Helper()
	t.Setenv("LAB_TEST_ROLE", role)
	l, err := New(Programs{Gateway: os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAGatewayRunsWithItsHooksFileUntilTheLabCloses(t *testing.T) {
	l := newLab(t, "gateway")
	g, err := l.Gateway(t.Context(), "hooks: []\n")
	if err != nil {
		t.Fatal(err)
	}
	if took, err := g.Decided(t.Context()); err != nil || took <= 0 {
		t.Errorf("decided after %v, %v", took, err)
	}
	if body, err := Ask(t.Context(), http.MethodPost, g.URL, Envelope); err != nil || string(body) != "hooks: []\n" {
		t.Errorf("answered %q, %v", body, err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	<-g.Ended()
	if _, err := os.Stat(l.Dir); !os.IsNotExist(err) {
		t.Errorf("the lab's files are left: %v", err)
	}
}

func TestAGatewayThatDoesNotStartIsAnErrorWithWhatItSaid(t *testing.T) {
	l := newLab(t, "broken")
	_, err := l.Gateway(t.Context(), "what?")
	if err == nil || !strings.Contains(err.Error(), "hooks.yaml:1: what?") {
		t.Errorf("error %v", err)
	}
	if err := l.Close(); err == nil {
		t.Error("closing does not say that a program failed")
	}
}

func TestAnEnvelopeHasTheSizeAskedForAndIsJSON(t *testing.T) {
	for _, size := range []int{0, 10_000, 900_000} {
		e := EnvelopeOf(size)
		if !json.Valid([]byte(e)) {
			t.Errorf("%d: not JSON", size)
		}
		if size > 0 && (len(e) < size-20 || len(e) > size+20) {
			t.Errorf("%d: is %d bytes", size, len(e))
		}
	}
}
