package config

import "time"

const (
	minColdAfterMs = 1000
	maxColdAfterMs = 24 * 60 * 60 * 1000
)

// firstTimeout reads the timeout of a call to a cold hook.
func (r *reading) firstTimeout(h *Hook, v value) {
	ms, ok := r.whole(v, maxTimeoutMs)
	if !ok {
		return
	}
	h.FirstTimeout = time.Duration(ms) * time.Millisecond
	if h.FirstTimeout <= h.Timeout {
		r.fail(v, "%d is not longer than timeout_ms (%d): raise it, or leave it out", ms, h.Timeout.Milliseconds())
	}
}

// Patience returns the hook's longest possible timeout.
func (h *Hook) Patience() time.Duration { return max(h.Timeout, h.FirstTimeout) }

// warmth reads when an endpoint is cold and whether it is warmed up.
func (r *reading) warmth(w *Webhook, o object) {
	if v, ok := o["warmup"]; ok {
		w.Warmup, _ = r.boolean(v)
	}
	v, ok := o["cold_after_ms"]
	if !ok {
		return
	}
	if ms, ok := r.between(v, minColdAfterMs, maxColdAfterMs); ok {
		w.ColdAfter = time.Duration(ms) * time.Millisecond
	}
	if _, first := o["first_call_timeout_ms"]; !first && !w.Warmup {
		r.fail(v, "requires first_call_timeout_ms or warmup, and neither is set")
	}
}
