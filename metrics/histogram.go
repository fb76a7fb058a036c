package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Limits of a native histogram. If it needs more buckets, its resolution is
// reduced, and restored after nativeMinReset.
const (
	nativeBucketFactor = 1.1
	nativeMaxBuckets   = 100
	nativeMinReset     = time.Hour
)

// ladder returns classic buckets from 0.1 ms in steps of 1, 2.5, 5, 10 up to
// the first that is not below longest (M8).
func ladder(longest time.Duration) []float64 {
	var buckets []float64
	for decade := 100 * time.Microsecond; ; decade *= 10 {
		for _, bound := range []time.Duration{decade, decade * 5 / 2, decade * 5} {
			buckets = append(buckets, bound.Seconds())
			if bound >= longest {
				return buckets
			}
		}
	}
}

// durations describes a histogram of seconds, classic and native.
func durations(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name:                            namespace + name,
		Help:                            help,
		Buckets:                         buckets,
		NativeHistogramBucketFactor:     nativeBucketFactor,
		NativeHistogramMaxBucketNumber:  nativeMaxBuckets,
		NativeHistogramMinResetDuration: nativeMinReset,
		NativeHistogramMaxExemplars:     -1, // exemplars are not used
	}
}

// histograms is a histogram metric in one configuration. It has two labels, or
// one if the second has no name.
type histograms struct {
	opts   prometheus.HistogramOpts
	labels [2]string
	all    map[[2]string]prometheus.Histogram
	before map[[2]string]prometheus.Histogram // of the previous configuration, until made is called
}

// newHistograms returns a metric without series, whose series will take over
// those of before.
func newHistograms(opts prometheus.HistogramOpts, labels [2]string, before *histograms) histograms {
	return histograms{
		opts: opts, labels: labels,
		all: make(map[[2]string]prometheus.Histogram, len(before.all)), before: before.all,
	}
}

// series returns the histogram with these label values. If the previous
// configuration had it, it is reused (M3).
func (h *histograms) series(values [2]string) prometheus.Histogram {
	if s, ok := h.all[values]; ok {
		return s
	}
	s, ok := h.before[values]
	if !ok {
		opts := h.opts
		opts.ConstLabels = prometheus.Labels{h.labels[0]: values[0]}
		if h.labels[1] != "" {
			opts.ConstLabels[h.labels[1]] = values[1]
		}
		s = prometheus.NewHistogram(opts)
	}
	h.all[values] = s
	return s
}

// made releases the previous configuration's histograms.
func (h *histograms) made() { h.before = nil }

func (h *histograms) collect(ch chan<- prometheus.Metric) {
	for _, s := range h.all {
		ch <- s
	}
}
