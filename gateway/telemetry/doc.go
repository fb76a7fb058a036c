// Package telemetry exports traces and records to a collector over OTLP/HTTP. The
// collector's settings (OTEL_EXPORTER_OTLP_…) are passed in [Options]; those of
// sampler, queue and resource (OTEL_TRACES_SAMPLER, OTEL_BSP_…,
// OTEL_RESOURCE_ATTRIBUTES, …) the SDK reads from the environment itself. So only
// the command creates it, and only if it is enabled.
//
// Invariants:
//
//   - O1 A slow or unreachable collector neither delays nor changes a decision.
//   - O2 Exports contain neither the input nor the output of a tool, unless the
//     audit trail is configured to include them.
//   - O3 A batch is retried where OTLP allows it, with growing pauses, never
//     before the collector asks for it, and for at most a minute.
//   - O4 Whatever a collector did not accept is an error, even if the status is
//     200.
//   - O5 Credentials are not sent to redirects and are in no error.
package telemetry
