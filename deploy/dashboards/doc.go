// Package dashboards is the source of the Grafana dashboards in deploy/grafana,
// and of the check that they show something.
//
// What holds:
//
//   - D1 Every panel has a title, a unit, and a description that says what to do.
//   - D2 Every query goes to the data source that the person at the dashboard
//     chose, and nothing else is asked.
//   - D3 A rate is taken over $__rate_interval, so that it has samples whatever
//     the scrape interval is.
//   - D4 Quantiles are shown from classic buckets, and from native histograms
//     where the server keeps only those.
//   - D5 Every variable that a query names is one of the dashboard.
//   - D6 The committed files are what this package makes.
package dashboards
