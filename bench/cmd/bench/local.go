package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookgate/hookgate/bench/internal/lab"
)

func (b *bench) inProcess(ctx context.Context) error {
	if b.OPA == "" {
		return errors.New("OPA's binary is missing: install it with go install github.com/open-policy-agent/opa@v1.22.4 and give its path with -opa")
	}
	policy, err := filepath.Abs(filepath.Join(b.sources, "policy.rego"))
	if err != nil {
		return err
	}
	e, err := b.Engine(ctx, policy)
	if err != nil {
		return err
	}
	same, err := b.Embedded(ctx)
	if err != nil {
		return err
	}
	guards, err := b.Gateway(ctx, "")
	if err != nil {
		return err
	}
	bare, err := b.Hook(ctx)
	if err != nil {
		return err
	}
	all, err := b.compare(ctx, pace{conns: 16},
		target{name: "OPA server", server: e, body: `{"input":` + lab.Envelope + `}`, want: `"result":"allow"`},
		target{name: "gateway, the same policy in process", server: same},
		target{name: "gateway, its three default guards", server: guards},
		target{name: "net/http that reads and allows", server: bare, url: bare.URL + "/allow"})
	if err != nil {
		return err
	}
	b.promise(atLeast(2.75, "the same policy in process at c16: rate of an OPA server", all[1].ratio(all[0], rate)))
	b.promise(atMost(0.3, "×", "the same policy in process at c16: CPU of an OPA server", all[1].ratio(all[0], cpu)))
	b.promise(atLeast(2.75, "the default guards at c16: rate of an OPA server", all[2].ratio(all[0], rate)))
	b.promise(atMost(0.3, "×", "the default guards at c16: CPU of an OPA server", all[2].ratio(all[0], cpu)))
	fmt.Printf("   CPU of net/http that reads and allows, of an OPA server: %.3g ×\n", median(all[3].ratio(all[0], cpu)))
	return nil
}

func (b *bench) workers(ctx context.Context) error {
	script, err := filepath.Abs(filepath.Join(b.sources, "say.py"))
	if err != nil {
		return err
	}
	for _, c := range []struct {
		language, argv string
		limit          float64
	}{
		{"Go", fmt.Sprintf("%q", b.Say), 50},
		{"Python", fmt.Sprintf("%q, %q", b.Python, script), 250},
	} {
		each, err := b.Gateway(ctx, fmt.Sprintf("schema: 1\nhooks:\n  - {name: each, command: [%s]}\n", c.argv))
		if err != nil {
			return err
		}
		kept, err := b.Gateway(ctx, fmt.Sprintf("schema: 1\nhooks:\n  - {name: kept, command: [%s, -lines], worker: {processes: 4}}\n", c.argv))
		if err != nil {
			return err
		}
		all, err := b.compare(ctx, pace{conns: 8},
			target{name: c.language + ", a process for each call", server: each},
			target{name: c.language + ", worker processes", server: kept})
		if err != nil {
			return err
		}
		b.promise(atLeast(c.limit, c.language+" workers at c8: rate of a process for each call", all[1].ratio(all[0], rate)))
	}
	return nil
}

// start measures an idle gateway, and how soon after its start it decides.
func (b *bench) start(ctx context.Context) error {
	file, err := os.Stat(b.programs.Gateway)
	if err != nil {
		return err
	}
	chains, err := b.manyChains()
	if err != nil {
		return err
	}
	var memory, plain, loaded []float64
	for range 2 * b.rounds {
		for _, c := range []struct {
			env  []string
			took *[]float64
		}{{nil, &plain}, {chains, &loaded}} {
			s, err := b.Launch(ctx, c.env...)
			if err != nil {
				return err
			}
			took, err := s.Decided(ctx)
			if err != nil {
				return err
			}
			*c.took = append(*c.took, millis(took))
			if c.env == nil {
				settled, err := idle(ctx, s)
				if err != nil {
					return err
				}
				memory = append(memory, float64(settled)/1e6)
			}
			if err := s.Stop(); err != nil {
				return err
			}
		}
	}
	b.promise(atMost(25, "MB", "size of the program", []float64{float64(file.Size()) / 1e6}))
	b.promise(atMost(20, "MB", "memory of an idle gateway", memory))
	b.promise(atMost(50, "ms", "from the start to the first decision", plain))
	b.promise(atMost(200, "ms", "the same with 100 chains of 10 hooks", loaded))
	return nil
}

// idle returns the memory of a server once it has been stable for a second.
func idle(ctx context.Context, s *lab.Server) (int, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := 0
	for range 10 {
		now, err := s.Memory()
		if err != nil || now == last {
			return now, err
		}
		last = now
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-tick.C:
		}
	}
	return last, nil
}

// manyChains writes 100 chains of 10 hooks and returns the environment that
// makes a gateway use them.
func (b *bench) manyChains() ([]string, error) {
	config, err := b.File("operator.yaml", "schema: 1\nhooks: []\n")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.Dir, "chains")
	for i := range 100 {
		hooks := strings.Builder{}
		hooks.WriteString("schema: 1\nhooks:\n")
		for j := range 5 {
			fmt.Fprintf(&hooks, "  - {name: remote-%d, url: \"http://127.0.0.1:9/chain/%d/%d\", tools: [shell, \"mcp__git__*\"], guard: true}\n", j, i, j)
			fmt.Fprintf(&hooks, "  - {name: program-%d, command: [%q, \"%d\"], event: post_tool_use, timeout_ms: 900}\n", j, b.Say, i)
		}
		if err := b.write(filepath.Join(dir, fmt.Sprintf("tenant-%02d.yaml", i)), hooks.String()); err != nil {
			return nil, err
		}
	}
	return []string{"HOOKGATE_CONFIG=" + config, "HOOKGATE_CHAINS_DIR=" + dir}, nil
}
