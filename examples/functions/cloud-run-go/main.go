// Command cloud-run-go is the hook as a plain HTTP server: for Cloud Run,
// Knative and every other platform that runs a container and passes the port in
// PORT, and for custom handlers of Azure Functions.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hookgate/hookgate/examples/functions/hook"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is left to undo
	}
}

// serve answers requests until ctx ends, then finishes those in flight.
func serve(ctx context.Context) error {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	h, err := hook.New(hook.Options{Secrets: os.Getenv("HOOK_SECRETS"), Log: log})
	if err != nil {
		return err
	}
	// An empty HOST means all addresses, which containers need.
	port := cmp.Or(os.Getenv("FUNCTIONS_CUSTOMHANDLER_PORT"), os.Getenv("PORT"), "8080")
	server := &http.Server{
		Addr:              net.JoinHostPort(os.Getenv("HOST"), port),
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute, // longer than the gateway keeps a connection
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 8*time.Second) // Cloud Run gives 10
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return err
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
