package gateway

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/gateway/guard"
)

// loadFiles loads the configuration for the first time.
func loadFiles(o Options) (*config.Set, error) {
	return config.Load(config.Options{
		ConfigFile: o.ConfigFile, ChainsDir: o.ChainsDir, AgentsDir: o.AgentsDir, CallersFile: o.CallersFile, Default: guard.DefaultChain(),
		Guards: guard.Names(), LookupEnv: o.LookupEnv, AgentEnvironment: o.HookEnvironment,
	})
}

// Reload rereads the files, on request, and puts them in force if they changed
// and are valid. Otherwise the current configuration stays and the mistakes are
// reported in the log, the metrics and /readyz (G3).
func (g *Gateway) Reload(ctx context.Context) { g.reload(ctx, true) }

// reload checks the files once. A requested reload is always counted, others
// only if their result differs from the previous check.
func (g *Gateway) reload(ctx context.Context, asked bool) {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	if g.plans.current() == nil {
		return // closed
	}
	set, err := g.set.Next()
	err = errors.Join(err, g.shown.reload())
	changed := err == nil && set.Sum != g.set.Sum
	if changed {
		if err = g.adopt(ctx, set); err == nil {
			g.announce(ctx)
		}
	}
	if err != nil {
		g.refuse(ctx, err.Error(), asked)
		return
	}
	if g.set != set { // same configuration, but a file that is not part of it came or went: only warnings differ
		g.set = set
		g.warn(ctx, set)
	}
	recovered := g.refused.Swap(nil) != nil
	if changed || !asked && !recovered {
		return // logged, or nothing to log
	}
	g.metrics.ReloadUnchanged()
	sum := slog.String("config_sha256", g.plans.sum())
	if recovered {
		g.log.LogAttrs(ctx, slog.LevelInfo, "the configuration on disk is valid again, and already in force", sum)
		return
	}
	g.log.LogAttrs(ctx, slog.LevelInfo, "the configuration on disk is already in force", sum)
}

// refuse reports that files were refused, and why. The same reason is reported
// again only if the reload was requested.
func (g *Gateway) refuse(ctx context.Context, why string, asked bool) {
	if before := g.refused.Swap(&why); before != nil && *before == why && !asked {
		return
	}
	g.metrics.ReloadRefused()
	g.log.LogAttrs(ctx, slog.LevelError, "configuration refused: the previous one stays in force", slog.String("error", why))
}

// warn logs settings that are valid but probably not intended.
func (g *Gateway) warn(ctx context.Context, set *config.Set) {
	for _, w := range set.Warnings {
		g.log.LogAttrs(ctx, slog.LevelWarn, "configuration", slog.String("warning", w.String()))
	}
}

// lookPatience is how long a start or a reload waits for the file systems that
// hold hooks' programs.
const lookPatience = time.Second

// warnOfPrograms logs which programs do not exist. They may still be installed,
// so nothing depends on the result; a hanging file system must not block the
// reload.
func (g *Gateway) warnOfPrograms(ctx context.Context, members []*member, agents map[string]*config.Agent) {
	missing := make(chan []string, 1)
	go func() { missing <- unfindable(members, agents) }()
	late := time.NewTimer(lookPatience)
	defer late.Stop()
	select {
	case warnings := <-missing:
		for _, w := range warnings {
			g.log.LogAttrs(ctx, slog.LevelWarn, "configuration", slog.String("warning", w))
		}
	case <-late.C:
	}
}

// adopt builds a plan from a set and puts it in force.
func (g *Gateway) adopt(ctx context.Context, set *config.Set) error {
	b := &builder{
		options: &g.options, metrics: g.metrics, set: set, kept: g.lives, seats: g.seats, desk: g.desk, before: g.accessInForce(),
	}
	next, err := b.build() //nolint:contextcheck // what a plan starts outlives the reload
	if err != nil {
		return err
	}
	g.warn(ctx, set)
	for _, l := range next.lives {
		l.holders.Add(1)
	}
	for _, m := range next.plan.hooks {
		m.declared.Store(m.entry)
	}
	for _, renew := range next.renewals {
		renew()
	}
	next.activate()
	before, lives := g.plans.put(next.plan), g.lives
	g.set, g.lives, g.seats = set, next.lives, next.seats
	g.warnOfPrograms(ctx, next.plan.hooks, set.Agents)
	for _, l := range next.lives {
		l.upkeep.start() //nolint:contextcheck // it outlives the reload
	}
	if before != nil {
		g.retire(before, lives)
	}
	return nil
}

// announce logs which configuration is in force. The first one is announced once
// the gateway listens: before that it decides nothing. The caller holds
// g.reloading.
func (g *Gateway) announce(ctx context.Context) {
	p := g.plans.current()
	if p == nil {
		return // closed
	}
	g.log.LogAttrs(ctx, slog.LevelInfo, "configuration in force", slog.String("file", g.set.Operator.Path),
		slog.Int("hooks", len(p.hooks)), slog.Int("chains", len(g.set.Chains)), slog.Int("agents", len(g.set.Agents)),
		slog.String("config_sha256", p.sum))
}

// retire releases what a plan held once its last request has ended. The caller
// holds g.reloading.
func (g *Gateway) retire(p *plan, lives map[identity]*live) {
	g.retiring.Add(1)
	g.waitingMu.Lock()
	g.waiting[p] = struct{}{}
	g.waitingMu.Unlock()
	p.retire(func() {
		go func() {
			defer g.retiring.Done()
			for _, c := range p.chains {
				c.Wait()
			}
			g.waitingMu.Lock()
			delete(g.waiting, p)
			g.waitingMu.Unlock()
			g.release(lives)
		}()
	})
}

// stopShadows cancels the shadow calls of all plans; no request waits for them.
func (g *Gateway) stopShadows() {
	g.waitingMu.Lock()
	defer g.waitingMu.Unlock()
	for p := range g.waiting {
		for _, c := range p.chains {
			c.Stop()
		}
	}
}

// release closes the entries that no plan uses any more.
func (g *Gateway) release(lives map[identity]*live) {
	for _, l := range lives {
		if l.holders.Add(-1) == 0 {
			l.upkeep.end()
			l.binding.Close()
		}
	}
}

// watch reloads whenever files may have changed, until ctx ends.
func (g *Gateway) watch(ctx context.Context) {
	if g.options.ConfigFile == "" && g.options.ChainsDir == "" && g.options.AgentsDir == "" && g.options.CallersFile == "" && g.shown == nil {
		return // nothing to watch: the default chain is part of the program
	}
	config.Watch(ctx, config.WatchOptions{
		Dirs: g.watched, Poll: g.options.ReloadInterval, Logger: g.log,
		Changed: func() { g.reload(ctx, false) },
	})
}

// watched returns the directories that contain the configuration's files.
func (g *Gateway) watched() []string {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	return append(slices.Clone(g.set.Dirs()), g.shown.dirs()...)
}
