package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookgate/hookgate/gateway/approval"
	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/client"
	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/gateway/guard"
	"github.com/hookgate/hookgate/gateway/memory"
	"github.com/hookgate/hookgate/gateway/state"
	"github.com/hookgate/hookgate/metrics"
	"github.com/hookgate/hookgate/transport"
)

// Options configure a gateway. The zero Options listen on the loopback and use the
// default chain.
type Options struct {
	// Addr and AdminAddr are the listen addresses. Default 127.0.0.1:8080 and
	// 127.0.0.1:8081.
	Addr, AdminAddr string
	// ConfigFile is the operator's hooks file. Empty means the default chain.
	ConfigFile string
	// ChainsDir is the directory of tenants' chains. Empty means none.
	ChainsDir string
	// AgentsDir is the directory of agents' profiles. Empty means none.
	AgentsDir string
	// CallersFile lists the callers. Empty means that callers are not
	// authenticated.
	CallersFile string
	// TLSCertFile and TLSKeyFile are the main listener's certificate and key.
	// Empty means plain HTTP.
	TLSCertFile, TLSKeyFile string
	// StateDir is the directory of a state file that only this process uses;
	// DatabaseURL is a PostgreSQL database that several replicas can share. They
	// hold approvals and, with AuditState, audit records. DatabaseURL takes
	// precedence. Without either nobody can be asked for approval. Both are opened
	// on first use.
	StateDir, DatabaseURL string
	// Egress restricts where hooks may connect.
	Egress EgressOptions
	// Interceptors are asked before all hooks from files, in this order.
	Interceptors []transport.Interceptor
	// InterceptorTimeout is the deadline of each interceptor. Default 5 s.
	InterceptorTimeout time.Duration
	// InterceptorInlineUpTo runs interceptors on the goroutine of the request if
	// the envelope has at most that many bytes. It saves about the cost of a small
	// decision, but the deadline of an interceptor is not enforced then: see
	// [transport.InProcessOptions]. Zero runs none inline.
	InterceptorInlineUpTo int

	// AllowAnonymous permits a non-loopback Addr without CallersFile.
	AllowAnonymous bool
	// AllowedHosts are the accepted Host names. Empty means the loopback's names
	// if Addr is a loopback address, and any name otherwise.
	AllowedHosts []string
	// MaxRequestBytes limits the body of a request. Default 16 MiB.
	MaxRequestBytes int64
	// MaxInFlight limits the concurrent requests. Default 16384.
	MaxInFlight int
	// MaxTurns limits the concurrent turns of one agent. Default 32.
	MaxTurns int
	// BodyTimeout limits the time for receiving a request, and separately that for
	// sending the response. Default 30 s.
	BodyTimeout time.Duration
	// DrainDelay is how long the gateway still accepts new calls after a stop was
	// announced. Default none.
	DrainDelay time.Duration
	// DrainTimeout is how long calls in flight may take to finish at a stop.
	// Default 30 s.
	DrainTimeout time.Duration
	// RecentDecisions is how many decisions GET /v1/decisions remembers. Default
	// 1000; negative means none.
	RecentDecisions int
	// ReloadInterval is how often files are checked even without a change
	// notification. Default 10 s.
	ReloadInterval time.Duration
	// Pprof serves /debug/pprof/ on the admin listener.
	Pprof bool

	// LookupEnv resolves the variables that files refer to. Nil resolves none.
	LookupEnv func(string) (string, bool)
	// EnvironmentProxy is the proxy of entries with proxy: environment. Nil means
	// no proxy.
	EnvironmentProxy func(*http.Request) (*url.URL, error)
	// HookEnvironment is the base environment of subprocesses and agents, as
	// NAME=VALUE; an entry's own variables override it.
	HookEnvironment []string
	// Logger receives the operator's log. Nil discards it.
	Logger *slog.Logger
	// DecisionLog receives one line of JSON for each decision, in one Write. Write
	// is called from many goroutines and must not block for long. Nil means no
	// log.
	DecisionLog io.Writer
	// Tracer makes the spans. Nil makes none, at no cost.
	Tracer Tracer
	// Audit lists the outputs for decision records. The gateway closes the sinks
	// once New has returned successfully.
	Audit []audit.Output
	// AuditState also writes records to the state in StateDir or DatabaseURL.
	AuditState bool
	// Registry receives the metrics. Nil means a registry of the gateway's own.
	Registry *prometheus.Registry
	// Version, Revision and GoVersion describe the build.
	Version, Revision, GoVersion string

	// approvalPoll is how often a waiting call polls for its approval. Zero is the
	// default.
	approvalPoll time.Duration
	// egress holds the policies compiled from Egress.
	egress egressPolicies
}

