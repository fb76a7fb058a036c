package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/hookgate/hookgate/bench/internal/lab"
)

// oneHook returns a hooks file with one remote hook and optional further keys.
func oneHook(url string, keys ...string) string {
	return "schema: 1\nbudget_ms: 60000\nhooks:\n  - {name: remote, url: " + strings.Join(append([]string{url}, keys...), ", ") + "}\n"
}

// withProxy starts a hook, a tuned reverse proxy in front of it, and a gateway
// that asks it.
func (b *bench) withProxy(ctx context.Context, path string, keys ...string) (hook, proxy, gateway target, err error) {
	h, err := b.Hook(ctx)
	if err != nil {
		return hook, proxy, gateway, err
	}
	p, err := b.Proxy(ctx, h.URL)
	if err != nil {
		return hook, proxy, gateway, err
	}
	g, err := b.Gateway(ctx, oneHook(h.URL+path, keys...))
	if err != nil {
		return hook, proxy, gateway, err
	}
	hook = target{name: "the hook itself", server: h, url: h.URL + path}
	proxy = target{name: "tuned ReverseProxy", server: p, url: p.URL + path}
	gateway = target{name: "gateway", server: g}
	return hook, proxy, gateway, nil
}

func (b *bench) remote(ctx context.Context) error {
	hook, proxy, gateway, err := b.withProxy(ctx, "/allow")
	if err != nil {
		return err
	}
	for _, p := range []pace{{conns: 1}, {conns: 16}, {conns: 64, rate: 1000}} {
		all, err := b.compare(ctx, p, hook, proxy, gateway)
		if err != nil {
			return err
		}
		if p.conns == 16 {
			b.promise(atLeast(1, "one remote hook at c16: rate of the tuned proxy", all[2].ratio(all[1], rate)))
			b.promise(atMost(1, "×", "one remote hook at c16: CPU of the tuned proxy", all[2].ratio(all[1], cpu)))
		}
	}
	return nil
}

func (b *bench) bodies(ctx context.Context) error {
	_, proxy, gateway, err := b.withProxy(ctx, "/allow", "timeout_ms: 20000")
	if err != nil {
		return err
	}
	for _, c := range []struct {
		size, conns int
		limit       float64
	}{{10_000, 16, 1.1}, {900_000, 4, 7}} {
		body := lab.EnvelopeOf(c.size)
		fmt.Printf("   %d bytes\n", len(body))
		proxy.body, gateway.body = body, body
		all, err := b.compare(ctx, pace{conns: c.conns}, proxy, gateway)
		if err != nil {
			return err
		}
		b.promise(atMost(c.limit, "×", fmt.Sprintf("calls of %d kB: CPU of the tuned proxy", c.size/1000), all[1].ratio(all[0], cpu)))
	}
	return nil
}

func (b *bench) guards(ctx context.Context) error {
	h, err := b.Hook(ctx)
	if err != nil {
		return err
	}
	var targets []target
	for _, n := range []int{1, 5} {
		hooks := strings.Builder{}
		hooks.WriteString("schema: 1\nhooks:\n")
		for i := range n {
			fmt.Fprintf(&hooks, "  - {name: guard-%d, url: %s/after/5ms, guard: true}\n", i, h.URL)
		}
		g, err := b.Gateway(ctx, hooks.String())
		if err != nil {
			return err
		}
		targets = append(targets, target{name: fmt.Sprintf("gateway, guards: %d", n), server: g})
	}
	for _, p := range []pace{{conns: 1}, {conns: 8}} {
		all, err := b.compare(ctx, p, targets...)
		if err != nil {
			return err
		}
		if p.conns == 1 {
			b.promise(atMost(1.1, "×", "five guards of 5 ms at c1: p50 of one", all[1].ratio(all[0], p50)))
		}
	}
	return nil
}
