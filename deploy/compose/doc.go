// Package compose checks the compose file of examples/observability, and what it
// mounts, as far as that can be done without an engine.
package compose
