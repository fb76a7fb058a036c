package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/gateway"
	"github.com/hookgate/hookgate/gateway/audit"
)

// check validates hooks files: those named, or those of the environment.
func (p *program) check(_ context.Context, args []string) int {
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		p.complain("usage: gateway check [FILE…]\n\nA FILE is a hooks file. Without one it checks all that the environment names: HOOKGATE_CONFIG, HOOKGATE_CHAINS_DIR, HOOKGATE_AGENTS_DIR, HOOKGATE_CALLERS.\n")
		if slices.Contains(helpFlags(), args[0]) {
			return exitOK
		}
		return exitUsage
	}
	for _, said := range p.strangers() {
		p.complain("warning: %s\n", said)
	}
	s, err := p.readSettings()
	if err != nil {
		p.complain("gateway check: %v\n", err)
		return exitFailed
	}
	o := p.options(s, nil)
	if s.AuditFile != "" {
		o.Audit = []audit.Output{{Name: "file", Durable: true}} // declared, not opened: a gateway may have it open
	}
	code := exitOK
	if len(args) == 0 {
		return p.checkOne(o) //nolint:contextcheck // nothing is asked, so there is nothing to cancel
	}
	o.ChainsDir, o.AgentsDir, o.CallersFile = "", "", ""
	for _, file := range args {
		o.ConfigFile = file
		code = max(code, p.checkOne(o)) //nolint:contextcheck // nothing is asked, so there is nothing to cancel
	}
	return code
}

func (p *program) checkOne(o gateway.Options) int {
	report, err := gateway.Check(o)
	if err != nil {
		p.complain("%v\n", err)
		return exitFailed
	}
	if _, err := io.WriteString(p.stdout, report.String()); err != nil {
		p.complain("gateway check: cannot write to stdout: %v\n", err)
		return exitFailed
	}
	return exitOK
}
