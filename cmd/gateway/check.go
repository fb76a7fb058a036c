package main

import (
	"context"
	"io"

	"github.com/hookgate/hookgate/gateway"
)

// check validates hooks files: those named, or those of the environment.
func (p *program) check(_ context.Context, args []string) int {
	s, err := p.readSettings()
	if err != nil {
		p.complain("gateway check: %v\n", err)
		return exitFailed
	}
	o := p.options(s, nil)
	code := exitOK
	if len(args) == 0 {
		return p.checkOne(o) //nolint:contextcheck // nothing is asked, so there is nothing to cancel
	}
	o.ChainsDir, o.AgentsDir = "", ""
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
