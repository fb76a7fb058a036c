package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hookgate/hookgate/gateway/audit"
)

// AuditReader reads the audit trail from a PostgreSQL database. It only reads, so
// a read-only role suffices.
type AuditReader struct {
	pool *pgxpool.Pool
}

// NewAuditReader returns a reader of the database at url. It connects on the
// first read.
func NewAuditReader(url string) (*AuditReader, error) {
	pool, err := newPool(url)
	if err != nil {
		return nil, err
	}
	return &AuditReader{pool: pool}, nil
}

// Close closes every connection.
func (r *AuditReader) Close() error { return closePool(r.pool) }

// Read returns up to limit records after an offset, in order. It is an error if
// the tables have another version than this program's, because their content
// might mean something else.
func (r *AuditReader) Read(ctx context.Context, after uint64, limit int) (records []audit.Record, err error) {
	steps, err := readMigrations()
	if err != nil {
		return nil, err
	}
	err = pgx.BeginTxFunc(ctx, r.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		at, err := tablesVersion(ctx, tx, len(steps))
		if err != nil {
			return err
		}
		if at < len(steps) {
			return fmt.Errorf("the database tables have version %d, but this program reads version %d: start a gateway of this version once, which updates them, or read with the hookgate version that created them", at, len(steps))
		}
		records, err = readAudit(ctx, tx, after, limit)
		return err
	})
	return records, r.explained(err)
}

// explained adds the remedy to an error.
func (r *AuditReader) explained(err error) error {
	const (
		undefinedTable        = "42P01"
		insufficientPrivilege = "42501"
	)
	var said *pgconn.PgError
	switch {
	case !errors.As(err, &said):
		return err
	case said.Code == undefinedTable:
		return fmt.Errorf("the database has no hookgate tables: use the database of a gateway, or start a gateway with this one: %w", err)
	case said.Code == insufficientPrivilege:
		role := pgx.Identifier{r.pool.Config().ConnConfig.User}.Sanitize()
		return fmt.Errorf("the database role may not read the tables (GRANT SELECT ON hookgate_audit, hookgate_migrations TO %s): %w", role, err)
	}
	return err
}
