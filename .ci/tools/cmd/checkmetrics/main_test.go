package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary act as the gateway and as promtool.
func TestMain(m *testing.M) {
	switch os.Getenv("CHECKMETRICS_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "gateway":
		if len(os.Args) > 1 && os.Args[1] == "serve" {
			gateway(os.Getenv("CHECKMETRICS_TEST_FAULT"))
			return
		}
		promtool()
	}
}

func gateway(fault string) {
	if fault == "does not start" {
		fmt.Fprintln(os.Stderr, "no such file: hooks.yaml")
		os.Exit(1)
	}
	metrics := "# HELP hookgate_x_total X.\n# TYPE hookgate_x_total counter\nhookgate_x_total 1\n"
	switch fault {
	case "exposes nothing":
		metrics = "# nothing\n"
	case "exposes bad names":
		metrics = "# lint me\nhookgate_camelCase 1\n"
	}
	main := http.NewServeMux()
	main.HandleFunc("POST /v1/decide", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) == "{" && fault != "decides anything" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	admin := http.NewServeMux()
	admin.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	admin.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, metrics) })
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() { _ = http.ListenAndServe(os.Getenv("HOOKGATE_ADDR"), main) }()
	go func() { _ = http.ListenAndServe(os.Getenv("HOOKGATE_ADMIN_ADDR"), admin) }()
	<-ctx.Done()
	if fault == "ends badly" {
		os.Exit(3)
	}
}

func promtool() {
	text, _ := io.ReadAll(os.Stdin)
	if strings.Contains(string(text), "camelCase") {
		fmt.Println("metric names should be written in 'snake_case' not 'camelCase'")
		os.Exit(3)
	}
}

func TestWhatIsWrongWithTheGatewayFailsTheCheck(t *testing.T) {
	for fault, want := range map[string]string{
		"":                  "",
		"does not start":    "no such file: hooks.yaml",
		"exposes nothing":   "has no series of the gateway's own",
		"exposes bad names": "should be written in 'snake_case'",
		"decides anything":  "status 200, want 400",
		"ends badly":        "exit status 3",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Setenv("CHECKMETRICS_TEST_ROLE", "gateway")
			t.Setenv("CHECKMETRICS_TEST_FAULT", fault)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var out strings.Builder
			err := check(ctx, &out, os.Args[0], os.Args[0])
			switch {
			case want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case want == "" && out.String() != "promtool has nothing to say to 1 series\n":
				t.Errorf("said %q", out.String())
			case want != "" && !strings.Contains(fmt.Sprint(err), want):
				t.Errorf("error %v, want one that says %q", err, want)
			}
		})
	}
}
