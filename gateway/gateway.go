package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
	"github.com/hookgate/hookgate/metrics"
	"github.com/hookgate/hookgate/transport"
)

// Options configure a gateway. The zero Options are a gateway on the loopback
// with the default chain.
type Options struct {
	// Addr and AdminAddr are where it listens. Default 127.0.0.1:8080 and
	// 127.0.0.1:8081.
	Addr, AdminAddr string
	// ConfigFile is the operator's hooks file. Empty means the default chain.
	ConfigFile string
	// ChainsDir is the directory of tenants' chains. Empty means none.
	ChainsDir string
	// AgentsDir is the directory of agents' profiles. Empty means none.
	AgentsDir string
	// CallersFile is who may call. Empty means that callers are not told apart.
	CallersFile string
	// TLSCertFile and TLSKeyFile are what the main listener shows as its
	// certificate. Empty means plain HTTP.
	TLSCertFile, TLSKeyFile string
	// StateDir is where approvals are kept in a file of this process alone, and
	// DatabaseURL the PostgreSQL database where they are kept for several; the
	// database wins. Without either there is nobody to ask. Both are opened when
	// something first needs them.
	StateDir, DatabaseURL string
	// Egress says where hooks may connect.
	Egress EgressOptions
	// Interceptors are asked before every hook of a file, in this order.
	Interceptors []transport.Interceptor
	// InterceptorTimeout is the longest each of them may take. Default 5 s.
	InterceptorTimeout time.Duration
	// InterceptorInlineUpTo asks them on the goroutine of the request where the
	// envelope has no more than that many bytes. It saves about as much as a small
	// decision costs, and gives up what holds an interceptor to its deadline: see
	// [transport.InProcessOptions]. Zero asks no call so.
	InterceptorInlineUpTo int

	// AllowAnonymous lets it listen beyond the loopback although it does not
	// tell its callers apart.
	AllowAnonymous bool
	// AllowedHosts are the names by which callers may call it. Empty means the
	// names of the loopback where it listens there, and any name elsewhere.
	AllowedHosts []string
	// MaxRequestBytes bounds the body of a request. Default 16 MiB.
	MaxRequestBytes int64
	// MaxInFlight bounds the requests at once. Default 16384.
	MaxInFlight int
	// MaxTurns bounds the turns of one agent at once. Default 32.
	MaxTurns int
	// BodyTimeout is how long a caller may take to send a request, and how long
	// to read an answer. Default 30 s.
	BodyTimeout time.Duration
	// DrainDelay is how long a stop still takes new calls, after it was announced.
	// Default none.
	DrainDelay time.Duration
	// DrainTimeout is how long calls in flight may take to end at a stop.
	// Default 30 s.
	DrainTimeout time.Duration
	// RecentDecisions is how many decisions are remembered. Default 1000; less
	// than zero means none.
	RecentDecisions int
	// ReloadInterval is how often files are looked at where no change was
	// announced. Default 10 s.
	ReloadInterval time.Duration
	// Pprof serves profiles on the admin listener.
	Pprof bool

	// LookupEnv finds the variables that files refer to. Nil finds none.
	LookupEnv func(string) (string, bool)
	// EnvironmentProxy is the proxy of entries that say proxy: environment. Nil
	// is none.
	EnvironmentProxy func(*http.Request) (*url.URL, error)
	// HookEnvironment is the environment of subprocesses, as NAME=VALUE; what
	// their entries say comes on top. It is that of agents as well.
	HookEnvironment []string
	// Logger takes what operators want to know. Nil discards it.
	Logger *slog.Logger
	// DecisionLog takes one line of JSON for each decision, in one Write; it is
	// used from many goroutines and must not block for long. Nil is nobody.
	DecisionLog io.Writer
	// Tracer makes spans. Nil makes none, and costs nothing.
	Tracer Tracer
	// Audit is where records of decisions go. The gateway closes the sinks, once
	// New has returned it.
	Audit []audit.Output
	// AuditState has records go to where approvals are kept as well.
	AuditState bool
	// Registry takes the metrics. Nil means one of the gateway's own.
	Registry *prometheus.Registry
	// Version, Revision and GoVersion say what was built.
	Version, Revision, GoVersion string

	// approvalPoll is how often who waits for a person looks by himself. Zero is
	// the default.
	approvalPoll time.Duration
	// egress is what Egress comes to.
	egress egressPolicies
}

