package state

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookgate/hookgate/gateway/audit"
)

// Append implements [audit.Store]. Only one transaction at a time appends: with
// two, later offsets could become readable first, and a reader would miss the
// earlier ones. The server takes the lock away from a silent replica after a
// while, so that one that hangs or is unreachable does not block all others.
func (p *Postgres) Append(ctx context.Context, records []audit.Record) error {
	if err := p.ready(ctx); err != nil {
		return err
	}
	times, bodies := make([]time.Time, len(records)), make([][]byte, len(records))
	for i, r := range records {
		times[i], bodies[i] = r.Time, r.Body
	}
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', $1, true), pg_advisory_xact_lock($2)`,
			strconv.FormatInt(silencePatience.Milliseconds(), 10), int64(lockAudit)); err != nil {
			return err
		}
		// A single statement, which the server has received completely before it
		// starts: with the COPY protocol it would wait indefinitely for a silent
		// replica.
		_, err := tx.Exec(ctx, `INSERT INTO hookgate_audit (at, body)
			SELECT at, body FROM unnest($1::timestamptz[], $2::bytea[]) WITH ORDINALITY AS r(at, body, place) ORDER BY place`, times, bodies)
		return err
	})
}

// Read implements [audit.Store].
func (p *Postgres) Read(ctx context.Context, after uint64, limit int) ([]audit.Record, error) {
	if err := p.ready(ctx); err != nil {
		return nil, err
	}
	return readAudit(ctx, p.pool, after, limit)
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
}

func readAudit(ctx context.Context, from querier, after uint64, limit int) ([]audit.Record, error) {
	rows, err := from.Query(ctx, `SELECT position, at, body FROM hookgate_audit WHERE position > $1 ORDER BY position LIMIT $2`, after, limit)
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
