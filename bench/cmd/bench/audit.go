package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hookgate/hookgate/bench/internal/lab"
)

// auditHooks is a chain that costs little compared with its records.
const auditHooks = "schema: 1\naudit: {required: %v}\nhooks:\n  - {name: quick, use: no-force-push}\n"

// slowSync is the additional duration of a sync on the slow disk.
const slowSync = 5 * time.Millisecond

// audit compares gateways with an audit trail with one without, and group commit
// with one sync per record.
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
	each, err := b.disk(ctx, "each", "-each")
	if err != nil {
		return err
	}
	var syncs visits
	for range b.rounds {
		alone, err := b.syncs(ctx)
		if err != nil {
			return err
		}
		syncs = append(syncs, visit{rate: alone})
	}
	fmt.Printf("   a loop that writes and syncs: %.0f records a second\n", median(syncs.each(rate)))
	all, err := b.compare(ctx, pace{conns: 16}, target{name: "no audit", server: none}, target{name: "optional audit", server: optional},
		target{name: "required audit", server: required}, target{name: "one sync for each record", server: each})
	if err != nil {
		return err
	}
	b.promise(atMost(1.15, "×", "optional audit at c16: CPU of none", all[1].ratio(all[0], cpu)))
	b.promise(atLeast(8, "required audit at c16: rate of one sync for each record", all[2].ratio(all[3], rate)))
	fmt.Printf("   of a loop that writes and syncs the required audit is %.2f ×\n", median(all[2].ratio(syncs, rate)))
	return b.slowAudit(ctx)
}

// slowAudit makes the latter comparison with syncs, and not the processor, as
// the bottleneck.
func (b *bench) slowAudit(ctx context.Context) error {
	groups, err := b.disk(ctx, "slow-groups", "-takes", slowSync.String())
	if err != nil {
		return err
	}
	each, err := b.disk(ctx, "slow-each", "-takes", slowSync.String(), "-each")
	if err != nil {
		return err
	}
	all, err := b.compare(ctx, pace{conns: 16}, target{name: "required audit, slow disk", server: groups}, target{name: "one sync for each record, slow disk", server: each})
	if err != nil {
		return err
	}
	b.promise(atLeast(8, fmt.Sprintf("the same with syncs that take %v longer", slowSync), all[0].ratio(all[1], rate)))
	return nil
}

// disk starts a gateway with a required audit trail.
func (b *bench) disk(ctx context.Context, name string, args ...string) (*lab.Server, error) {
	return b.Disk(ctx, fmt.Sprintf(auditHooks, true), append(args, "-file", filepath.Join(b.Dir, name+".jsonl"))...)
}

// syncs returns how many records per second can be written with one sync each.
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
