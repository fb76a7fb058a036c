// Package telemetry hands traces and records to a collector over OTLP/HTTP. What
// the standard variables (OTEL_EXPORTER_OTLP_…) say of the collector it is told in
// [Options]; sampler, queue and resource (OTEL_TRACES_SAMPLER, OTEL_BSP_…,
// OTEL_RESOURCE_ATTRIBUTES, …) the SDK reads from the environment by itself. So it
// is made by the command alone, and only where it was asked for.
//
// What holds here:
//
//   - O1 An exporter that is slow or gone neither delays nor changes a decision.
//   - O2 What is exported carries neither input nor output of a tool, unless the
//     audit trail was asked for them.
//   - O3 A batch is tried again where OTLP says that it may help, after growing
//     pauses and never before the collector wants it, for at most a minute.
//   - O4 What a collector did not keep is an error, whatever its status.
//   - O5 Credentials follow no redirect and are in no error.
package telemetry
