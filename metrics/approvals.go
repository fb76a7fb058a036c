package metrics

import "github.com/prometheus/client_golang/prometheus"

// ApprovalOutcome is the outcome of an approval. The zero ApprovalOutcome is a
// failure.
type ApprovalOutcome uint8

// The outcomes of an approval.
const (
	// ApprovalFailed means that no person could be asked, or that the answer was
	// lost.
	ApprovalFailed ApprovalOutcome = iota
	ApprovalAllowed
	ApprovalDenied
	// ApprovalExpired means that nobody answered in time.
	ApprovalExpired
	// ApprovalWithdrawn means that the caller stopped waiting, or that the gateway
	// stopped.
	ApprovalWithdrawn
)

// ApprovalOutcomes returns every outcome.
func ApprovalOutcomes() []ApprovalOutcome {
	return []ApprovalOutcome{ApprovalFailed, ApprovalAllowed, ApprovalDenied, ApprovalExpired, ApprovalWithdrawn}
}

// String returns the outcome's label value.
func (o ApprovalOutcome) String() string {
	switch o {
	case ApprovalAllowed:
		return "allowed"
	case ApprovalDenied:
		return "denied"
	case ApprovalExpired:
		return "expired"
	case ApprovalWithdrawn:
		return "withdrawn"
	case ApprovalFailed:
	}
	return "failed"
}

// Approvals reads the state of approvals. Its functions are called on every
// scrape and must be safe for concurrent use. They are nil in a process without
// approvals.
type Approvals struct {
	// Waiting returns how many calls wait for a person.
	Waiting func() int
	// Up reports whether the approvals store is available.
	Up func() bool
}

// approvals are the metrics of approvals.
type approvals struct {
	total       *prometheus.CounterVec
	pending, up prometheus.GaugeFunc
}

func newApprovals(read Approvals) *approvals {
	a := &approvals{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "approvals_total",
			Help: "Calls that a person was asked about, by outcome.",
		}, []string{"outcome"}),
		pending: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: namespace + "approvals_pending",
			Help: "Calls to this gateway that wait for a person.",
		}, func() float64 {
			if read.Waiting == nil {
				return 0
			}
			return float64(read.Waiting())
		}),
		up: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: namespace + "approvals_store_up",
			Help: "1 if the approvals store is available or was not needed so far; 0 if it is unavailable, so every call that needs an approval is denied.",
		}, func() float64 {
			if read.Up == nil || read.Up() {
				return 1
			}
			return 0
		}),
	}
	for _, o := range ApprovalOutcomes() {
		a.total.WithLabelValues(o.String())
	}
	return a
}

// Approval counts an approval by its outcome.
func (m *Metrics) Approval(outcome ApprovalOutcome) {
	m.approvals.total.WithLabelValues(outcome.String()).Inc()
}
