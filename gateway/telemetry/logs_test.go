package telemetry

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/hookgate/hookgate/gateway/audit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collecting is an OTLP collector that responds with a status and records its
// last request.
func collecting(t *testing.T, status int) (*httptest.Server, *atomic.Pointer[[]byte]) {
	t.Helper()
	var last atomic.Pointer[[]byte]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			plain, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = plain
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		last.Store(&text)
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s, &last
}

func TestRecordsAreExportedAsLogs(t *testing.T) {
	s, last := collecting(t, http.StatusOK)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.pod.name=gateway-0")
	l, err := NewLogs(t.Context(), Options{URL: s.URL + "/v1/logs", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1800000000, 5)
	if err := l.Write(t.Context(), []audit.Record{{Time: at, Body: []byte(`{"id":"a"}`)}, {Time: at, Body: []byte(`{"id":"b"}`)}}, true); err != nil {
		t.Fatal(err)
	}
	var sent collector.ExportLogsServiceRequest
	if err := proto.Unmarshal(*last.Load(), &sent); err != nil {
		t.Fatal(err)
	}
	resource := sent.ResourceLogs[0].Resource.String()
	for _, want := range []string{"hookgate", "v1", "gateway-0"} {
		if !strings.Contains(resource, want) {
			t.Errorf("the resource %s has no %s", resource, want)
		}
	}
	records := sent.ResourceLogs[0].ScopeLogs[0].LogRecords
	if len(records) != 2 || records[1].Body.GetStringValue() != `{"id":"b"}` || records[0].TimeUnixNano != uint64(at.UnixNano()) || records[0].EventName != "hookgate.decision" {
		t.Errorf("sent were %v", records)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestACollectorThatRefusesIsAnErrorOfTheSink(t *testing.T) {
	s, _ := collecting(t, http.StatusBadRequest)
	l, err := NewLogs(t.Context(), Options{URL: s.URL + "/v1/logs", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Write(t.Context(), []audit.Record{{Body: []byte(`{}`)}}, false); err == nil {
		t.Error("what was refused counts as written")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
