// Package state stores what must outlive a call: approvals and the audit trail.
// [Bolt] stores them in a file of one process, [Postgres] in a database that
// several replicas share. Both implement the ports of packages approval and
// audit, and pass the same test suite.
//
// Every operation returns when its context ends, even if the disk or the database
// hangs. An abandoned operation may still take effect.
package state
