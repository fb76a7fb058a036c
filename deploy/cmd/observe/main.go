// Command observe runs a gateway under the traffic of examples/observability,
// has Prometheus servers scrape it, with native histograms and without, and
// checks that every query of every dashboard comes back with data and that every
// rule is evaluated.
//
// Everything that is started here listens on the loopback and is ended here, by
// its own process.
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

// patience is how long the whole check may take.
const patience = 3 * time.Minute

// options are what the check needs.
type options struct {
	root                string // of the repository
	gateway, prometheus string // programs
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

// observe starts everything, makes things happen, and asks.
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
