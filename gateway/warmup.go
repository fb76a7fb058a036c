package gateway

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/transport"
)

const (
	// pingTool is the tool name of a ping. Hooks may recognize a ping by it,
	// and may answer anything.
	pingTool = "hookgate.ping"
	// warmupPatience is how long readiness waits at the start for endpoints to
	// warm up.
	warmupPatience = 30 * time.Second
	// The pause between the first attempts doubles from the first value to the
	// second.
	firstWarmupPause, longestWarmupPause = 250 * time.Millisecond, 5 * time.Second
)

// warmup keeps an endpoint warm: it sends a ping when the entry comes into
// force and whenever the endpoint has not answered anything for a while. A ping
// passes if it was answered with any decision; that decision has no effect.
type warmup struct {
	ask    questioner
	coldIn func() time.Duration
	entry  *atomic.Pointer[config.Hook]
	events *events
	log    *slog.Logger

	settled        atomic.Bool // a ping has passed, or the start waits no longer
	passed, failed atomic.Int64
	lastFailure    atomic.Pointer[failure]
}

func newWarmup(l *live, w *transport.Webhook, log *slog.Logger) *warmup {
	return &warmup{ask: w.Try, coldIn: w.ColdIn, entry: &l.declared, events: &l.events, log: log}
}

// run keeps the endpoint warm until ctx ends.
func (w *warmup) run(ctx context.Context) {
	defer w.settled.Store(true) // whatever waits must not wait for an entry that is gone
	w.first(ctx)
	for {
		pause := w.coldIn()
		if pause == 0 {
			if w.ping(ctx) {
				continue
			}
			pause = w.entry.Load().Webhook.ColdAfter
		}
		if !sleep(ctx, jittered(pause)) {
			return
		}
	}
}

// first pings until a ping has passed or warmupPatience is over.
func (w *warmup) first(ctx context.Context) {
	defer w.settled.Store(true)
	ctx, cancel := context.WithTimeout(ctx, warmupPatience)
	defer cancel()
	for pause := firstWarmupPause; !w.ping(ctx); pause = min(2*pause, longestWarmupPause) {
		if !sleep(ctx, jittered(pause)) {
			return
		}
	}
}

// ping sends one ping and reports whether it passed.
func (w *warmup) ping(ctx context.Context) bool {
	h := w.entry.Load()
	r, err := envelope(h.Event, pingTool)
	if err != nil {
		w.log.LogAttrs(ctx, slog.LevelError, "a ping could not be made", slog.String("error", err.Error()))
		return false
	}
	began := time.Now()
	a := w.ask.put(ctx, h, r)
	if ctx.Err() != nil && a.Failure != nil {
		return false // ctx ended, which says nothing about the endpoint
	}
	w.events.warmed(a.Failure == nil)
	if a.Failure == nil {
		w.passed.Add(1)
		w.lastFailure.Store(nil)
		w.log.LogAttrs(ctx, slog.LevelDebug, "warmed up", slog.String("hook", w.events.name()), slog.Duration("took", time.Since(began)))
		return true
	}
	w.failed.Add(1)
	w.lastFailure.Store(&failure{at: time.Now(), why: *a.Failure})
	w.log.LogAttrs(ctx, slog.LevelWarn, "could not be warmed up", slog.String("hook", w.events.name()),
		slog.String("cause", a.Failure.Cause.String()), slog.String("error", a.Failure.Text), slog.String("detail", clip(a.Failure.Detail)))
	return false
}

// WarmupEntry is the warm-up of an endpoint as GET /v1/hooks shows it.
type WarmupEntry struct {
	// Warm is whether the endpoint has answered recently.
	Warm   bool  `json:"warm"`
	Passed int64 `json:"passed"`
	Failed int64 `json:"failed"`
	// LastFailure is the failure of the latest ping; absent if that passed.
	LastFailure *FailureEntry `json:"last_failure,omitempty"`
}

func (w *warmup) describe() *WarmupEntry {
	if w == nil {
		return nil
	}
	return &WarmupEntry{
		Warm: w.coldIn() > 0, Passed: w.passed.Load(), Failed: w.failed.Load(), LastFailure: w.lastFailure.Load().describe(),
	}
}

// waitsFor explains why the warm-up keeps a starting gateway from being ready;
// "" if it does not.
func (w *warmup) waitsFor() string {
	if w == nil || w.settled.Load() {
		return ""
	}
	return "hook '" + w.events.name() + "' is being warmed up"
}
