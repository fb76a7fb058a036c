package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/config"
)

// canaryWatch periodically sends a hook a call that the hook must deny. Only an
// explicit deny passes: a failure also denies the call in a chain, but does not
// show that the hook still guards.
type canaryWatch struct {
	ask    questioner
	entry  *atomic.Pointer[config.Hook]
	events *events
	log    *slog.Logger

	settled        atomic.Bool // the first check is done, or none will be made
	passed, failed atomic.Int64
	latest         atomic.Pointer[canaryCheck] // nil before the first check
}

// canaryCheck is the result of one check.
type canaryCheck struct {
	at time.Time
	// why explains why the call was not denied; empty if it was. It reads on
	// after the name of the hook.
	why string
}

func newCanary(l *live, log *slog.Logger) *canaryWatch {
	return &canaryWatch{ask: questionerOf(l.binding), entry: &l.declared, events: &l.events, log: log}
}

// run repeats the check until ctx ends.
func (c *canaryWatch) run(ctx context.Context) {
	defer c.settled.Store(true)
	for {
		c.check(ctx)
		if !sleep(ctx, jittered(c.entry.Load().Canary.Every)) {
			return
		}
	}
}

// check sends the call once.
func (c *canaryWatch) check(ctx context.Context) {
	h := c.entry.Load()
	a := c.ask.put(ctx, h, h.Canary.Request)
	if ctx.Err() != nil || a.Failure != nil && a.Failure.Cause == chain.Saturated {
		return // the hook was not asked, so there is no result
	}
	now := &canaryCheck{at: time.Now(), why: notDenied(a)}
	before := c.latest.Swap(now)
	c.settled.Store(true)
	c.events.checked(now.why == "")
	if now.why == "" {
		c.passed.Add(1)
		if before != nil && before.why != "" {
			c.log.LogAttrs(ctx, slog.LevelInfo, "a canary is denied again", slog.String("hook", c.events.name()))
		}
		return
	}
	c.failed.Add(1)
	if before == nil || before.why == "" { // said once, and counted every time
		detail := ""
		if a.Failure != nil {
			detail = clip(a.Failure.Detail)
		}
		c.log.LogAttrs(ctx, slog.LevelError, "a canary was not denied", slog.String("hook", c.events.name()),
			slog.String("why", now.why), slog.String("detail", detail))
	}
}

// notDenied explains why a call was not denied; it returns "" for a deny.
func notDenied(a chain.Answer) string {
	switch {
	case a.Failure != nil:
		return "could not answer: " + clip(a.Failure.Text)
	case a.Outcome.Decision != chain.Deny:
		return fmt.Sprintf("answered %s to a call that it must deny", a.Outcome.Decision)
	}
	return ""
}

// passing reports whether the latest check passed; false before the first check.
func (c *canaryWatch) passing() bool {
	latest := c.latest.Load()
	return latest != nil && latest.why == ""
}

// CanaryEntry is the canary of a hook as GET /v1/hooks shows it.
type CanaryEntry struct {
	// Passing is whether the latest check was denied.
	Passing       bool       `json:"passing"`
	Passed        int64      `json:"passed"`
	Failed        int64      `json:"failed"`
	CheckedAt     *time.Time `json:"checked_at,omitempty"`
	Why           string     `json:"why,omitempty"`
	GateReadiness bool       `json:"gate_readiness"`
}

func (c *canaryWatch) describe() *CanaryEntry {
	if c == nil {
		return nil
	}
	e := &CanaryEntry{
		Passing: c.passing(), Passed: c.passed.Load(), Failed: c.failed.Load(), GateReadiness: c.entry.Load().Canary.GatesReadiness,
	}
	if latest := c.latest.Load(); latest != nil {
		e.CheckedAt, e.Why = &latest.at, latest.why
	}
	return e
}

// waitsFor explains why the canary keeps the gateway from being ready; "" if it
// does not. A missing first check counts only while the gateway starts.
func (c *canaryWatch) waitsFor(start bool) string {
	if c == nil || !c.entry.Load().Canary.GatesReadiness {
		return ""
	}
	latest := c.latest.Load()
	switch {
	case latest == nil && start && !c.settled.Load():
		return "the canary of hook '" + c.events.name() + "' is being checked"
	case latest == nil || latest.why == "":
		return ""
	}
	return "the canary of hook '" + c.events.name() + "' is not denied: it " + latest.why
}
