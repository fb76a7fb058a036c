-- What people are asked, and what they answered. Texts that callers choose are
-- bytes: they may hold what a text of the database cannot.
CREATE TABLE hookgate_approvals (
    id            text        PRIMARY KEY,
    chain         text        NOT NULL,
    asker         text        NOT NULL,
    decision_id   text        NOT NULL,
    envelope      bytea       NOT NULL,
    digest        text        NOT NULL,
    tool          bytea       NOT NULL,
    agent         bytea       NOT NULL,
    state         text        NOT NULL CHECK (state IN ('pending', 'allowed', 'denied', 'expired', 'withdrawn')),
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    settled_at    timestamptz CHECK ((settled_at IS NULL) = (state = 'pending')),
    settled_by    bytea       NOT NULL DEFAULT '',
    message       bytea       NOT NULL DEFAULT '',
    updated_input bytea       CHECK (updated_input IS NULL OR state = 'allowed'),
    used          boolean     NOT NULL DEFAULT false CHECK (NOT used OR state = 'allowed')
);

CREATE INDEX hookgate_approvals_pending ON hookgate_approvals (expires_at) WHERE state = 'pending';
CREATE INDEX hookgate_approvals_settled ON hookgate_approvals (settled_at) WHERE state <> 'pending';

CREATE FUNCTION hookgate_approvals_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('hookgate_approvals', NEW.id);
    RETURN NULL;
END
$$;

CREATE TRIGGER hookgate_approvals_changed
    AFTER INSERT OR UPDATE OF state ON hookgate_approvals
    FOR EACH ROW EXECUTE FUNCTION hookgate_approvals_changed();

CREATE TABLE hookgate_audit (
    position bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at       timestamptz NOT NULL,
    body     bytea       NOT NULL
);