// withDefaults fills in defaults and rejects invalid values.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	bound := func(name string, value int64) {
		if value < 0 {
			errs = append(errs, fmt.Errorf("%s is negative: give a positive value", name))
		}
	}
	bound("MaxRequestBytes", o.MaxRequestBytes)
	bound("MaxInFlight", int64(o.MaxInFlight))
	bound("MaxTurns", int64(o.MaxTurns))
	bound("BodyTimeout", int64(o.BodyTimeout))
	bound("DrainTimeout", int64(o.DrainTimeout))
	bound("DrainDelay", int64(o.DrainDelay))
	bound("ReloadInterval", int64(o.ReloadInterval))
	bound("InterceptorTimeout", int64(o.InterceptorTimeout))
	bound("InterceptorInlineUpTo", int64(o.InterceptorInlineUpTo))
	o.Addr = or(o.Addr, "127.0.0.1:8080")
	o.AdminAddr = or(o.AdminAddr, "127.0.0.1:8081")
	o.InterceptorTimeout = or(o.InterceptorTimeout, 5*time.Second)
	o.MaxRequestBytes = or(o.MaxRequestBytes, 16<<20)
	o.MaxInFlight = or(o.MaxInFlight, 16384)
	o.MaxTurns = or(o.MaxTurns, 32)
	o.BodyTimeout = or(o.BodyTimeout, 30*time.Second)
	o.DrainTimeout = or(o.DrainTimeout, 30*time.Second)
	o.RecentDecisions = max(or(o.RecentDecisions, 1000), 0)
	o.ReloadInterval = or(o.ReloadInterval, 10*time.Second)
	o.Version = or(o.Version, "devel")
	var err error
	if o.egress, err = o.Egress.policies(); err != nil {
		errs = append(errs, err)
	}
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if _, _, err := net.SplitHostPort(o.Addr); err != nil {
		errs = append(errs, fmt.Errorf("the address of the main listener (HOOKGATE_ADDR) is %q: use HOST:PORT, like 127.0.0.1:8080", o.Addr))
	} else if !isLoopback(o.Addr) && !o.AllowAnonymous && o.CallersFile == "" {
		errs = append(errs, fmt.Errorf("refusing to listen on %s: callers are not authenticated, so anyone who reaches it could ask; set HOOKGATE_CALLERS, listen on a loopback address, or set HOOKGATE_ALLOW_ANONYMOUS=true if the network restricts access", o.Addr))
	}
	if _, _, err := net.SplitHostPort(o.AdminAddr); err != nil {
		errs = append(errs, fmt.Errorf("the address of the admin listener (HOOKGATE_ADMIN_ADDR) is %q: use HOST:PORT, like 127.0.0.1:8081", o.AdminAddr))
	}
	if o.DatabaseURL != "" {
		if err := state.CheckURL(o.DatabaseURL); err != nil {
			errs = append(errs, fmt.Errorf("HOOKGATE_DATABASE_URL is not valid: %w", err))
		}
	}
	if (o.TLSCertFile == "") != (o.TLSKeyFile == "") {
		errs = append(errs, errors.New("HOOKGATE_TLS_CERT_FILE and HOOKGATE_TLS_KEY_FILE must be set together"))
	}
	return o, errors.Join(errs...)
}

