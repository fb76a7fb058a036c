package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hookgate/hookgate/bench/internal/lab"
	"github.com/hookgate/hookgate/bench/internal/load"
)

// bench is a running scenario.
type bench struct {
	*lab.Lab
	settings
	promises []promise
}

func newBench(s settings) (*bench, error) {
	l, err := lab.New(s.programs)
	if err != nil {
		return nil, err
	}
	return &bench{Lab: l, settings: s}, nil
}

func (b *bench) promise(p promise) { b.promises = append(b.promises, p) }

// target is one of the servers to compare.
type target struct {
	name   string
	server *lab.Server
	url    string // default: the server's own
	body   string // default: the envelope
	want   string // default: an allow
}

const allows = `"decision":"allow"`

func (t target) options() load.Options {
	o := load.Options{URL: t.server.URL, Body: []byte(lab.Envelope), Want: allows}
	if t.url != "" {
		o.URL = t.url
	}
	if t.body != "" {
		o.Body = []byte(t.body)
	}
	if t.want != "" {
		o.Want = t.want
	}
	return o
}

// answers waits until t has answered, so that no visit includes the startup of
// a program.
func (t target) answers(ctx context.Context) error {
	o := t.options()
	o.Conns, o.Once, o.Measure = 1, true, 30*time.Second
	r, err := load.Run(ctx, o)
	if err == nil && r.Failed > 0 {
		err = errors.New(r.Why)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return nil
}

// visit is the measurement of one visit to a target.
type visit struct {
	rate     float64       // answers per second
	cpu      time.Duration // of the target's own process, per answer
	p50, p99 time.Duration
}

// pace is how requests are sent.
type pace struct {
	conns int
	rate  float64
}

func (p pace) String() string {
	if p.rate > 0 {
		return fmt.Sprintf("%.0f a second", p.rate)
	}
	return fmt.Sprintf("c%d", p.conns)
}

// visit sends requests to t and measures. A failed answer is an error, because
// a rate that includes failures is not comparable.
func (b *bench) visit(ctx context.Context, t target, p pace) (visit, error) {
	o := t.options()
	o.Conns, o.Rate, o.Warm, o.Measure = p.conns, p.rate, b.warm, b.measure
	var before, after time.Duration
	var clock error
	read := func(into *time.Duration) func() {
		return func() {
			used, err := t.server.CPU()
			if err != nil {
				clock = err
			}
			*into = used
		}
	}
	o.Begin, o.End = read(&before), read(&after)
	r, err := load.Run(ctx, o)
	switch {
	case err != nil:
		return visit{}, fmt.Errorf("%s: %w", t.name, err)
	case clock != nil:
		return visit{}, fmt.Errorf("%s: %w", t.name, clock)
	case r.Failed > 0 || len(r.Answers) == 0:
		return visit{}, fmt.Errorf("%s at %s: %d good answers, %d failed: %s", t.name, p, len(r.Answers), r.Failed, r.Why)
	}
	return visit{
		rate: r.PerSecond(), cpu: (after - before) / time.Duration(len(r.Answers)),
		p50: r.Quantile(0.5), p99: r.Quantile(0.99),
	}, nil
}

// visits are the visits to one target, one per round.
type visits []visit

// compare visits all targets in every round, in random order, and prints a
// table.
func (b *bench) compare(ctx context.Context, p pace, targets ...target) ([]visits, error) {
	for _, t := range targets {
		if err := t.answers(ctx); err != nil {
			return nil, err
		}
	}
	all := make([]visits, len(targets))
	for range b.rounds {
		for _, i := range rand.Perm(len(targets)) { //nolint:gosec // an order, not a secret
			v, err := b.visit(ctx, targets[i], p)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], v)
		}
	}
	fmt.Printf("   %-34s %10s %10s %10s %10s\n", p, "answers/s", "CPU µs", "p50 µs", "p99 µs")
	for i, t := range targets {
		fmt.Printf("   %-34s %10.0f %10.1f %10.0f %10.0f\n", t.name, median(all[i].each(rate)), median(all[i].each(cpu)), median(all[i].each(p50)), median(all[i].each(p99)))
	}
	return all, nil
}

func rate(v visit) float64 { return v.rate }
func cpu(v visit) float64  { return micros(v.cpu) }
func p50(v visit) float64  { return micros(v.p50) }
func p99(v visit) float64  { return micros(v.p99) }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (v visits) each(of func(visit) float64) []float64 {
	values := make([]float64, len(v))
	for i := range v {
		values[i] = of(v[i])
	}
	return values
}

// ratio divides the values round by round.
func (v visits) ratio(to visits, of func(visit) float64) []float64 {
	values := make([]float64, len(v))
	for i := range v {
		values[i] = of(v[i]) / of(to[i])
	}
	return values
}
