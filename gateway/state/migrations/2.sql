-- Until when the caller of a pending approval counts as waiting. Of those that a
-- gateway of an earlier version has asked nobody says so: they count until they
-- are over.
ALTER TABLE hookgate_approvals ADD COLUMN attended_until timestamptz NOT NULL DEFAULT 'infinity';
