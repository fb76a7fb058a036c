package main

import (
	"fmt"
	"slices"
)

// promise is a limit with its measurement.
type promise struct {
	About string
	// Median, Lowest and Highest are those of the rounds.
	Median, Lowest, Highest float64
	// AtMost makes Limit an upper bound; otherwise it is a lower bound.
	AtMost bool
	Limit  float64
	Unit   string
}

func atLeast(limit float64, about string, measured []float64) promise {
	return newPromise(promise{About: about, Limit: limit, Unit: "×"}, measured)
}

func atMost(limit float64, unit, about string, measured []float64) promise {
	return newPromise(promise{About: about, Limit: limit, Unit: unit, AtMost: true}, measured)
}

func newPromise(p promise, measured []float64) promise {
	p.Median, p.Lowest, p.Highest = median(measured), slices.Min(measured), slices.Max(measured)
	return p
}

// Kept reports whether the median respects the limit. NaN does not.
func (p promise) Kept() bool {
	if p.AtMost {
		return p.Median <= p.Limit
	}
	return p.Median >= p.Limit
}

// String formats a line of the table.
func (p promise) String() string {
	verdict, sign := "kept  ", "≥"
	if !p.Kept() {
		verdict = "BROKEN"
	}
	if p.AtMost {
		sign = "≤"
	}
	return fmt.Sprintf("   %s %8.3g %-4s [%.3g–%.3g] %s %-5g %s", verdict, p.Median, p.Unit, p.Lowest, p.Highest, sign, p.Limit, p.About)
}

// median returns the middle value, or the mean of the two middle values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
