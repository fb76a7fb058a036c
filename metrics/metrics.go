package metrics

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Options configures the metrics of a process.
type Options struct {
	// Registerer is the registry for all metrics. It must be the caller's own,
	// without other metrics of the same names.
	Registerer prometheus.Registerer
	// Version, Revision and GoVersion identify the build.
	Version, Revision, GoVersion string
	// Routes are the routes of the HTTP API. Requests to any other route are
	// labelled "other", which may be listed here to declare its codes.
	Routes []Route
	// Clients are the agents whose own hook formats the gateway speaks.
	Clients []Client
	// MaxTimeout and MaxBudget are the largest timeout of a participant and the
	// largest budget of a chain that configuration allows.
	MaxTimeout, MaxBudget time.Duration
	// MaxTurn is the largest timeout of an agent's turn that configuration allows.
	MaxTurn time.Duration
	// AuditSinks are the names of the audit trail's sinks.
	AuditSinks []string
	// AuthReasons are the possible reasons of a failed authentication. They are
	// empty if callers are not authenticated.
	AuthReasons []string
	// CertificateExpiry returns when the main listener's certificate expires. It
	// is called on every scrape and must be safe for concurrent use. It is nil if
	// there is no certificate.
	CertificateExpiry func() time.Time
	// InFlight returns the number of HTTP requests in flight, and MaxInFlight is
	// its limit. InFlight is called on every scrape and must be safe for
	// concurrent use.
	InFlight    func() int
	MaxInFlight int
	// Approvals reads the state of approvals.
	Approvals Approvals
}

// check returns an error that lists every problem with the options.
func (o *Options) check() error {
	var errs []error
	if o.Registerer == nil {
		errs = append(errs, errors.New("metrics: the registry is missing"))
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
		errs = append(errs, errors.New("metrics: the counter of requests in flight is missing, or their limit is not positive"))
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
// configurations must be activated one after the other.
type Metrics struct {
	shapes    *shapes
	active    atomic.Pointer[active] // nil before the first configuration
	requests  *requests
	unserved  *unserved
	clients   *clients
	approvals *approvals

	audit        *auditTrail
	authFailures *prometheus.CounterVec
	certificate  prometheus.Collector // nil if there is none
	authReasons  map[string]prometheus.Counter

	build             prometheus.Gauge
	reloads           *prometheus.CounterVec
	reloaded, refused prometheus.Counter
	good              prometheus.Gauge
}

// New registers the metrics, with those of the Go runtime and of the process,
// and returns them. On an error nothing remains registered.
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
			Help: "The version and revision of this build; always 1.",
			ConstLabels: prometheus.Labels{
				"version": clean(o.Version), "revision": clean(o.Revision), "goversion": clean(o.GoVersion),
			},
		}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "config_reloads_total",
			Help: "Reloads of the configuration: ok, or invalid if the previous one stayed in force.",
		}, []string{"result"}),
		good: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: namespace + "config_last_reload_successful",
			Help: "1 if the files on disk are in force, 0 if they were refused and the previous configuration stays in force.",
		}),
	}
	m.audit = newAuditTrail(o.AuditSinks)
	m.authFailures, m.authReasons = newAuthFailures(o.AuthReasons)
	if expiry := o.CertificateExpiry; expiry != nil {
		m.certificate = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: namespace + "tls_certificate_expiry_timestamp_seconds",
			Help: "When the certificate of the main listener expires.",
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
		histogramCollector{m}, // last, because an unchecked collector cannot be unregistered
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

// Request counts an HTTP request and its duration.
func (m *Metrics) Request(route string, code int, took time.Duration) {
	m.requests.observe(route, code, took)
}

// ReloadRefused counts a failed reload, after which the previous configuration
// stays active.
func (m *Metrics) ReloadRefused() {
	m.refused.Inc()
	m.good.Set(0)
}

// ReloadUnchanged counts a reload that found the active configuration on disk.
func (m *Metrics) ReloadUnchanged() {
	if a := m.active.Load(); a != nil {
		m.activate(a.catalogue)
	}
}

// activate exposes the series of a catalogue. Unless it is the first, it counts
// a successful reload.
func (m *Metrics) activate(c *catalogue) {
	before := m.active.Swap(&active{catalogue: c, since: time.Now()})
	m.good.Set(1)
	if before != nil {
		m.reloaded.Inc()
	}
}
