package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/caarlos0/env/v10"
)

// prefix is the prefix of every environment variable of hookgate.
const prefix = "HOOKGATE_"

// settings are the environment variables. gateway env prints their help.
type settings struct {
	Addr              string        `env:"ADDR" envDefault:"127.0.0.1:8080" help:"address of the main listener; beyond loopback it requires HOOKGATE_CALLERS or HOOKGATE_ALLOW_ANONYMOUS"`
	AdminAddr         string        `env:"ADMIN_ADDR" envDefault:"127.0.0.1:8081" help:"address of the admin listener: /metrics /healthz /readyz"`
	Config            string        `env:"CONFIG" help:"the operator's hooks file; default: the built-in chain"`
	ChainsDir         string        `env:"CHAINS_DIR" help:"directory of tenant chains, one NAME.yaml each"`
	ChainsEgressDeny  []string      `env:"CHAINS_EGRESS_DENY" help:"where hooks of tenant chains may not connect, in addition to metadata services and link-local addresses: comma-separated addresses, ranges, names, *.names, * for everything"`
	ChainsEgressAllow []string      `env:"CHAINS_EGRESS_ALLOW" help:"exceptions to CHAINS_EGRESS_DENY: addresses from denied ranges, names from denied names"`
	EgressDeny        []string      `env:"EGRESS_DENY" help:"where no hook may connect, including the operator's hooks"`
	EgressAllow       []string      `env:"EGRESS_ALLOW" help:"exceptions to EGRESS_DENY"`
	AgentsDir         string        `env:"AGENTS_DIR" help:"directory of agent profiles, one NAME.yaml each; POST /v1/turns runs them"`
	Callers           string        `env:"CALLERS" help:"the callers file, which names who may call; without it callers are not authenticated"`
	TLSCertFile       string        `env:"TLS_CERT_FILE" help:"certificate of the main listener, as PEM; without it the listener serves plain HTTP"`
	TLSKeyFile        string        `env:"TLS_KEY_FILE" help:"private key of that certificate"`
	StateDir          string        `env:"STATE_DIR" help:"directory of the approvals store, for a single gateway"`
	DatabaseURL       string        `env:"DATABASE_URL" help:"postgres://… of the approvals store shared by several gateways, instead of STATE_DIR"`
	AuditFile         string        `env:"AUDIT_FILE" help:"hash-chained file of the audit trail; gateway audit reads it"`
	AuditFileMaxBytes int64         `env:"AUDIT_FILE_MAX_BYTES" envDefault:"104857600" help:"size at which the audit file is rotated, in bytes"`
	AuditFileKeep     int           `env:"AUDIT_FILE_KEEP" envDefault:"0" help:"how many rotated audit files are kept; 0 means all"`
	AuditState        bool          `env:"AUDIT_STATE" envDefault:"false" help:"true: write audit records to the approvals store"`
	AuditStdout       bool          `env:"AUDIT_STDOUT" envDefault:"false" help:"true: write audit records to stdout, one per line"`
	AuditOTLP         bool          `env:"AUDIT_OTLP" envDefault:"false" help:"true: export audit records as OTLP logs, configured by OTEL_EXPORTER_OTLP_…"`
	LogLevel          slog.Level    `env:"LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error; debug and info include a line for each decision"`
	LogFormat         string        `env:"LOG_FORMAT" envDefault:"json" help:"json or text; decisions are always JSON"`
	MaxRequestBytes   int64         `env:"MAX_REQUEST_BYTES" envDefault:"16777216" help:"maximum size of a request body, in bytes"`
	MaxInFlight       int           `env:"MAX_IN_FLIGHT" envDefault:"16384" help:"maximum concurrent requests; more get 503"`
	MaxTurns          int           `env:"MAX_TURNS" envDefault:"32" help:"maximum concurrent turns of one agent; more get 503"`
	BodyTimeout       time.Duration `env:"BODY_TIMEOUT" envDefault:"30s" help:"how long a caller may take to send a request, and to read a response"`
	DrainDelay        time.Duration `env:"DRAIN_DELAY" envDefault:"0s" help:"how long the gateway still takes calls after SIGTERM, while /readyz returns 503"`
	DrainTimeout      time.Duration `env:"DRAIN_TIMEOUT" envDefault:"30s" help:"how long calls in flight may take to finish after DRAIN_DELAY"`
	AllowAnonymous    bool          `env:"ALLOW_ANONYMOUS" envDefault:"false" help:"true: listen beyond loopback without authenticating callers"`
	AllowedHosts      []string      `env:"ALLOWED_HOSTS" help:"comma-separated host names that the main listener accepts; default on loopback: the loopback names"`
	RecentDecisions   int           `env:"RECENT_DECISIONS" envDefault:"1000" help:"how many decisions GET /v1/decisions keeps; 0 means none"`
	ReloadInterval    time.Duration `env:"RELOAD_INTERVAL" envDefault:"10s" help:"how often files are polled for changes, in addition to notifications"`
	Pprof             bool          `env:"PPROF" envDefault:"false" help:"true: serve /debug/pprof/ on the admin listener"`
}