// or returns value, or fallback if value is zero.
func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// Gateway is the service. Make it with [New].
type Gateway struct {
	options Options
	log     *slog.Logger
	callers *callers
	trail   *audit.Trail // nil until a configuration is in force
	// redactor removes credentials from the inputs and outputs in records.
	redactor *guard.Redactor
	shown    *certificate // nil if the main listener uses plain HTTP
	metrics  *metrics.Metrics
	scrapes  http.Handler
	history  *history
	keeper   *keeper
	desk     *approval.Desk
	plans    plans
	clients  map[string]*client.Client
	// jsonType is the Content-Type header value of every decision.
	jsonType []string

	closing  sync.Once
	flying   *atomic.Int64 // requests being answered
	stopping atomic.Bool
	// first are the entries whose warm-up and canary readiness waits for at the
	// start.
	first   []*live
	refused atomic.Pointer[string] // why the latest files were refused; nil if they were not

	reloading sync.Mutex // guards the fields below
	set       *config.Set
	lives     map[identity]*live
	seats     map[string]*seats // by agent
	retiring  sync.WaitGroup    // counts replaced plans that still have requests
	waitingMu sync.Mutex
	waiting   map[*plan]struct{} // the plans that retiring counts
}

// New returns a gateway with its configuration in force, or every reason why it
// cannot (G3). The gateway listens once Run or Serve is called. A caller that
// calls neither must call Close.
func New(options Options) (*Gateway, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	shown, err := loadCertificate(o.TLSCertFile, o.TLSKeyFile)
	if err != nil {
		return nil, err
	}
	flying := new(atomic.Int64)
	var m *metrics.Metrics
	k := &keeper{dir: o.StateDir, databaseURL: o.DatabaseURL, log: o.Logger}
	if o.AuditState {
		out, err := k.auditOutput()
		if err != nil {
			return nil, err
		}
		o.Audit = append(slices.Clone(o.Audit), out)
	}
	desk := newDesk(&o, k, &m)
	m, err = newMetrics(o, o.Registry, flying, shown, measuredApprovals(desk))
	if err != nil {
		return nil, err
	}
	scrapes, err := metrics.Handler(metrics.HandlerOptions{
		Gatherer: o.Registry, ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelError),
	})
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		flying: flying, shown: shown, options: o, log: o.Logger, metrics: m, scrapes: scrapes, history: newHistory(o.RecentDecisions), redactor: guard.NewRedactor(), jsonType: []string{"application/json"},
		callers: &callers{
			hosts: hostsOf(o.Addr, o.AllowedHosts), maxBytes: o.MaxRequestBytes, maxHeld: 64 * min(o.MaxRequestBytes, math.MaxInt64/64), patience: o.BodyTimeout,
			turns: make(chan struct{}, runtime.GOMAXPROCS(0)),
		},
		clients: clientsByName(),
		waiting: map[*plan]struct{}{}, keeper: k, desk: desk,
	}
	set, err := loadFiles(o)
	if err != nil {
		return nil, err
	}
	if err := g.adopt(context.Background(), set); err != nil {
		g.Close()
		return nil, err
	}
	g.trail = newTrail(o, m.Audit())
	for _, m := range g.plans.current().hooks {
		if m.warmup != nil || m.canary != nil {
			g.first = append(g.first, m.live)
		}
	}
	return g, nil
}

func newMetrics(o Options, registry *prometheus.Registry, flying *atomic.Int64, shown *certificate, approvals metrics.Approvals) (*metrics.Metrics, error) {
	return metrics.New(metrics.Options{
		Registerer: registry, Version: o.Version, Revision: o.Revision, GoVersion: o.GoVersion,
		Routes: routes(), Clients: measuredClients(), MaxTimeout: longestTimeout, MaxBudget: longestBudget, MaxTurn: longestTurn,
		AuditSinks: auditNames(o), AuthReasons: authReasons(o), CertificateExpiry: shown.expiry(),
		InFlight: func() int { return int(flying.Load()) }, MaxInFlight: o.MaxInFlight, Approvals: approvals,
	})
}

