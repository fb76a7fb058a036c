// Package state keeps what has to outlast a call: approvals and the audit trail.
// [Bolt] keeps them in a file of one process, [Postgres] in a database of many.
// Both are the ports of packages approval and audit, and one suite of tests holds
// them to the same.
//
// Every operation ends when its context does, also where the disk or the
// database hangs. What was under way then may happen all the same.
package state
