// Package compose checks the compose file of examples/observability and the
// files that it mounts, as far as possible without a container engine.
package compose
