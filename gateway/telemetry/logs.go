package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/hookgate/hookgate/gateway/audit"
)

// Logs is a sink of the audit trail: each record is a log record, whose body is
// the record's JSON.
type Logs struct {
	exporter sdklog.Exporter
	provider *sdklog.LoggerProvider
	logger   log.Logger
	batch    *batch
}

// NewLogs returns a sink that exports over OTLP.
func NewLogs(ctx context.Context, version string) (*Logs, error) {
	exporter, err := otlploghttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("OTLP logs: %w", err)
	}
	what, err := describe(ctx, version)
	if err != nil {
		return nil, err
	}
	return newLogs(exporter, what), nil
}

func newLogs(exporter sdklog.Exporter, what *resource.Resource) *Logs {
	// The trail has a queue already, and wants to know what became of its
	// records; the SDK's own queue would tell nobody.
	l := &Logs{exporter: exporter, batch: &batch{}}
	l.provider = sdklog.NewLoggerProvider(sdklog.WithResource(what), sdklog.WithProcessor(l.batch))
	l.logger = l.provider.Logger("github.com/hookgate/hookgate")
	return l
}

// Write implements [audit.Sink].
func (l *Logs) Write(ctx context.Context, records []audit.Record, _ bool) error {
	l.batch.records = make([]sdklog.Record, 0, len(records))
	for _, r := range records {
		var out log.Record
		out.SetTimestamp(r.Time)
		out.SetEventName("hookgate.decision")
		out.SetSeverity(log.SeverityInfo)
		out.SetBody(attribute.StringValue(string(r.Body)))
		l.logger.Emit(ctx, out)
	}
	return l.exporter.Export(ctx, l.batch.records)
}

// Close implements [audit.Sink].
func (l *Logs) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if err := l.provider.Shutdown(ctx); err != nil {
		return err
	}
	return l.exporter.Shutdown(ctx)
}

// batch is a processor that gathers what is emitted. One goroutine uses it.
type batch struct{ records []sdklog.Record }

// Enabled implements [sdklog.Processor].
func (*batch) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// OnEmit implements [sdklog.Processor].
func (b *batch) OnEmit(_ context.Context, r *sdklog.Record) error {
	b.records = append(b.records, r.Clone())
	return nil
}

// Shutdown implements [sdklog.Processor].
func (*batch) Shutdown(context.Context) error { return nil }

// ForceFlush implements [sdklog.Processor].
func (*batch) ForceFlush(context.Context) error { return nil }
