// Package metrics exposes to Prometheus what chains, their participants and
// agents do. It implements the observers that package chain declares. The
// gateway describes its configuration in the types of this package and passes
// the observers on.
//
// These rules hold:
//
//   - M1 A label value comes from the configuration or from a closed set, never
//     from a caller. A tool that the configuration does not name is "other".
//   - M2 Every series that the configuration makes possible exists from the
//     beginning, at 0. Series that it rules out do not exist; if such a cause or
//     decision is reported nevertheless, it is counted under its own name.
//   - M3 A new configuration removes the series of what it no longer has. What
//     remains keeps its counts.
//   - M4 An observer of an earlier configuration, which calls in flight still
//     use, never brings back a removed series.
//   - M5 Observing takes no lock and allocates nothing, except for the first
//     duration of each size.
//   - M6 Nothing of a configuration is visible before it is activated, so a
//     dropped configuration leaves no trace.
//   - M7 States are read at the time of a scrape, never while a decision is made.
//   - M8 The top bucket of a histogram is not below the longest time that the
//     configuration can allow.
package metrics
