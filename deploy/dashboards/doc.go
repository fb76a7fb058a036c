// Package dashboards generates the Grafana dashboards in deploy/grafana.
//
// Invariants, checked by its tests:
//
//   - D1 Every panel has a title, a unit, and a description that says what to do.
//   - D2 Every query uses the data source that the user chose in the dashboard.
//   - D3 A rate is taken over $__rate_interval, so that it has samples whatever
//     the scrape interval is.
//   - D4 Quantiles are computed from classic buckets, and from native histograms
//     if the server stores only those.
//   - D5 Every variable in a query is a variable of the dashboard.
//   - D6 The committed files are the output of this package.
package dashboards
