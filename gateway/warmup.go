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
	// pingTool names the tool of a ping. Hooks may know it by that, and may
	// answer anything.
	pingTool = "hookgate.ping"
	// warmupPatience is how long a start waits for endpoints to warm up.
	warmupPatience = 30 * time.Second
	// Between the first tries a pause doubles from the one to the other.
	firstWarmupPause, longestWarmupPause = 250 * time.Millisecond, 5 * time.Second
)

// warmup keeps an endpoint warm: it asks a ping when the entry comes into force
// and whenever the endpoint has answered nothing for a while. A ping has passed
// if it was answered with a decision, whatever that is: it decides nothing.
type warmup struct {
	ask    questioner
	coldIn func() time.Duration
	entry  *atomic.Pointer[config.Hook]
	events *events
	log    *slog.Logger

	settled        atomic.Bool // it has passed once, or a start waits no longer
	passed, failed atomic.Int64
	lastFailure    atomic.Pointer[failure]
}

func newWarmup(l *live, w *transport.Webhook, log *slog.Logger) *warmup {
	return &warmup{ask: w.Try, coldIn: w.ColdIn, entry: &l.declared, events: &l.events, log: log}
}

// run warms up until ctx ends.
func (w *warmup) run(ctx context.Context) {
	defer w.settled.Store(true) // whoever waits, waits for an entry that is gone
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

// first pings until one has passed, or the time is over for which a start
// waits.
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

// ping asks once, and says whether that passed.
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
		return false // it was given up, which says nothing about the endpoint
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

// WarmupEntry is how an endpoint is kept warm.
type WarmupEntry struct {
	// Warm says that the endpoint has answered of late.
	Warm   bool  `json:"warm"`
	Passed int64 `json:"passed"`
	Failed int64 `json:"failed"`
	// LastFailure is of the latest ping; absent where that passed.
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

// waitsFor says what a start waits for, empty where it does not.
func (w *warmup) waitsFor() string {
	if w == nil || w.settled.Load() {
		return ""
	}
	return "hook '" + w.events.name() + "' is being warmed up"
}
