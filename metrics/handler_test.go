package metrics_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookgate/hookgate/metrics"
)

// get requests the metrics in a format.
func get(t *testing.T, h http.Handler, accept string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// failing is a log that must not be written to.
type failing struct{ t *testing.T }

func (f failing) Println(v ...any) { f.t.Error(v...) }

// recording is a log that keeps what is written.
type recording struct{ lines []string }

func (r *recording) Println(v ...any) { r.lines = append(r.lines, fmt.Sprintln(v...)) }

func TestTheHandlerServesTheFormatThatIsAskedFor(t *testing.T) {
	_, registry, _ := configured(t, whole())
	h, err := metrics.Handler(metrics.HandlerOptions{Gatherer: registry, ErrorLog: failing{t}})
	if err != nil {
		t.Fatal(err)
	}
	for accept, c := range map[string]struct{ contentType, end string }{
		"": {"text/plain; version=0.0.4", "\n"},
		"application/openmetrics-text; version=1.0.0": {"application/openmetrics-text; version=1.0.0", "# EOF\n"},
	} {
		w := get(t, h, accept)
		body := w.Body.String()
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || !strings.HasPrefix(got, c.contentType) {
			t.Errorf("asked for %q: status %d, %s", accept, w.Code, got)
		}
		if !strings.HasSuffix(body, c.end) || !strings.Contains(body, `hookgate_config_reloads_total{result="ok"} 0`) {
			t.Errorf("asked for %q: the body ends with %q", accept, body[max(0, len(body)-40):])
		}
	}
}

// broken is a foreign collector that fails or panics.
type broken struct {
	desc   *prometheus.Desc
	panics bool
}

func (b broken) Describe(ch chan<- *prometheus.Desc) { ch <- b.desc }

func (b broken) Collect(ch chan<- prometheus.Metric) {
	if b.panics {
		panic("out of order")
	}
	ch <- prometheus.NewInvalidMetric(b.desc, errors.New("out of order"))
}

func TestWhatCannotBeCollectedIsLoggedAndTheRestIsServed(t *testing.T) {
	for name, panics := range map[string]bool{"a collector that fails": false, "a collector that panics": true} {
		t.Run(name, func(t *testing.T) {
			_, registry, _ := configured(t, whole())
			if err := registry.Register(broken{prometheus.NewDesc("broken", "Never to be had.", nil, nil), panics}); err != nil {
				t.Fatal(err)
			}
			log := &recording{}
			h, err := metrics.Handler(metrics.HandlerOptions{Gatherer: registry, ErrorLog: log})
			if err != nil {
				t.Fatal(err)
			}
			w := get(t, h, "")
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "hookgate_decisions_total{") {
				t.Errorf("status %d:\n%s", w.Code, w.Body)
			}
			if len(log.lines) != 1 || !strings.Contains(log.lines[0], "out of order") {
				t.Errorf("logged %q", log.lines)
			}
		})
	}
}

func TestAHandlerWithoutARegistryIsRefused(t *testing.T) {
	if _, err := metrics.Handler(metrics.HandlerOptions{}); err == nil || err.Error() != "metrics: the registry is missing" {
		t.Errorf("refused with %v", err)
	}
}