// withDefaults fills in what was left out and refuses what cannot be.
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
		errs = append(errs, fmt.Errorf("the address %q of the main listener is not HOST:PORT, like 127.0.0.1:8080", o.Addr))
	} else if !isLoopback(o.Addr) && !o.AllowAnonymous && o.CallersFile == "" {
		errs = append(errs, fmt.Errorf("refusing to listen on %s: anyone who reaches it could ask, and callers are not told apart; say who may call (HOOKGATE_CALLERS), listen on a loopback address, or set HOOKGATE_ALLOW_ANONYMOUS=true where the network keeps others out", o.Addr))
	}
	if (o.TLSCertFile == "") != (o.TLSKeyFile == "") {
		errs = append(errs, errors.New("a certificate needs its key, and a key its certificate: set both HOOKGATE_TLS_CERT_FILE and HOOKGATE_TLS_KEY_FILE"))
	}
	return o, errors.Join(errs...)
}

// or is value, or the fallback where value was left out.
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
	trail   *audit.Trail // nil until there is a configuration in force
	// redactor takes credentials out of what records hold of inputs and outputs.
	redactor *guard.Redactor
	shown    *certificate // nil where the main listener speaks plain HTTP
	metrics  *metrics.Metrics
	scrapes  http.Handler
	history  *history
	keeper   *keeper
	desk     *approval.Desk
	plans    plans
	clients  map[string]*client.Client
	// jsonType is the value of a header that every decision has.
	jsonType []string

	closing  sync.Once
	flying   *atomic.Int64 // requests being answered
	stopping atomic.Bool
	// first are the entries for whose warm-up and canary a start waits.
	first   []*live
	refused atomic.Pointer[string] // why the latest files were refused; nil where they were not

	reloading sync.Mutex // held by whoever changes what follows
	set       *config.Set
	lives     map[identity]*live
	seats     map[string]*seats // by agent
	retiring  sync.WaitGroup    // a plan for each of which somebody is not gone yet
	waitingMu sync.Mutex
	waiting   map[*plan]struct{} // those plans
}

// New returns a gateway with its configuration in force, or every reason why
// there cannot be one (G3). It listens once it runs; one that is not run must
// be closed.
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
			hosts: hostsOf(o.Addr, o.AllowedHosts), maxBytes: o.MaxRequestBytes, maxHeld: 64 * o.MaxRequestBytes, patience: o.BodyTimeout,
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

// Run serves until ctx ends, then drains and releases everything. It is called
// once.
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

// Serve is Run on listeners that exist. It closes them.
func (g *Gateway) Serve(ctx context.Context, main, admin net.Listener) error {
	defer g.Close()
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	var background sync.WaitGroup
	background.Go(func() { g.watch(watching) })
	background.Go(func() { memory.New(memory.Options{Logger: g.log}).Run(watching) })

	mainServer, adminServer := g.newServer(g.mainHandler(), g.options.BodyTimeout), g.newServer(g.adminHandler(), adminPatience)
	g.secure(mainServer)
	failed := make(chan error, 2)
	background.Go(func() { failed <- served(g.serveMain(mainServer, main)) })
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

// served is the error of a server that ended, which is none where it was told
// to.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// drain announces the stop, lets calls in flight end, and ends those that do
// not within the time (G9). The admin listener answers until the last.
func (g *Gateway) drain(ctx context.Context, main, admin *http.Server) error {
	g.stopping.Store(true)
	g.log.LogAttrs(ctx, slog.LevelInfo, "stopping",
		slog.String("drain_delay", g.options.DrainDelay.String()), slog.String("drain_timeout", g.options.DrainTimeout.String()))
	// Whoever sends callers here takes a while to see that this is not ready.
	// Until then they are answered, and asked to come by another connection.
	<-time.After(g.options.DrainDelay)
	g.history.close()
	g.desk.Stop() // nobody can answer any more, so waiting would only be longer
	ctx, cancel := context.WithTimeout(ctx, g.options.DrainTimeout)
	defer cancel()
	if err := main.Shutdown(ctx); err != nil {
		g.log.LogAttrs(ctx, slog.LevelWarn, "calls in flight were cut off at the drain timeout", slog.Int64("requests", g.flying.Load()))
		if err := main.Close(); err != nil {
			return err
		}
	}
	return admin.Close()
}

// Close releases the participants once nobody asks them any more. It may be
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
			g.log.Error("the audit trail did not end well", slog.Any("error", err))
		}
	})
	g.desk.Close()
	g.keeper.close()
}
