// Command bench measures the performance that the gateway promises, relative to
// baselines that are measured in the same run, and reports which promises are
// kept.
//
// Each ratio is computed within a round, in which everything that is compared
// is visited in random order. The result is the median of all rounds with the
// minimum and the maximum. The exit status is 1 if a promise is not kept.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hookgate/hookgate/bench/internal/lab"
)

func main() {
	os.Exit(start())
}

func start() int {
	var s settings
	flag.StringVar(&s.programs.Gateway, "gateway", "", "the gateway's binary")
	flag.StringVar(&s.programs.Peer, "peer", "", "binary of cmd/peer")
	flag.StringVar(&s.programs.Ask, "ask", "", "binary of gateway-ask, for the scenario ask")
	flag.StringVar(&s.programs.Post, "post", "", "binary of cmd/post, for the scenario ask")
	flag.StringVar(&s.programs.Audited, "audited", "", "binary of cmd/audited, for the scenario audit")
	flag.StringVar(&s.programs.Policy, "policy", "", "binary of examples/policy, for the scenario in-process")
	flag.StringVar(&s.programs.Say, "say", "", "binary of cmd/say")
	flag.StringVar(&s.programs.Python, "python", "python3", "Python, for the hook in bench/say.py")
	flag.StringVar(&s.programs.OPA, "opa", "", "OPA's binary, for the scenario in-process")
	flag.StringVar(&s.sources, "sources", ".", "the directory bench/ of the sources")
	flag.IntVar(&s.rounds, "rounds", 5, "how often everything that is compared is visited")
	flag.DurationVar(&s.measure, "measure", time.Second, "how long one visit is measured")
	flag.DurationVar(&s.warm, "warm", 300*time.Millisecond, "how long is asked before that")
	out := flag.String("json", "", "file to write the promises to as well")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	promises, err := run(ctx, s, flag.Args())
	if err == nil && *out != "" {
		err = save(*out, promises)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 2
	}
	if slices.ContainsFunc(promises, func(p promise) bool { return !p.Kept() }) {
		return 1
	}
	return 0
}

type settings struct {
	programs      lab.Programs
	sources       string
	rounds        int
	measure, warm time.Duration
}

// scenario measures one subject and returns its promises.
type scenario struct {
	name, about string
	measure     func(*bench, context.Context) error
}

func scenarios() []scenario {
	return []scenario{
		{"start", "an idle gateway, and how soon one decides", (*bench).start},
		{"ask", "the command hook of an agent, from start to exit", (*bench).ask},
		{"remote", "one remote hook", (*bench).remote},
		{"bodies", "large calls", (*bench).bodies},
		{"guards", "five guards of 5 ms", (*bench).guards},
		{"in-process", "a policy in process against a policy engine", (*bench).inProcess},
		{"workers", "programs: one for each call, or kept alive", (*bench).workers},
		{"breaker", "a dead hook", (*bench).breaker},
		{"bulkhead", "a hanging neighbour", (*bench).bulkhead},
		{"held", "5,000 calls at once", (*bench).held},
		{"audit", "an audit trail, optional and required", (*bench).audit},
	}
}

// run measures the named scenarios, or all.
func run(ctx context.Context, s settings, names []string) ([]promise, error) {
	var chosen []scenario
	for _, sc := range scenarios() {
		if len(names) == 0 || slices.Contains(names, sc.name) {
			chosen = append(chosen, sc)
		}
	}
	if len(chosen) < len(names) || len(chosen) == 0 {
		return nil, fmt.Errorf("there is no such scenario in %q; there are: %s", names, list())
	}
	var promises []promise
	for _, sc := range chosen {
		began := time.Now()
		fmt.Printf("\n== %s: %s\n", sc.name, sc.about)
		b, err := newBench(s)
		if err != nil {
			return nil, err
		}
		err = sc.measure(b, ctx)
		if err = errors.Join(err, b.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", sc.name, err)
		}
		for _, p := range b.promises {
			fmt.Println(p)
		}
		fmt.Printf("   (%.0f s)\n", time.Since(began).Seconds())
		promises = append(promises, b.promises...)
	}
	fmt.Printf("\n== promises\n")
	for _, p := range promises {
		fmt.Println(p)
	}
	return promises, nil
}

func list() string {
	var names []string
	for _, sc := range scenarios() {
		names = append(names, sc.name)
	}
	return strings.Join(names, " ")
}

func save(file string, promises []promise) error {
	text, err := json.MarshalIndent(promises, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}
