package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hookgate/hookgate/bench/internal/lab"
	"github.com/hookgate/hookgate/bench/internal/load"
)

func (b *bench) write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

// breaker measures a hook that resets every connection.
func (b *bench) breaker(ctx context.Context) error {
	const failures, open = 5, 500 * time.Millisecond
	h, err := b.Hook(ctx)
	if err != nil {
		return err
	}
	dead, err := b.Gateway(ctx, oneHook(h.URL+"/reset", fmt.Sprintf("breaker: {consecutive_failures: %d, open_ms: %d, half_open_probes: 1}", failures, open.Milliseconds())))
	if err != nil {
		return err
	}
	good, err := b.Gateway(ctx, "schema: 1\nhooks:\n  - {name: no-force-push, use: no-force-push}\n")
	if err != nil {
		return err
	}
	began := time.Now()
	all, err := b.compare(ctx, pace{conns: 16},
		target{name: "an in-process allow", server: good},
		target{name: "a dead hook, breaker open", server: dead, want: `"decision":"deny"`})
	if err != nil {
		return err
	}
	asked, _, err := h.Counts(ctx, "/reset")
	if err != nil {
		return err
	}
	// Every caller may have reached the hook before the breaker opened. A probe
	// may reach it twice if the connection that it reused was broken.
	allowed := failures + 16 + 2*(1+int(time.Since(began)/open))
	fmt.Printf("   the dead hook was asked %d times in %.1f s\n", asked, time.Since(began).Seconds())
	b.promise(atLeast(0.9, "a dead hook with its breaker open at c16: rate of an in-process allow", all[1].ratio(all[0], rate)))
	b.promise(atMost(1, "×", "what the dead hook sees: a probe each time the breaker may try", []float64{float64(asked) / float64(allowed)}))
	return nil
}

// bulkhead hangs 500 calls on one hook and measures another one.
func (b *bench) bulkhead(ctx context.Context) error {
	const held = 500
	h, err := b.Hook(ctx)
	if err != nil {
		return err
	}
	g, err := b.Gateway(ctx, fmt.Sprintf(`schema: 1
budget_ms: 120000
hooks:
  - {name: hangs, tools: [hangs], url: %[1]s/hang, timeout_ms: 110000, max_in_flight: %[2]d}
  - {name: answers, tools: [shell], url: %[1]s/allow}
`, h.URL, held))
	if err != nil {
		return err
	}
	fast := target{name: "another hook, alone", server: g}
	slow := strings.Replace(lab.Envelope, `"tool_name":"shell"`, `"tool_name":"hangs"`, 1)
	alone, beside := visits{}, visits{}
	var refused []float64
	for range b.rounds {
		v, err := b.visit(ctx, fast, pace{conns: 8})
		if err != nil {
			return err
		}
		alone = append(alone, v)
		v, late, err := b.besideHanging(ctx, h, fast, slow, held)
		if err != nil {
			return err
		}
		beside, refused = append(beside, v), append(refused, millis(late))
	}
	fmt.Printf("   c8: %.0f answers/s alone, %.0f beside %d that hang\n", median(alone.each(rate)), median(beside.each(rate)), held)
	b.promise(atLeast(0.95, "beside 500 hanging calls at c8: rate of another hook alone", beside.ratio(alone, rate)))
	b.promise(atMost(25, "ms", "p99 of refusing the call after the 500th", refused))
	return nil
}

