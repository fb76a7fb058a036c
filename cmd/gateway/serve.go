package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hookgate/hookgate/gateway"
	"github.com/hookgate/hookgate/gateway/logbuffer"
)

// serve runs the gateway until ctx is done.
func (p *program) serve(ctx context.Context, args []string) int {
	if code, done := p.noArguments("serve", args); done {
		return code
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // first, since an unhandled SIGHUP would end the process
	defer signal.Stop(hangups)
	s, err := p.readSettings()
	if err != nil {
		p.complain("gateway: %v\n", err)
		return exitFailed
	}
	lines := logbuffer.New(p.stderr)
	defer lines.Close()
	log := newLogger(s, lines)
	slog.SetDefault(log) // net/http logs some things only to the default logger
	for _, said := range p.strangers() {
		log.LogAttrs(ctx, slog.LevelWarn, "environment", slog.String("warning", said))
	}
	o := p.options(s, log)
	if s.LogLevel <= slog.LevelInfo {
		o.DecisionLog = lines
	}
	if o.Audit, err = p.auditOutputs(ctx, s, log); err != nil {
		p.complain("gateway: %v\n", err)
		return exitFailed
	}
	traces, err := p.traces(ctx, log)
	if err != nil {
		p.complain("gateway: %v\n", errors.Join(err, closeOutputs(o.Audit)))
		return exitFailed
	}
	if traces != nil {
		o.Tracer = traces
		defer func() { _ = traces.Close() }() //nolint:contextcheck // ctx is done by then; export errors have been logged
	}
	g, err := begin(ctx, func() (*gateway.Gateway, error) { return gateway.New(o) }) //nolint:contextcheck // what New starts lives until the gateway is closed
	if errors.Is(err, errStopped) {
		p.complain("gateway: %v\n", err)
		return exitOK
	}
	if err != nil {
		err = errors.Join(named(err, s.paths()), closeOutputs(o.Audit))
		p.complain("gateway: %v\n", err)
		return exitFailed
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				g.Reload(ctx)
			}
		}
	}()
	if err := g.Run(ctx); err != nil {
		p.complain("gateway: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// errStopped says that the process was stopped while the gateway was starting.
var errStopped = errors.New("stopped before it had started: it was still reading its files")

// stopPatience is how long a stop waits for a start in progress.
const stopPatience = time.Second

// begin creates the gateway. A stop does not wait for files that hang: nobody
// is served yet, and the goroutine that reads them ends with the process.
func begin(ctx context.Context, makes func() (*gateway.Gateway, error)) (*gateway.Gateway, error) {
	type made struct {
		gateway *gateway.Gateway
		err     error
	}
	begun := make(chan made, 1)
	go func() {
		g, err := makes()
		begun <- made{g, err}
	}()
	select {
	case m := <-begun:
		return m.gateway, m.err
	case <-ctx.Done():
	}
	select {
	case m := <-begun:
		return m.gateway, m.err // Run ends it at once, since ctx is done
	case <-time.After(stopPatience):
		return nil, errStopped
	}
}

// options converts the settings to gateway options.
func (p *program) options(s settings, log *slog.Logger) gateway.Options {
	if s.RecentDecisions == 0 {
		s.RecentDecisions = -1 // gateway.Options uses a negative value for none
	}
	return gateway.Options{
		Addr: s.Addr, AdminAddr: s.AdminAddr,
		ConfigFile: s.Config, ChainsDir: s.ChainsDir, AgentsDir: s.AgentsDir, CallersFile: s.Callers,
		TLSCertFile: s.TLSCertFile, TLSKeyFile: s.TLSKeyFile, AuditState: s.AuditState, StateDir: s.StateDir, DatabaseURL: s.DatabaseURL,
		Egress: gateway.EgressOptions{
			Deny: s.EgressDeny, Allow: s.EgressAllow, ChainsDeny: s.ChainsEgressDeny, ChainsAllow: s.ChainsEgressAllow,
		},
		AllowAnonymous: s.AllowAnonymous, AllowedHosts: s.AllowedHosts,
		MaxRequestBytes: s.MaxRequestBytes, MaxInFlight: s.MaxInFlight, MaxTurns: s.MaxTurns, BodyTimeout: s.BodyTimeout,
		DrainDelay: s.DrainDelay, DrainTimeout: s.DrainTimeout, RecentDecisions: s.RecentDecisions, ReloadInterval: s.ReloadInterval, Pprof: s.Pprof,
		LookupEnv: p.lookupEnv, EnvironmentProxy: http.ProxyFromEnvironment, HookEnvironment: p.hookEnvironment(), Logger: log,
		Version: p.version.version, Revision: p.version.revision, GoVersion: p.version.goVersion,
	}
}

func newLogger(s settings, lines *logbuffer.Buffer) *slog.Logger {
	o := &slog.HandlerOptions{Level: s.LogLevel}
	if s.LogFormat == "text" {
		return slog.New(urgent{slog.NewTextHandler(lines, o), lines})
	}
	return slog.New(urgent{slog.NewJSONHandler(lines, o), lines})
}
