package main

import (
	"context"
	"errors"

	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/telemetry"
)

// auditOutputs opens what the audit trail goes to. Where one of them cannot be
// opened there is none.
func (p *program) auditOutputs(ctx context.Context, s settings) (all []audit.Output, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeOutputs(all))
			all = nil
		}
	}()
	if s.AuditFile != "" {
		file, err := audit.OpenFile(audit.FileOptions{Path: s.AuditFile, MaxBytes: s.AuditFileMaxBytes, Keep: s.AuditFileKeep})
		if err != nil {
			return all, err
		}
		all = append(all, audit.Output{Name: "file", Sink: file, Durable: true})
	}
	if s.AuditStdout {
		all = append(all, audit.Output{Name: "stdout", Sink: &audit.Lines{To: p.stdout}})
	}
	if s.AuditOTLP {
		logs, err := telemetry.NewLogs(ctx, p.version.version)
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
