// Command soak keeps a gateway busy for minutes with all kinds of hooks — good,
// hanging, resetting connections, flapping, subprocesses — while its hooks file
// is rewritten every few seconds, sometimes with a mistake in it.
//
// It succeeds if every call was answered with 200 and the gateway's resources
// return to their initial level: goroutines, file descriptors, memory and child
// processes, without zombies.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hookgate/hookgate/bench/internal/lab"
	"github.com/hookgate/hookgate/bench/internal/load"
)

func main() {
	os.Exit(start())
}

func start() int {
	var s soak
	flag.StringVar(&s.programs.Gateway, "gateway", "", "the gateway's binary")
	flag.StringVar(&s.programs.Peer, "peer", "", "binary of cmd/peer")
	flag.StringVar(&s.programs.Say, "say", "", "binary of cmd/say")
	flag.DurationVar(&s.lasts, "for", 10*time.Minute, "how long calls are made")
	flag.DurationVar(&s.rewrite, "rewrite", 5*time.Second, "how often the hooks file is rewritten")
	flag.DurationVar(&s.settle, "settle", 3*time.Minute, "how long the gateway may take to be back where it was")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return 1
	}
	fmt.Println("soak: good")
	return 0
}

type soak struct {
	programs               lab.Programs
	lasts, rewrite, settle time.Duration
	lab                    *lab.Lab
	hook, gateway          *lab.Server
	file                   string // the path of the hooks file
}

func (s *soak) run(ctx context.Context) (err error) {
	if s.lab, err = lab.New(s.programs); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.lab.Close()) }()
	if s.hook, err = s.lab.Hook(ctx); err != nil {
		return err
	}
	s.file = filepath.Join(s.lab.Dir, "hooks.yaml")
	if err := replace(s.file, s.hooks(0)); err != nil {
		return err
	}
	s.gateway, err = s.lab.Gateway(ctx, "", "HOOKGATE_CONFIG="+s.file, "HOOKGATE_PPROF=true", "HOOKGATE_LOG_LEVEL=error", "HOOKGATE_RELOAD_INTERVAL=1s")
	if err != nil {
		return err
	}
	// What a gateway retains after its first work is not a leak, so the baseline
	// is measured after a short load.
	if _, err := s.work(ctx, 15*time.Second); err != nil {
		return err
	}
	before, err := s.settled(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Println("before:", before)
	answered, err := s.work(ctx, s.lasts)
	if err != nil {
		return err
	}
	fmt.Printf("%d calls were answered with 200 in %v, over %d revisions of the hooks file\n", answered.calls, s.lasts, answered.revisions)
	after, err := s.settled(ctx, &before)
	fmt.Println("after: ", after)
	return err
}

// traffic is one kind of call. Each has its own tool, and thereby its own hook.
type traffic struct {
	tool string
	rate float64
}

func mix() []traffic {
	return []traffic{
		{"good", 200}, {"hangs", 20}, {"resets", 50}, {"flaps", 50}, {"program", 10}, {"worker", 50}, {"shell", 100},
	}
}

// hooks returns a revision of the hooks file. Some entries differ between
// revisions, others stay. Every eighth revision contains a mistake and must have
// no effect.
func (s *soak) hooks(revision int) string {
	if revision%8 == 7 {
		return "schema: 1\nhooks:\n  - {name: mistaken, ulr: " + s.hook.URL + "}\n"
	}
	text := fmt.Sprintf(`schema: 1
budget_ms: 5000
hooks:
  - {name: good, tools: [good], url: %[1]s/allow}
  - {name: hangs, tools: [hangs], url: %[1]s/hang, timeout_ms: %[3]d, breaker: {consecutive_failures: 20, open_ms: 1000, half_open_probes: 1}}
  - {name: resets, tools: [resets], url: %[1]s/reset, on_failure: allow, breaker: {consecutive_failures: 5, open_ms: 500, half_open_probes: 1}}
  - {name: flaps, tools: [flaps], url: %[1]s/flap, breaker: {consecutive_failures: 5, open_ms: 200, half_open_probes: 1}}
  - {name: program, tools: [program], command: [%[2]q]}
  - {name: worker, tools: [worker], command: [%[2]q, -lines], worker: {processes: 2}}
`, s.hook.URL, s.lab.Say, 200+revision%3)
	if revision%2 == 1 {
		text += fmt.Sprintf("  - {name: added, tools: [good, worker], url: %s/allow, guard: true}\n", s.hook.URL)
	}
	if revision%4 == 2 {
		text += fmt.Sprintf("  - {name: shadowed, tools: [good], url: %s/reset, mode: shadow}\n", s.hook.URL)
	}
	return text
}

// replace replaces a file atomically, as a mounted volume does.
func replace(file, text string) error {
	next := file + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}

type worked struct {
	calls, revisions int
}

// work sends calls of every kind for a while and rewrites the hooks file,
// finally restoring its first revision.
func (s *soak) work(ctx context.Context, lasts time.Duration) (worked, error) {
	var (
		wait  sync.WaitGroup
		mu    sync.Mutex
		total worked
		errs  []error
	)
	for _, t := range mix() {
		wait.Go(func() {
			r, err := load.Run(ctx, load.Options{
				URL: s.gateway.URL, Want: `{"decision":"`, Conns: 64, Rate: t.rate, Measure: lasts,
				Body: fmt.Appendf(nil, `{"hook_schema":1,"event":"pre_tool_use","workspace":"/w","agent_id":"a","tool_call_id":"c","tool_name":%q,"input":{"command":"ls"}}`, t.tool),
			})
			if err == nil && r.Failed > 0 {
				err = fmt.Errorf("%d calls of %s were not answered with 200: %s", r.Failed, t.tool, r.Why)
			}
			mu.Lock()
			defer mu.Unlock()
			total.calls += len(r.Answers)
			errs = append(errs, err)
		})
	}
	working, done := context.WithCancel(ctx)
	rewritten := make(chan error, 1)
	go func() {
		n, err := s.rewriteFile(working)
		total.revisions = n
		rewritten <- err
	}()
	wait.Wait()
	done()
	errs = append(errs, <-rewritten, replace(s.file, s.hooks(0)))
	return total, errors.Join(errs...)
}

// rewriteFile writes one revision after another and returns their number.
func (s *soak) rewriteFile(ctx context.Context) (int, error) {
	tick := time.NewTicker(s.rewrite)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return n - 1, nil
		case <-tick.C:
		}
		if err := replace(s.file, s.hooks(n)); err != nil {
			return n, err
		}
	}
}
