package state

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hookgate/hookgate/gateway/approval"
)

// migrations are the numbered steps that create the tables. A published step must
// never be changed.
//
//go:embed migrations/*.sql
var migrations embed.FS

// Keys of the advisory locks with which replicas exclude each other, chosen to be
// unlikely in any other application.
const (
	lockMigrations = 0x686f6f6b67617465
	lockAudit      = 0x686f6f6b67617466
)

// Timeouts of connections.
const (
	connectPatience = 5 * time.Second
	// closePatience is how long closing the connections may take.
	closePatience = 2 * time.Second
	// silencePatience is how long a replica that holds others up may be silent.
	silencePatience = 5 * time.Second
	// reconnectPause is the pause before a watcher reconnects.
	reconnectPause = time.Second
	// listenPatience is how long a watcher may receive nothing before it checks
	// that its connection is alive.
	listenPatience = 15 * time.Second
)

// Postgres stores state in a PostgreSQL database that replicas share. It connects
// on first use, and again after a connection was lost.
type Postgres struct {
	pool *pgxpool.Pool
	// migrated holds a token until the tables are known to be of this version.
	migrated chan bool
}

// NewPostgres returns a store in the database at url. It does not connect: while
// the database is unreachable, operations fail.
func NewPostgres(url string) (*Postgres, error) {
	pool, err := newPool(url)
	if err != nil {
		return nil, err
	}
	p := &Postgres{pool: pool, migrated: make(chan bool, 1)}
	p.migrated <- false
	return p, nil
}

// CheckURL returns an error if a URL does not name a database. It does not
// connect. The error contains no password.
func CheckURL(url string) error {
	_, err := pgxpool.ParseConfig(url)
	return err
}

// newPool returns a connection pool for the database at url, without connecting.
func newPool(url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the database URL is not valid: %w", err) // which leaves passwords out
	}
	if config.ConnConfig.ConnectTimeout == 0 || config.ConnConfig.ConnectTimeout > connectPatience {
		config.ConnConfig.ConnectTimeout = connectPatience
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "hookgate"
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	return pool, nil
}

// Close closes every connection. It does not wait for a server that hangs: no
// operation is in progress any more.
func (p *Postgres) Close() error { return closePool(p.pool) }

func closePool(pool *pgxpool.Pool) error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool.Close()
	}()
	select {
	case <-closed:
		return nil
	case <-time.After(closePatience):
		return errors.New("the database does not respond: its connections are left to end by themselves")
	}
}

