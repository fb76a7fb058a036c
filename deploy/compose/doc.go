// Package compose checks the compose file of examples/observability as far as
// that can be done without an engine.
package compose
