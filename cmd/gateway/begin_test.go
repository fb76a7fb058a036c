package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookgate/hookgate/gateway"
)

func TestAStopDoesNotWaitForFilesThatHang(t *testing.T) {
	stuck := errors.New("could not be read within 10s and hangs")
	for name, tc := range map[string]struct {
		reads, stops time.Duration
		took         time.Duration
		err          error
	}{
		"nobody stops it":      {10 * time.Second, time.Hour, 10 * time.Second, stuck},
		"stopped while it is":  {10 * time.Second, 3 * time.Second, 4 * time.Second, errStopped},
		"stopped at the last":  {10 * time.Second, 9500 * time.Millisecond, 10 * time.Second, stuck},
		"stopped before":       {10 * time.Second, 0, time.Second, errStopped},
		"stopped after it was": {time.Second, 2 * time.Second, time.Second, stuck},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), tc.stops)
				defer stop()
				began := time.Now()
				g, err := begin(ctx, func() (*gateway.Gateway, error) {
					<-time.After(tc.reads)
					return nil, stuck
				})
				if took := time.Since(began); g != nil || !errors.Is(err, tc.err) || took != tc.took {
					t.Errorf("%v after %v, want %v after %v", err, took, tc.err, tc.took)
				}
				<-time.After(tc.reads) // the hanging read goes on until then
			})
		})
	}
}
