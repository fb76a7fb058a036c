package state

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/hookgate/hookgate/gateway/audit"
)

// Append implements [audit.Store]. One transaction at a time appends: where two
// did, the later offsets could become readable first, and a reader would miss
// the earlier ones.
func (p *Postgres) Append(ctx context.Context, records []audit.Record) error {
	if err := p.ready(ctx); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(lockAudit)); err != nil {
			return err
		}
		rows := pgx.CopyFromSlice(len(records), func(i int) ([]any, error) {
			return []any{records[i].Time, records[i].Body}, nil
		})
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"hookgate_audit"}, []string{"at", "body"}, rows)
		return err
	})
}

// Read implements [audit.Store].
func (p *Postgres) Read(ctx context.Context, after uint64, limit int) ([]audit.Record, error) {
	if err := p.ready(ctx); err != nil {
		return nil, err
	}
	rows, err := p.pool.Query(ctx, `SELECT position, at, body FROM hookgate_audit WHERE position > $1 ORDER BY position LIMIT $2`, after, limit)
	if err != nil {
		return nil, err
	}
	records, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r audit.Record, err error) {
		err = row.Scan(&r.Offset, &r.Time, &r.Body)
		r.Time = r.Time.UTC()
		return r, err
	})
	if records == nil {
		records = []audit.Record{}
	}
	return records, err
}
