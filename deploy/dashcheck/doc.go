// Package dashcheck parses Grafana dashboards as strictly as possible, reports
// their mistakes, and runs all of their queries on a real Prometheus.
//
// It replaces Grafana only as far as queries are concerned: it does not check
// how a panel is drawn, transformed or provisioned.
package dashcheck
