package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// auditHooks is a chain that costs little beside its records.
const auditHooks = "schema: 1\naudit: {required: %v}\nhooks:\n  - {name: quick, use: no-force-push}\n"

// audit compares gateways that keep an audit trail with one that keeps none,
// and with a disk that is synced for each record.
func (b *bench) audit(ctx context.Context) error {
	none, err := b.Gateway(ctx, fmt.Sprintf(auditHooks, false))
	if err != nil {
		return err
	}
	optional, err := b.Gateway(ctx, fmt.Sprintf(auditHooks, false), "HOOKGATE_AUDIT_FILE="+filepath.Join(b.Dir, "optional.jsonl"))
	if err != nil {
		return err
	}
	required, err := b.Gateway(ctx, fmt.Sprintf(auditHooks, true), "HOOKGATE_AUDIT_FILE="+filepath.Join(b.Dir, "required.jsonl"))
	if err != nil {
		return err
	}
	var syncs visits
	for range b.rounds {
		each, err := b.syncs(ctx)
		if err != nil {
			return err
		}
		syncs = append(syncs, visit{rate: each})
	}
	fmt.Printf("   one sync for each record: %.0f a second\n", median(syncs.each(rate)))
	all, err := b.compare(ctx, pace{conns: 16}, target{name: "no audit", server: none}, target{name: "optional audit", server: optional},
		target{name: "required audit", server: required})
	if err != nil {
		return err
	}
	b.promise(atMost(1.15, "×", "optional audit at c16: CPU of none", all[1].ratio(all[0], cpu)))
	b.promise(atLeast(8, "required audit at c16: rate of one sync for each record", all[2].ratio(syncs, rate)))
	return nil
}

// syncs is how often in a second a record can be written and synced by itself.
func (b *bench) syncs(ctx context.Context) (float64, error) {
	f, err := os.Create(filepath.Join(b.Dir, "syncs"))
	if err != nil {
		return 0, err
	}
	record, n, began := append(bytes.Repeat([]byte("x"), 799), '\n'), 0, time.Now()
	for time.Since(began) < b.measure && ctx.Err() == nil && err == nil {
		if _, err = f.Write(record); err == nil {
			err = f.Sync()
		}
		n++
	}
	took := time.Since(began)
	return float64(n) / took.Seconds(), errors.Join(err, ctx.Err(), f.Close())
}