// readSettings reads and validates the environment variables.
func (p *program) readSettings() (settings, error) {
	var s settings
	ours := map[string]string{}
	for _, pair := range p.environ {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, prefix) {
			ours[name] = value
		}
	}
	if err := env.ParseWithOptions(&s, env.Options{Environment: ours, Prefix: prefix}); err != nil {
		return s, fmt.Errorf("the environment: %w", plainly(err, ours))
	}
	var errs []error
	if !slices.Contains([]string{"json", "text"}, s.LogFormat) {
		errs = append(errs, fmt.Errorf("the environment: %sLOG_FORMAT is %q: use json or text", prefix, s.LogFormat))
	}
	refuse := func(good map[string]bool, advice string) {
		for name, ok := range good {
			if !ok {
				errs = append(errs, fmt.Errorf("the environment: %s%s is %q: give %s", prefix, name, ours[prefix+name], advice))
			}
		}
	}
	refuse(map[string]bool{
		"MAX_REQUEST_BYTES": s.MaxRequestBytes > 0, "MAX_IN_FLIGHT": s.MaxInFlight > 0, "BODY_TIMEOUT": s.BodyTimeout > 0,
		"DRAIN_TIMEOUT": s.DrainTimeout > 0, "RELOAD_INTERVAL": s.ReloadInterval > 0, "AUDIT_FILE_MAX_BYTES": s.AuditFileMaxBytes > 0,
		"MAX_TURNS": s.MaxTurns > 0,
	}, "a positive value")
	refuse(map[string]bool{
		"DRAIN_DELAY": s.DrainDelay >= 0, "RECENT_DECISIONS": s.RecentDecisions >= 0, "AUDIT_FILE_KEEP": s.AuditFileKeep >= 0,
	}, "zero or a positive value")
	for i, name := range s.AllowedHosts {
		s.AllowedHosts[i] = strings.TrimSpace(name)
	}
	refuse(map[string]bool{
		"ALLOWED_HOSTS": !slices.ContainsFunc(s.AllowedHosts, func(name string) bool { return !isHost(name) }),
	}, "host names or addresses without scheme, port or path")
	for name, address := range map[string]string{"ADDR": s.Addr, "ADMIN_ADDR": s.AdminAddr} {
		if _, _, err := net.SplitHostPort(address); err != nil {
			errs = append(errs, fmt.Errorf("the environment: %s%s is %q: give HOST:PORT, like 127.0.0.1:8080", prefix, name, address))
		}
	}
	if !isDatabase(s.DatabaseURL) { // not quoted: it may contain a password
		errs = append(errs, fmt.Errorf("the environment: %sDATABASE_URL is not a PostgreSQL URL: give postgres://USER@HOST/NAME", prefix))
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return s, errors.Join(errs...)
}

