package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel"

	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/telemetry"
)

// auditOutputs opens the outputs of the audit trail. If one cannot be opened,
// it closes the others.
func (p *program) auditOutputs(ctx context.Context, s settings, log *slog.Logger) (all []audit.Output, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeOutputs(all))
			all = nil
		}
	}()
	if s.AuditFile != "" {
		file, err := audit.OpenFile(audit.FileOptions{Path: s.AuditFile, MaxBytes: s.AuditFileMaxBytes, Keep: s.AuditFileKeep})
		if err != nil {
			return all, fmt.Errorf("%sAUDIT_FILE: %w", prefix, err)
		}
		all = append(all, audit.Output{Name: "file", Sink: file, Durable: true})
	}
	if s.AuditStdout {
		all = append(all, audit.Output{Name: "stdout", Sink: &audit.Lines{To: p.stdout}})
	}
	if s.AuditOTLP {
		to, err := p.collector("LOGS", log)
		if err != nil {
			return all, err
		}
		logs, err := telemetry.NewLogs(ctx, to)
		if err != nil {
			return all, err
		}
		all = append(all, audit.Output{Name: "otlp", Sink: logs})
	}
	return all, nil
}

func closeOutputs(all []audit.Output) error {
	var errs []error
	for _, out := range all {
		errs = append(errs, out.Sink.Close())
	}
	return errors.Join(errs...)
}

// traces returns the exporter of spans. It is nil unless the standard
// OpenTelemetry variables request it: OTEL_TRACES_EXPORTER=otlp, or an
// endpoint.
func (p *program) traces(ctx context.Context, log *slog.Logger) (*telemetry.Traces, error) {
	if !p.wantsTraces() {
		return nil, nil //nolint:nilnil // most gateways export no spans
	}
	to, err := p.collector("TRACES", log)
	if err != nil {
		return nil, err
	}
	// The SDK reports errors of its background exports only to this handler.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { //nolint:contextcheck // called outside of any request
		log.LogAttrs(context.Background(), slog.LevelWarn, "telemetry cannot be exported", slog.Any("error", err))
	}))
	return telemetry.NewTraces(ctx, to)
}

func (p *program) wantsTraces() bool {
	set := standardVariables(p.environ)
	switch {
	case strings.EqualFold(set["OTEL_SDK_DISABLED"], "true"):
		return false
	case set["OTEL_TRACES_EXPORTER"] != "":
		return set["OTEL_TRACES_EXPORTER"] == "otlp"
	}
	return set["OTEL_EXPORTER_OTLP_ENDPOINT"] != "" || set["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] != ""
}
