// Package dashcheck reads Grafana dashboards as strictly as it can, says what is
// wrong with them, and asks a real Prometheus everything that they would ask.
//
// It stands in for Grafana, of which it knows nothing but the language of
// queries: how a panel is drawn, transformed and provisioned is not checked.
package dashcheck