// Run listens and serves until ctx ends, then drains and releases everything. It
// may be called only once.
func (g *Gateway) Run(ctx context.Context) error {
	defer g.Close()
	main, err := listen(ctx, g.options.Addr, "HOOKGATE_ADDR")
	if err != nil {
		return err
	}
	admin, err := listen(ctx, g.options.AdminAddr, "HOOKGATE_ADMIN_ADDR")
	if err != nil {
		return errors.Join(err, main.Close())
	}
	return g.Serve(ctx, main, admin)
}

func listen(ctx context.Context, addr, variable string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen (%s): %w", variable, err)
	}
	return l, nil
}

// Serve is [Gateway.Run] on existing listeners, which it closes.
func (g *Gateway) Serve(ctx context.Context, main, admin net.Listener) error {
	defer g.Close()
	g.reloading.Lock()
	g.announce(ctx)
	g.reloading.Unlock()
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	var background sync.WaitGroup
	background.Go(func() { g.watch(watching) })
	background.Go(func() { memory.New(memory.Options{Logger: g.log}).Run(watching) })

	mainServer, adminServer := g.newServer(g.mainHandler(), g.options.BodyTimeout), g.newServer(g.adminHandler(), adminPatience)
	g.secure(mainServer)
	g.watchArrivals(mainServer)
	failed := make(chan error, 2)
	background.Go(func() { failed <- served(g.serveMain(mainServer, arrivals{main})) })
	background.Go(func() { failed <- served(adminServer.Serve(admin)) })
	g.log.LogAttrs(ctx, slog.LevelInfo, "serving",
		slog.String("addr", main.Addr().String()), slog.String("admin_addr", admin.Addr().String()),
		slog.String("version", g.options.Version), slog.String("config_sha256", g.plans.sum()))

	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	err = errors.Join(err, g.drain(context.WithoutCancel(ctx), mainServer, adminServer))
	stopWatching()
	background.Wait()
	return err
}

// served returns the error of a server that ended, nil for a regular shutdown.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// drain announces the stop, lets calls in flight finish, and cuts off those that
// exceed DrainTimeout (G9). The admin listener answers until the end.
func (g *Gateway) drain(ctx context.Context, main, admin *http.Server) error {
	g.stopping.Store(true)
	g.log.LogAttrs(ctx, slog.LevelInfo, "stopping",
		slog.String("drain_delay", g.options.DrainDelay.String()), slog.String("drain_timeout", g.options.DrainTimeout.String()))
	// Load balancers take a while to notice that this gateway is not ready. Until
	// then it answers, and asks callers to use a new connection.
	<-time.After(g.options.DrainDelay)
	g.history.close()
	g.desk.Stop() // approvals can no longer be answered here: end the waits
	ctx, cancel := context.WithTimeout(ctx, g.options.DrainTimeout)
	defer cancel()
	if err := main.Shutdown(ctx); err != nil {
		g.log.LogAttrs(ctx, slog.LevelWarn, "the drain timeout passed: calls still in flight were cut off", slog.Int64("requests", g.flying.Load()))
		if err := main.Close(); err != nil {
			return err
		}
	}
	return admin.Close()
}

// Close releases the participants once no call uses them any more. It may be
// called more than once.
func (g *Gateway) Close() {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	g.history.close()
	g.desk.Stop()
	if before := g.plans.put(nil); before != nil {
		if before.access != nil {
			defer before.access.Close()
		}
		g.retire(before, g.lives)
		g.lives = nil
	}
	g.stopShadows()
	g.retiring.Wait()
	g.closing.Do(func() {
		if g.trail == nil {
			return
		}
		if err := g.trail.Close(); err != nil {
			g.log.Error("the audit trail could not be closed cleanly", slog.Any("error", err))
		}
	})
	g.desk.Close()
	g.keeper.close()
}