// ready migrates the tables, once.
func (p *Postgres) ready(ctx context.Context) error {
	select {
	case done := <-p.migrated:
		var err error
		if !done {
			err = p.migrate(ctx)
		}
		p.migrated <- done || err == nil
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// migrate runs the missing migrations. They run in one transaction under a lock,
// so that of replicas that start together one migrates and the others find it
// done.
func (p *Postgres) migrate(ctx context.Context) error {
	steps, err := readMigrations()
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(lockMigrations)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS hookgate_migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL)`); err != nil {
			return err
		}
		at, err := tablesVersion(ctx, tx, len(steps))
		if err != nil {
			return err
		}
		for i := at; i < len(steps); i++ {
			if _, err := tx.Exec(ctx, steps[i]); err != nil {
				return fmt.Errorf("migration %d: %w", i+1, err)
			}
			if _, err := tx.Exec(ctx, `INSERT INTO hookgate_migrations VALUES ($1, clock_timestamp())`, i+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// tablesVersion returns the version of the tables. A version above known is an
// error.
func tablesVersion(ctx context.Context, tx pgx.Tx, known int) (int, error) {
	var at int
	if err := tx.QueryRow(ctx, `SELECT coalesce(max(version), 0) FROM hookgate_migrations`).Scan(&at); err != nil {
		return 0, err
	}
	if at > known {
		return 0, fmt.Errorf("the database tables have version %d, but this program supports versions up to %d: run the hookgate version that created them", at, known)
	}
	return at, nil
}

// readMigrations returns the migrations in order: files named 1.sql, 2.sql and so
// on.
func readMigrations() ([]string, error) {
	files, err := fs.ReadDir(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	steps := make([]string, len(files))
	for _, f := range files {
		n, err := strconv.Atoi(strings.TrimSuffix(f.Name(), ".sql"))
		if err != nil || n < 1 || n > len(files) {
			return nil, fmt.Errorf("the name of migration %q does not begin with its number", f.Name())
		}
		text, err := migrations.ReadFile(path.Join("migrations", f.Name()))
		if err != nil {
			return nil, err
		}
		steps[n-1] = string(text)
	}
	return steps, nil
}

// columns are the columns of an approval, in the order in which scanned reads
// them.
const columns = `id, chain, asker, decision_id, envelope, digest, tool, agent, state, created_at, expires_at,
	coalesce(settled_at, 'epoch'), settled_by, message, updated_input, used, state = 'pending' AND attended_until <= clock_timestamp()`

// scanned reads the columns of an approval.
func scanned(row pgx.Row) (a approval.Approval, err error) {
	var tool, agent, by, message []byte
	var state string
	err = row.Scan(&a.ID, &a.Chain, &a.Asker, &a.DecisionID, &a.Envelope, &a.Digest, &tool, &agent, &state,
		&a.CreatedAt, &a.ExpiresAt, &a.SettledAt, &by, &message, &a.UpdatedInput, &a.Used, &a.Deserted)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, approval.ErrUnknown
	}
	if err != nil {
		return a, err
	}
	a.Tool, a.Agent, a.By, a.Message = string(tool), string(agent), string(by), string(message)
	a.CreatedAt, a.ExpiresAt, a.SettledAt = a.CreatedAt.UTC(), a.ExpiresAt.UTC(), a.SettledAt.UTC()
	a.State, err = approval.ParseState(state)
	if a.State == approval.Pending {
		a.SettledAt = time.Time{}
	}
	return a, err
}

// Create implements [approval.Store].
func (p *Postgres) Create(ctx context.Context, q approval.Question, ttl time.Duration) (approval.Approval, error) {
	if err := p.ready(ctx); err != nil {
		return approval.Approval{}, err
	}
	a, err := scanned(p.pool.QueryRow(ctx, `
		INSERT INTO hookgate_approvals (id, chain, asker, decision_id, envelope, digest, tool, agent, state, created_at, expires_at, attended_until)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, 'pending', now.now, now.now + $9 * interval '1 microsecond', now.now + $10 * interval '1 microsecond'
		FROM (SELECT clock_timestamp()) AS now(now)
		ON CONFLICT (id) DO NOTHING
		RETURNING `+columns,
		q.ID, q.Chain, q.Asker, q.DecisionID, q.Envelope, q.Digest, []byte(q.Tool), []byte(q.Agent), ttl.Microseconds(), approval.Attention.Microseconds()))
	if errors.Is(err, approval.ErrUnknown) {
		return p.Get(ctx, q.ID) // it already existed
	}
	return a, err
}

// Get implements [approval.Store].
func (p *Postgres) Get(ctx context.Context, id string) (approval.Approval, error) {
	if err := p.ready(ctx); err != nil {
		return approval.Approval{}, err
	}
	return scanned(p.pool.QueryRow(ctx, `SELECT `+columns+` FROM hookgate_approvals WHERE id = $1`, id))
}

// List implements [approval.Store].
func (p *Postgres) List(ctx context.Context, f approval.Filter) ([]approval.Approval, error) {
	if err := p.ready(ctx); err != nil {
		return nil, err
	}
	order, state := "DESC", ""
	if f.State == approval.Pending {
		order = "ASC"
	}
	if f.State != approval.Unset {
		state = f.State.String()
	}
	rows, err := p.pool.Query(ctx, `SELECT `+columns+` FROM hookgate_approvals
		WHERE ($1 = '' OR state = $1) AND ($2 = '' OR chain = $2) AND ($3 = ''::bytea OR tool = $3) AND ($4 = ''::bytea OR agent = $4)
			AND ($6::text[] IS NULL OR chain LIKE ANY ($6))
		ORDER BY id `+order+` LIMIT $5`, state, f.Chain, []byte(f.Tool), []byte(f.Agent), f.Limit, likes(f.Chains))
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (approval.Approval, error) { return scanned(row) })
	if found == nil {
		found = []approval.Approval{}
	}
	return found, err
}

// likes converts glob patterns to LIKE patterns.
func likes(patterns []string) []string {
	if patterns == nil {
		return nil
	}
	translate := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`, `*`, `%`)
	all := make([]string, len(patterns))
	for i, pattern := range patterns {
		all[i] = translate.Replace(pattern)
	}
	return all
}

