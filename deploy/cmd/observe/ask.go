package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookgate/hookgate/deploy/dashcheck"
)

// mayBeEmpty returns the panels that may have no data here, with the reason.
func mayBeEmpty() map[string]string { return nil }

// ask runs all queries of the dashboards on a server and checks its rules,
// repeating until all have data.
func (s *stack) ask(ctx context.Context, server server, dashboards []string) error {
	var read []*dashcheck.Dashboard
	questions := 0
	for _, path := range dashboards {
		d, err := dashcheck.Read(path)
		if err != nil {
			return err
		}
		read = append(read, d)
		questions += len(d.Questions)
	}
	asking := &dashcheck.Asking{
		Server: &server.Server, ScrapeInterval: scrapeInterval, Back: time.Minute, MayBeEmpty: mayBeEmpty(),
	}
	rules := 0
	if err := s.until(ctx, "every query comes back with data", func() error {
		var errs []error
		for i, d := range read {
			if err := asking.Ask(ctx, d); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", filepath.Base(dashboards[i]), err))
			}
		}
		var err error
		rules, err = evaluated(ctx, &server.Server)
		return errors.Join(append(errs, err, server.keepsHistograms(ctx), server.bounded(ctx))...)
	}); err != nil {
		return err
	}
	fmt.Printf("%s histograms: %d queries of %d dashboards come back with data, %d rules are evaluated\n", server.mode, questions, len(read), rules)
	return nil
}

// keepsHistograms checks that the server stores the kind of histograms that it
// is meant to test; otherwise the other kind would not be tested at all.
func (s *server) keepsHistograms(ctx context.Context) error {
	buckets, err := s.Points(ctx, "hookgate_decision_duration_seconds_bucket", true, 0, 0)
	if err != nil {
		return err
	}
	native, err := s.Points(ctx, "histogram_count(hookgate_decision_duration_seconds)", true, 0, 0)
	if err != nil {
		return err
	}
	if (buckets > 0) != (s.mode == classicHistograms) || (native > 0) != (s.mode == nativeHistograms) {
		return fmt.Errorf("there are %d series of classic buckets and %d of native histograms", buckets, native)
	}
	return nil
}

// bounded checks that invented tool names do not become label values.
func (s *server) bounded(ctx context.Context) error {
	tools, err := s.LabelValues(ctx, "hookgate_decisions_total", "tool")
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if strings.HasPrefix(tool, "made_up") {
			return fmt.Errorf("tool %q, which no hook names, is a label", tool)
		}
	}
	if !slices.Contains(tools, "other") {
		return fmt.Errorf("tools that no hook names are not counted: %q", tools)
	}
	return nil
}

// evaluated checks every rule: a recording rule must have recorded something,
// and an alerting rule must have been evaluated without an error.
func evaluated(ctx context.Context, server *dashcheck.Server) (int, error) {
	rules, err := server.Rules(ctx)
	if err != nil {
		return 0, err
	}
	errs := make([]error, 0, len(rules))
	for _, r := range rules {
		if r.Health != "ok" {
			errs = append(errs, fmt.Errorf("rule %s is %s: %s", r.Name, r.Health, r.LastError))
			continue
		}
		if r.Type != "recording" {
			continue
		}
		n, err := server.Points(ctx, r.Name, true, 0, 0)
		if err == nil && n == 0 {
			err = errors.New("has recorded nothing")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("rule %s: %w", r.Name, err))
		}
	}
	if len(rules) == 0 {
		errs = append(errs, errors.New("the server has no rules"))
	}
	return len(rules), errors.Join(errs...)
}
