// Command observe runs a gateway under the traffic of examples/observability,
// scraped by one Prometheus server with native histograms and one without. It
// checks that every query of every dashboard returns data and that every rule is
// evaluated.
//
// Everything that it starts listens on the loopback and is stopped by its own
// PID.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// patience is the deadline of the whole check.
const patience = 3 * time.Minute

// options are the inputs of the check.
type options struct {
	root                string // of the repository
	gateway, prometheus string // paths of the programs
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", "..", "the repository")
	flag.StringVar(&o.gateway, "gateway", "", "the gateway's binary")
	flag.StringVar(&o.prometheus, "prometheus", "prometheus", "the binary of Prometheus")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, patience)
	err := observe(ctx, o)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "observe:", err)
		os.Exit(1)
	}
}

// observe starts everything, generates events, and runs the queries.
func observe(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "observe")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &stack{options: o, dir: dir}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := s.reload(ctx); err != nil {
		return err
	}
	dashboards, err := filepath.Glob(filepath.Join(o.root, "deploy", "grafana", "*.json"))
	if err != nil || len(dashboards) == 0 {
		return fmt.Errorf("no dashboards below %s (%w)", o.root, err)
	}
	for _, server := range s.servers {
		if err := s.ask(ctx, server, dashboards); err != nil {
			return fmt.Errorf("%s: %w", server.mode, err)
		}
	}
	return nil
}