// Attend implements [approval.Store].
func (p *Postgres) Attend(ctx context.Context, ids []string) error {
	if err := p.ready(ctx); err != nil {
		return err
	}
	_, err := p.pool.Exec(ctx, `UPDATE hookgate_approvals SET attended_until = clock_timestamp() + $2 * interval '1 microsecond'
		WHERE id = ANY ($1) AND state = 'pending'`, ids, approval.Attention.Microseconds())
	return err
}

// Settle implements [approval.Store].
func (p *Postgres) Settle(ctx context.Context, id string, to approval.State, s approval.Settlement) (approval.Approval, bool, error) {
	if err := p.ready(ctx); err != nil {
		return approval.Approval{}, false, err
	}
	a, err := scanned(p.pool.QueryRow(ctx, `
		UPDATE hookgate_approvals SET settled_at = clock_timestamp(),
			state         = CASE WHEN expires_at > clock_timestamp() THEN $2 ELSE 'expired' END,
			settled_by    = CASE WHEN expires_at > clock_timestamp() THEN $3 ELSE ''::bytea END,
			message       = CASE WHEN expires_at > clock_timestamp() THEN $4 ELSE ''::bytea END,
			updated_input = CASE WHEN expires_at > clock_timestamp() THEN $5::bytea END
		WHERE id = $1 AND state = 'pending'
		RETURNING `+columns, id, to.String(), []byte(s.By), []byte(s.Message), s.UpdatedInput))
	if errors.Is(err, approval.ErrUnknown) { // or it was settled before
		a, err = p.Get(ctx, id)
		return a, false, err
	}
	return a, err == nil && a.State == to, err
}

// Redeem implements [approval.Store].
func (p *Postgres) Redeem(ctx context.Context, id, digest string) (bool, error) {
	if err := p.ready(ctx); err != nil {
		return false, err
	}
	done, err := p.pool.Exec(ctx, `UPDATE hookgate_approvals SET used = true WHERE id = $1 AND digest = $2 AND state = 'allowed' AND NOT used`, id, digest)
	if err != nil || done.RowsAffected() == 1 {
		return err == nil, err
	}
	_, err = p.Get(ctx, id)
	return false, err
}

// Tidy implements [approval.Store].
func (p *Postgres) Tidy(ctx context.Context) error {
	if err := p.ready(ctx); err != nil {
		return err
	}
	if _, err := p.pool.Exec(ctx, `UPDATE hookgate_approvals SET state = 'expired', settled_at = clock_timestamp()
		WHERE state = 'pending' AND expires_at <= clock_timestamp()`); err != nil {
		return err
	}
	_, err := p.pool.Exec(ctx, `DELETE FROM hookgate_approvals
		WHERE state <> 'pending' AND settled_at < clock_timestamp() - $1 * interval '1 microsecond'`, remembered.Microseconds())
	return err
}

// Watch implements [approval.Store].
func (p *Postgres) Watch(ctx context.Context, changed func(id string)) {
	for ctx.Err() == nil {
		_ = p.listen(ctx, changed) // waiting calls poll anyway, so a lost watch only delays them
		select {
		case <-ctx.Done():
		case <-time.After(reconnectPause):
		}
	}
}

// listen reports changes until its connection is lost. It uses a connection of
// its own, so that watchers do not exhaust the pool.
func (p *Postgres) listen(ctx context.Context, changed func(id string)) error {
	conn, err := pgx.ConnectConfig(ctx, p.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectPatience)
		defer cancel()
		_ = conn.Close(closing) // the connection is lost, or no longer needed
	}()
	if _, err := conn.Exec(ctx, `LISTEN hookgate_approvals`); err != nil {
		return err
	}
	changed("") // what happened while nobody listened
	for {
		waiting, cancel := context.WithTimeout(ctx, listenPatience)
		notice, err := conn.WaitForNotification(waiting)
		quiet := waiting.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			changed(notice.Payload)
		case !quiet:
			return err
		default:
			if err := ping(ctx, conn); err != nil {
				return err
			}
		}
	}
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	return conn.Ping(ctx)
}
