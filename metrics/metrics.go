package metrics

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Options configure the metrics of a process.
type Options struct {
	// Registerer is the registry on which they are all registered. It must be
	// the caller's own: nothing else of the same names may be on it.
	Registerer prometheus.Registerer
	// Version, Revision and GoVersion say which build this is.
	Version, Revision, GoVersion string
	// Routes are the routes of the HTTP API. Requests to any other are
	// labelled "other"; it may be listed, for its codes.
	Routes []Route
	// Clients are the agents whose own dialect the gateway speaks.
	Clients []Client
	// MaxTimeout and MaxBudget are the longest that configuration allows one
	// participant and one chain to take.
	MaxTimeout, MaxBudget time.Duration
	// MaxTurn is the longest that configuration allows an agent's turn to take.
	MaxTurn time.Duration
	// AuditSinks are where the audit trail goes.
	AuditSinks []string
	// AuthReasons are why nobody may be known by a request, for a process that
	// tells callers apart.
	AuthReasons []string
	// CertificateExpiry is when the certificate of the main listener is no longer
	// good. It is called for every scrape, from any goroutine. Nil where there is
	// none.
	CertificateExpiry func() time.Time
	// InFlight counts the HTTP requests that are being answered, and MaxInFlight
	// is how many there may be. InFlight is called for every scrape, from any
	// goroutine.
	InFlight    func() int
	MaxInFlight int
	// Approvals are those that wait.
	Approvals Approvals
}

// check returns every reason why there cannot be metrics.
func (o *Options) check() error {
	var errs []error
	if o.Registerer == nil {
		errs = append(errs, errors.New("metrics: no registry to register on"))
	}
	if o.MaxTimeout <= 0 {
		errs = append(errs, fmt.Errorf("metrics: the longest timeout %v is not positive", o.MaxTimeout))
	}
	if o.MaxBudget <= 0 {
		errs = append(errs, fmt.Errorf("metrics: the longest budget %v is not positive", o.MaxBudget))
	}
	if o.MaxTurn <= 0 {
		errs = append(errs, fmt.Errorf("metrics: the longest turn %v is not positive", o.MaxTurn))
	}
	if o.InFlight == nil || o.MaxInFlight <= 0 {
		errs = append(errs, errors.New("metrics: nothing counts the requests in flight, or there may be none"))
	}
	for _, r := range o.Routes {
		if err := r.check(); err != nil {
			errs = append(errs, fmt.Errorf("metrics: %w", err))
		}
	}
	for i := range o.Clients {
		if err := o.Clients[i].check(); err != nil {
			errs = append(errs, fmt.Errorf("metrics: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Metrics are the metrics of a process. They are safe for concurrent use, but
// configurations are activated one after the other.
type Metrics struct {
	shapes    *shapes
	active    atomic.Pointer[active] // nil before the first configuration
	requests  *requests
	unserved  *unserved
	clients   *clients
	approvals *approvals

	audit        *auditTrail
	authFailures *prometheus.CounterVec
	certificate  prometheus.Collector // nil where there is none
	authReasons  map[string]prometheus.Counter

	build             prometheus.Gauge
	reloads           *prometheus.CounterVec
	reloaded, refused prometheus.Counter
	good              prometheus.Gauge
}

// New returns metrics that are registered, with those of the Go runtime and of
// the process, or says why they cannot be.
func New(o Options) (*Metrics, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	m := &Metrics{
		shapes:    newShapes(o.MaxBudget, o.MaxTimeout, o.MaxTurn),
		requests:  newRequests(&o),
		unserved:  newUnserved(),
		clients:   newClients(&o),
		approvals: newApprovals(o.Approvals),
		build: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: namespace + "build_info",
			Help: "Which build this is; always 1.",
			ConstLabels: prometheus.Labels{
				"version": clean(o.Version), "revision": clean(o.Revision), "goversion": clean(o.GoVersion),
			},
		}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "config_reloads_total",
			Help: "Reloads of the configuration: ok, or invalid where the one before stayed.",
		}, []string{"result"}),
		good: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: namespace + "config_last_reload_successful",
			Help: "1 where the files on disk are those in force, 0 where they were refused and the configuration before stays.",
		}),
	}
	m.audit = newAuditTrail(o.AuditSinks)
	m.authFailures, m.authReasons = newAuthFailures(o.AuthReasons)
	if expiry := o.CertificateExpiry; expiry != nil {
		m.certificate = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: namespace + "tls_certificate_expiry_timestamp_seconds",
			Help: "When the certificate that the main listener shows is no longer good.",
		}, func() float64 { return float64(expiry().Unix()) })
	}
	m.build.Set(1)
	m.good.Set(1)
	m.reloaded, m.refused = m.reloads.WithLabelValues("ok"), m.reloads.WithLabelValues("invalid")
	if err := m.register(o.Registerer); err != nil {
		return nil, fmt.Errorf("metrics: not registered: %w", err)
	}
	return m, nil
}

// register registers everything or nothing.
func (m *Metrics) register(r prometheus.Registerer) error {
	all := []prometheus.Collector{
		collector{m},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		histogramCollector{m}, // last: what describes nothing cannot be taken back
	}
	for i, c := range all {
		if err := r.Register(c); err != nil {
			for _, done := range all[:i] {
				r.Unregister(done)
			}
			return err
		}
	}
	return nil
}

// Request counts an answered HTTP request.
func (m *Metrics) Request(route string, code int, took time.Duration) {
	m.requests.observe(route, code, took)
}

// ReloadRefused counts a reload that went wrong, so that the configuration
// before stays.
func (m *Metrics) ReloadRefused() {
	m.refused.Inc()
	m.good.Set(0)
}

// ReloadUnchanged counts a reload that found on disk what is in force.
func (m *Metrics) ReloadUnchanged() {
	if a := m.active.Load(); a != nil {
		m.activate(a.catalogue)
	}
}

// activate shows the series of a catalogue, and counts a reload that went well
// where there was one before.
func (m *Metrics) activate(c *catalogue) {
	before := m.active.Swap(&active{catalogue: c, since: time.Now()})
	m.good.Set(1)
	if before != nil {
		m.reloaded.Inc()
	}
}
