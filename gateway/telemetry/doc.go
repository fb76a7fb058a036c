// Package telemetry hands traces and records to OpenTelemetry exporters. It is
// configured by the standard environment variables (OTEL_…), which the SDK reads
// by itself: so it is made by the command alone, and only where it was asked
// for.
//
// What holds here:
//
//   - O1 An exporter that is slow or gone neither delays nor changes a decision.
//   - O2 What is exported carries neither input nor output of a tool, unless the
//     audit trail was asked for them.
package telemetry