// isHost reports whether a name can be the host of a request.
func isHost(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name != "" && !strings.ContainsAny(name, "/:[]@* \t")
}

// isDatabase reports whether an address is empty, or one of PostgreSQL: a URL
// or a list of keywords like host=….
func isDatabase(address string) bool {
	scheme, _, isURL := strings.Cut(address, "://")
	if isURL {
		return scheme == "postgres" || scheme == "postgresql"
	}
	return address == "" || strings.Contains(address, "=")
}

// plainly rewords the library's errors in terms of the variables.
func plainly(err error, ours map[string]string) error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return err
	}
	var errs []error
	for _, one := range all.Errors {
		var wrong env.ParseError
		field, known := reflect.TypeFor[settings]().FieldByName(errorField(one, &wrong))
		if !known {
			errs = append(errs, one)
			continue
		}
		name := prefix + field.Tag.Get("env")
		errs = append(errs, fmt.Errorf("%s is %q: give %s (gateway env describes it)", name, ours[name], kindOf(field.Type)))
	}
	return errors.Join(errs...)
}

// errorField is the struct field that an error of the library is about.
func errorField(err error, wrong *env.ParseError) string {
	if !errors.As(err, wrong) {
		return ""
	}
	return wrong.Name
}

// kindOf describes the values of a setting.
func kindOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration like 30s"
	case t == reflect.TypeFor[slog.Level]():
		return "debug, info, warn or error"
	case t.Kind() == reflect.Bool:
		return "true or false"
	}
	if t.Kind() == reflect.Int { // which the library reads as 32 bits everywhere
		return fmt.Sprintf("a whole number up to %d", math.MaxInt32)
	}
	return fmt.Sprintf("a whole number up to %d", math.MaxInt64)
}

// variable is one setting in the list of gateway env.
type variable struct{ name, fallback, help string }

// variables lists the settings in the order of their declaration.
func variables() []variable {
	var all []variable
	for f := range reflect.TypeFor[settings]().Fields() {
		all = append(all, variable{prefix + f.Tag.Get("env"), f.Tag.Get("envDefault"), f.Tag.Get("help")})
	}
	return all
}

// strangers returns a warning for each unknown variable with our prefix. A
// misspelt variable would otherwise leave the gateway running with another
// configuration than its operator believes.
func (p *program) strangers() []string {
	known := variables()
	var unknown []string
	for _, pair := range p.environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(strings.ToUpper(name), prefix) || slices.ContainsFunc(known, func(v variable) bool { return v.name == name }) {
			continue
		}
		nearest := slices.MinFunc(known, func(a, b variable) int {
			return levenshtein.ComputeDistance(strings.ToUpper(name), a.name) - levenshtein.ComputeDistance(strings.ToUpper(name), b.name)
		})
		said := name + " is not known to this version and is ignored"
		if levenshtein.ComputeDistance(strings.ToUpper(name), nearest.name) <= 3 {
			said += "; did you mean " + nearest.name + "?"
		}
		unknown = append(unknown, said)
	}
	return unknown
}

func (p *program) listEnv(_ context.Context, args []string) int {
	if code, done := p.noArguments("env", args); done {
		return code
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "VARIABLE\tDEFAULT\tMEANING\n") // a tabwriter fails at Flush only
	for _, v := range variables() {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", v.name, v.fallback, v.help)
	}
	if err := table.Flush(); err != nil {
		p.complain("gateway: cannot write to stdout: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// hookEnvironment is the part of the gateway's environment that a subprocess
// inherits: where programs are, who runs them, and their locale.
func (p *program) hookEnvironment() []string {
	var kept []string
	for _, pair := range p.environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "LC_") || slices.Contains([]string{"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR"}, name) {
			kept = append(kept, pair)
		}
	}
	return kept
}