// besideHanging visits fast while held calls hang, and returns how long it
// takes to refuse additional ones.
func (b *bench) besideHanging(ctx context.Context, h *lab.Server, fast target, slow string, held int) (visit, time.Duration, error) {
	hanging, leave := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer leave()
	wait.Go(func() {
		// It ends with its context, which is not a failure.
		_, _ = load.Run(hanging, load.Options{URL: fast.server.URL, Body: []byte(slow), Conns: held, Once: true, Measure: 2 * time.Minute})
	})
	if err := waiting(ctx, h, held); err != nil {
		return visit{}, 0, err
	}
	var excess load.Result
	var excessErr error
	wait.Go(func() {
		excess, excessErr = load.Run(ctx, load.Options{
			URL: fast.server.URL, Body: []byte(slow), Want: "denies on failure: was not asked", Conns: 4, Rate: 50, Warm: b.warm, Measure: b.measure,
		})
	})
	v, err := b.visit(ctx, fast, pace{conns: 8})
	leave()
	wait.Wait()
	if err == nil {
		err = excessErr
	}
	if err == nil && (excess.Failed > 0 || len(excess.Answers) == 0) {
		err = fmt.Errorf("the calls on top: %d refused, %d not: %s", len(excess.Answers), excess.Failed, excess.Why)
	}
	if err != nil {
		return visit{}, 0, err
	}
	return v, excess.Quantile(0.99), waiting(ctx, h, 0)
}

// waiting waits until n calls hang.
func waiting(ctx context.Context, h *lab.Server, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, now, err := h.Counts(ctx, "/hang")
		if err != nil || now == n {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d calls hang, want %d: %w", now, n, ctx.Err())
		case <-tick.C:
		}
	}
}

// held sends 5,000 calls at once to a hook: to a cold one, and to one that
// takes time to answer.
func (b *bench) held(ctx context.Context) error {
	const calls = 5000
	keys := []string{"timeout_ms: 50000", fmt.Sprintf("max_in_flight: %d", calls)}
	var failed, each []float64
	for range b.rounds {
		hook, front, cold, err := b.withProxy(ctx, "/allow", keys...)
		if err != nil {
			return err
		}
		r, _, err := b.burst(ctx, cold, calls)
		if err := errors.Join(err, end(cold, front, hook)); err != nil {
			return err
		}
		if r.Failed > 0 {
			fmt.Printf("   %d failed: %s\n", r.Failed, r.Why)
		}
		fmt.Printf("   a burst to a cold hook: %d answers, the last after %.0f ms\n", len(r.Answers), millis(r.Quantile(1)))
		failed = append(failed, float64(r.Failed))
		hook, proxy, slow, err := b.withProxy(ctx, "/after/5s", keys...)
		if err != nil {
			return err
		}
		var size [2]float64
		for i, t := range []target{proxy, slow} {
			r, grown, err := b.burst(ctx, t, calls)
			if err == nil && r.Failed > 0 {
				err = fmt.Errorf("%s: %d failed: %s", t.name, r.Failed, r.Why)
			}
			if err != nil {
				return err
			}
			size[i] = float64(grown) / 1e3 / calls
		}
		if err := end(slow, proxy, hook); err != nil {
			return err
		}
		fmt.Printf("   memory for each call held: tuned ReverseProxy %.1f kB, gateway %.1f kB\n", size[0], size[1])
		each = append(each, size[1])
	}
	b.promise(atMost(0, "", "failed answers of 5,000 at once to one cold hook", failed))
	b.promise(atMost(60, "kB", "memory for each of 5,000 calls held", each))
	return nil
}

// burst sends a request on every connection at once, and returns the maximum
// growth of the target's memory.
func (b *bench) burst(ctx context.Context, t target, calls int) (load.Result, int, error) {
	before, err := t.server.Memory()
	if err != nil {
		return load.Result{}, 0, err
	}
	watching, stop := context.WithCancel(ctx)
	peak := make(chan int)
	go func() { peak <- highest(watching, t.server) }()
	o := t.options()
	o.Conns, o.Once, o.Measure = calls, true, 45*time.Second
	r, err := load.Run(ctx, o)
	stop()
	return r, max(<-peak-before, 0), err
}

// end stops servers that the next round does not need.
func end(targets ...target) error {
	var errs []error
	for _, t := range targets {
		errs = append(errs, t.server.Stop())
	}
	return errors.Join(errs...)
}

// highest returns the maximum memory of a server, polled until ctx ends.
func highest(ctx context.Context, s *lab.Server) int {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	high := 0
	for {
		if now, err := s.Memory(); err == nil {
			high = max(high, now)
		}
		select {
		case <-ctx.Done():
			return high
		case <-tick.C:
		}
	}
}
