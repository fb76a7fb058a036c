package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/gateway"
	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/config"
)

// check validates the given hooks files, or all files that the environment
// names.
func (p *program) check(_ context.Context, args []string) int {
	files := args
	if at := slices.Index(args, "--"); at >= 0 {
		args, files = args[:at], slices.Delete(slices.Clone(args), at, at+1)
	}
	if at := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") }); at >= 0 {
		p.complain("usage: gateway check [FILE…]\n\nFILE is a hooks file. Without FILE, everything that the environment names is checked: HOOKGATE_CONFIG, HOOKGATE_CHAINS_DIR, HOOKGATE_AGENTS_DIR, HOOKGATE_CALLERS.\n")
		if slices.Contains(helpFlags(), args[at]) {
			return exitOK
		}
		return exitUsage
	}
	if slices.Contains(files, "") { // in a script, a variable that is not set
		p.complain("gateway check: an argument is empty: give the path of a hooks file\n")
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
		o.Audit = []audit.Output{{Name: "file", Durable: true}} // declared but not opened: a running gateway may have it open
	}
	code := exitOK
	if len(files) == 0 {
		return p.checkOne(o, s.paths()) //nolint:contextcheck // makes no requests, so there is nothing to cancel
	}
	o.ChainsDir, o.AgentsDir, o.CallersFile = "", "", ""
	for _, file := range files {
		o.ConfigFile = file
		code = max(code, p.checkOne(o, map[string]string{file: "an argument"})) //nolint:contextcheck // makes no requests, so there is nothing to cancel
	}
	return code
}

// checkOne checks the files of o. by says for each path where it is configured.
func (p *program) checkOne(o gateway.Options, by map[string]string) int {
	report, err := gateway.Check(o)
	if err != nil {
		p.complain("%v\n", named(err, by))
		return exitFailed
	}
	if _, err := io.WriteString(p.stdout, report.String()); err != nil {
		p.complain("gateway check: cannot write to stdout: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// paths returns the files and directories of the configuration, each with the
// variable that names it.
func (s *settings) paths() map[string]string {
	return map[string]string{
		s.Config: prefix + "CONFIG", s.ChainsDir: prefix + "CHAINS_DIR", s.AgentsDir: prefix + "AGENTS_DIR", s.Callers: prefix + "CALLERS",
	}
}

// named adds to each mistake about a whole file or directory where its path is
// configured: if a path does not exist, that is what has to be corrected.
func named(err error, by map[string]string) error {
	mistakes, ok := errors.AsType[config.Errors](err)
	if !ok {
		return err
	}
	said := slices.Clone(mistakes)
	for i := range said {
		if name, known := by[said[i].File]; known && said[i].Line == 0 {
			said[i].File += " (" + name + ")"
		}
	}
	return said
}
