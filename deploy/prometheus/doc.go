// Package prometheus holds the rules for Prometheus to what is written about
// them. The rules themselves are in rules.yaml.
package prometheus
