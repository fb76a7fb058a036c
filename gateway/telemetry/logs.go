package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/hookgate/hookgate/gateway/audit"
)

// Logs is a sink of the audit trail: each record becomes a log record whose body
// is the record's JSON. It has no queue of its own, because the trail has one and
// needs the result of each write.
type Logs struct {
	sender   *sender
	resource *resource.Resource
}

// NewLogs returns a sink that exports over OTLP.
func NewLogs(ctx context.Context, o Options) (*Logs, error) {
	what, err := describe(ctx, o.Version)
	if err != nil {
		return nil, err
	}
	s, err := newSender(o)
	if err != nil {
		return nil, err
	}
	return &Logs{sender: s, resource: what}, nil
}

// Write implements [audit.Sink].
func (l *Logs) Write(ctx context.Context, records []audit.Record, _ bool) error {
	items := make([][]byte, len(records))
	for i, r := range records {
		items[i] = logRecord(r)
	}
	if err := l.sender.send(ctx, request(l.resource, instrumentation.Scope{Name: scopeName}, items)); err != nil {
		return fmt.Errorf("OTLP logs: %w", err)
	}
	return nil
}

// Close implements [audit.Sink].
func (l *Logs) Close() error {
	l.sender.close()
	return nil
}

// logRecord encodes a LogRecord.
func logRecord(r audit.Record) []byte {
	const severityInfo = 9
	b := appendTime(nil, 1, r.Time)
	b = appendVarint(b, 2, severityInfo)
	b = putMessage(b, 5, anyValue(attribute.StringValue(string(r.Body))))
	b = appendTime(b, 11, r.Time)
	return appendText(b, 12, "hookgate.decision")
}
