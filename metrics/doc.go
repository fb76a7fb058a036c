// Package metrics counts what chains, their participants and agents do, for
// Prometheus. It implements the observers that package chain declares; the
// program that puts everything together describes its configuration in the
// types of this package and hands the observers on.
//
// What holds:
//
//   - M1 A label's value comes from the configuration or from a closed set,
//     never from a caller. A tool that configuration does not name is "other".
//   - M2 Every series that the configuration makes possible is there from the
//     beginning, at 0. What it rules out is not there; a cause or a decision
//     that is reported all the same is counted under its true name.
//   - M3 A new configuration takes away the series of what it no longer has.
//     What stays keeps its counts.
//   - M4 An observer of an earlier configuration, which calls in flight still
//     hold, never brings back a series that is gone.
//   - M5 Observing takes no lock and allocates nothing, but for the first
//     duration of each size.
//   - M6 Nothing of a configuration is seen before it is activated, so one that
//     is given up leaves no trace.
//   - M7 States are read when somebody looks, never on the path of a decision.
//   - M8 The top bucket of a histogram is not below the longest time that
//     configuration can allow.
package metrics
