// Package prometheus checks the Prometheus rules in rules.yaml against their
// documentation.
package prometheus
