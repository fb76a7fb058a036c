package gateway

import (
	"context"
	"log/slog"

	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/gateway/guard"
)

// loadFiles reads the files that o names for the first time.
func loadFiles(o Options) (*config.Set, error) {
	return config.Load(config.Options{
		ConfigFile: o.ConfigFile, ChainsDir: o.ChainsDir, AgentsDir: o.AgentsDir, Default: guard.DefaultChain(),
		Guards: guard.Names(), LookupEnv: o.LookupEnv, AgentEnvironment: o.HookEnvironment,
	})
}

// Reload reads the files again and, if they changed and are good, puts them in
// force. What is wrong with them is in the log, the metrics and /readyz; the
// configuration before stays (G3).
func (g *Gateway) Reload(ctx context.Context) {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	if g.plans.current() == nil {
		return // closed
	}
	set, err := g.set.Next()
	if err == nil && set.Sum == g.set.Sum {
		g.refused.Store(nil) // whatever was wrong in between is gone
		return
	}
	if err == nil {
		err = g.adopt(ctx, set)
	}
	if err != nil {
		why := err.Error()
		if before := g.refused.Swap(&why); before != nil && *before == why {
			return // said already
		}
		g.metrics.ReloadRefused()
		g.log.LogAttrs(ctx, slog.LevelError, "configuration refused, the previous one stays", slog.String("error", why))
		return
	}
	g.refused.Store(nil)
	g.log.LogAttrs(ctx, slog.LevelInfo, "configuration reloaded", slog.String("config_sha256", g.plans.sum()))
}

// adopt makes a plan of a set and puts it in force.
func (g *Gateway) adopt(ctx context.Context, set *config.Set) error {
	b := &builder{options: &g.options, metrics: g.metrics, set: set, kept: g.lives, seats: g.seats}
	next, err := b.build() //nolint:contextcheck // what a plan starts outlives the reload
	if err != nil {
		return err
	}
	for _, w := range set.Warnings {
		g.log.LogAttrs(ctx, slog.LevelWarn, "configuration", slog.String("warning", w.String()))
	}
	for _, l := range next.lives {
		l.holders.Add(1)
	}
	next.activate()
	before, lives := g.plans.put(next.plan), g.lives
	g.set, g.lives, g.seats = set, next.lives, next.seats
	if before != nil {
		g.retire(before, lives)
	}
	return nil
}

// retire releases what a plan held once its last request is gone. The caller
// holds the lock.
func (g *Gateway) retire(p *plan, lives map[identity]*live) {
	g.retiring.Add(1)
	p.retire(func() {
		go func() {
			defer g.retiring.Done()
			for _, c := range p.chains {
				c.Wait()
			}
			g.release(lives)
		}()
	})
}

// release closes what no plan holds any more.
func (g *Gateway) release(lives map[identity]*live) {
	for _, l := range lives {
		if l.holders.Add(-1) == 0 {
			l.binding.Close()
		}
	}
}

// watch reloads whenever files may have changed, until ctx ends.
func (g *Gateway) watch(ctx context.Context) {
	if g.options.ConfigFile == "" && g.options.ChainsDir == "" && g.options.AgentsDir == "" {
		return // nothing to watch: the default chain is part of the program
	}
	config.Watch(ctx, config.WatchOptions{
		Dirs: g.watched, Poll: g.options.ReloadInterval, Logger: g.log,
		Changed: func() { g.Reload(ctx) },
	})
}

// watched are the directories in which the files of the configuration in force
// lie.
func (g *Gateway) watched() []string {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	return g.set.Dirs()
}
