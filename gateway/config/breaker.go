package config

import (
	"strconv"
	"strings"
	"time"
)

const (
	maxConsecutiveFailures = 1_000_000
	maxMinCalls            = 1_000_000
	minWindowMs            = 100
	maxWindowMs            = 60 * 60 * 1000
	maxOpenMs              = 60 * 60 * 1000
	maxHalfOpenProbes      = 1000
)

// Breaker configures a circuit breaker. It opens either after consecutive
// failures or at a failure ratio.
type Breaker struct {
	// ConsecutiveFailures opens it. Default 5; 0 if FailureRatio is set.
	ConsecutiveFailures int
	// FailureRatio opens it when that share of the calls that began within Window
	// has failed and at least MinCalls have ended; 0 if ConsecutiveFailures is
	// set. MinCalls defaults to 10, Window to one minute.
	FailureRatio float64
	MinCalls     int
	Window       time.Duration
	// Open is how long it stays open before a half-open probe. Default 30 s.
	Open time.Duration
	// HalfOpenProbes is how many probes pass while it is half-open; all of them
	// must be answered to close it. Default 1.
	HalfOpenProbes int
	// MaxRetryAfter limits how long the endpoint can keep the breaker open by
	// Retry-After. Default one minute; 0 ignores Retry-After.
	MaxRetryAfter time.Duration
}

func defaultBreaker() Breaker {
	return Breaker{ConsecutiveFailures: 5, Open: 30 * time.Second, HalfOpenProbes: 1, MaxRetryAfter: time.Minute}
}

// breaker reads the settings of a circuit breaker.
func (r *reading) breaker(b *Breaker, v value) {
	o, ok := r.object(v, "consecutive_failures", "failure_ratio", "min_calls", "window_ms", "open_ms", "half_open_probes", "max_retry_after_ms")
	if !ok {
		return
	}
	r.opening(b, v, o)
	if v, ok := o["open_ms"]; ok {
		n, _ := r.whole(v, maxOpenMs)
		b.Open = time.Duration(n) * time.Millisecond
	}
	if v, ok := o["half_open_probes"]; ok {
		n, _ := r.whole(v, maxHalfOpenProbes)
		b.HalfOpenProbes = int(n)
	}
	if v, ok := o["max_retry_after_ms"]; ok {
		n, _ := r.between(v, 0, maxOpenMs)
		b.MaxRetryAfter = time.Duration(n) * time.Millisecond
	}
}

// opening reads the condition that opens a breaker.
func (r *reading) opening(b *Breaker, v value, o object) {
	ratio, byRatio := o["failure_ratio"]
	row, byRow := o["consecutive_failures"]
	if byRow {
		n, _ := r.whole(row, maxConsecutiveFailures)
		b.ConsecutiveFailures = int(n)
	}
	if byRatio {
		b.ConsecutiveFailures, b.MinCalls, b.Window = 0, 10, time.Minute
		b.FailureRatio, _ = r.ratio(ratio)
	}
	if byRatio && byRow {
		r.failAt(ratio.keyAt, v.way, "failure_ratio and consecutive_failures are mutually exclusive: set one of them")
	}
	for _, key := range []string{"min_calls", "window_ms"} {
		if m, ok := o[key]; ok && !byRatio {
			r.failAt(m.keyAt, v.way, "%s requires failure_ratio, which is not set", key)
		}
	}
	if v, ok := o["min_calls"]; ok {
		n, _ := r.whole(v, maxMinCalls)
		b.MinCalls = int(n)
	}
	if v, ok := o["window_ms"]; ok {
		n, _ := r.between(v, minWindowMs, maxWindowMs)
		b.Window = time.Duration(n) * time.Millisecond
	}
}

// ratio reads a number greater than 0 and at most 1.
func (r *reading) ratio(v value) (float64, bool) {
	if v.kind != number {
		r.want(v, "a number over 0 and up to 1, like 0.5")
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil || !isNumber(v.text) || strings.ContainsAny(v.text, "eE") || f <= 0 || f > 1 {
		r.fail(v, "want a number over 0 and up to 1, like 0.5, not %.40s", v.text)
		return 0, false
	}
	return f, true
}

func (b *Breaker) fingerprint(d digest) {
	d.number(b.ConsecutiveFailures)
	d.text(strconv.FormatFloat(b.FailureRatio, 'g', -1, 64))
	d.number(b.MinCalls)
	d.number(int(b.Window))
	d.number(int(b.Open))
	d.number(b.HalfOpenProbes)
	d.number(int(b.MaxRetryAfter))
}
