package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

func TestSpansAreMadeWhereTheStandardVariablesSaySo(t *testing.T) {
	for environ, want := range map[string]bool{
		"": false, "OTEL_SERVICE_NAME=x": false, "OTEL_TRACES_EXPORTER=otlp": true, "OTEL_TRACES_EXPORTER=none": false,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318": true, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:4318": true,
		"OTEL_TRACES_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318": false,
		"OTEL_SDK_DISABLED=true OTEL_TRACES_EXPORTER=otlp":                    false,
	} {
		if got := (&program{environ: strings.Fields(environ)}).wantsTraces(); got != want {
			t.Errorf("with %q: %v", environ, got)
		}
	}
}

func TestSpansAndRecordsReachACollector(t *testing.T) {
	var mu sync.Mutex
	paths := map[string]int{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		paths[r.URL.Path]++
	}))
	defer collector.Close()
	s := serving(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "HOOKGATE_AUDIT_OTLP=true", "HOOKGATE_AUDIT_STDOUT=true")
	if got := commandLine(t, nil, preText, "ask", "--url", "http://"+s.addr); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if code := s.stop(); code != 0 {
		t.Fatalf("it exits with %d: %s", code, s.log)
	}
	mu.Lock()
	defer mu.Unlock()
	if paths["/v1/traces"] == 0 || paths["/v1/logs"] == 0 {
		t.Errorf("the collector was sent %v", paths)
	}
}
