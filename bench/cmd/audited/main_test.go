package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hookgate/hookgate/gateway/audit"
)

// sink remembers how many records each write had.
type sink struct{ writes *[]int }

func (s sink) Write(_ context.Context, records []audit.Record, _ bool) error {
	*s.writes = append(*s.writes, len(records))
	return nil
}

func (sink) Close() error { return nil }

func TestADiskWritesEachRecordByItselfWhereItIsToldTo(t *testing.T) {
	for each, want := range map[bool][]int{false: {3}, true: {1, 1, 1}} {
		var writes []int
		began := time.Now()
		err := disk{Sink: sink{&writes}, each: each, takes: time.Millisecond}.Write(t.Context(), make([]audit.Record, 3), true)
		if err != nil || !slices.Equal(writes, want) || time.Since(began) < time.Duration(len(want))*time.Millisecond {
			t.Errorf("each %v: writes of %v records, error %v, want %v", each, writes, err, want)
		}
	}
}
