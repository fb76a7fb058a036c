package metrics

import "github.com/prometheus/client_golang/prometheus"

// ApprovalOutcome is what became of a call that was put to a person. The zero
// ApprovalOutcome is a failure.
type ApprovalOutcome uint8

// The outcomes.
const (
	// ApprovalFailed is of a call that could not be put to a person, or whose
	// answer could not be had.
	ApprovalFailed ApprovalOutcome = iota
	ApprovalAllowed
	ApprovalDenied
	// ApprovalExpired is of a call that nobody answered in its time.
	ApprovalExpired
	// ApprovalWithdrawn is of a caller that stopped waiting, or of a gateway that
	// stopped.
	ApprovalWithdrawn
)

// ApprovalOutcomes returns every outcome.
func ApprovalOutcomes() []ApprovalOutcome {
	return []ApprovalOutcome{ApprovalFailed, ApprovalAllowed, ApprovalDenied, ApprovalExpired, ApprovalWithdrawn}
}

// String returns the outcome as it stands in labels.
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

// Approvals reads the state of approvals. Its functions are called for every
// scrape, from any goroutine; a nil one stands for a process without approvals.
type Approvals struct {
	// Waiting counts the calls that wait for a person.
	Waiting func() int
	// Up is whether they can be kept.
	Up func() bool
}

// approvals are the metrics of calls that are put to a person.
type approvals struct {
	total       *prometheus.CounterVec
	pending, up prometheus.GaugeFunc
}

func newApprovals(read Approvals) *approvals {
	a := &approvals{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "approvals_total",
			Help: "Calls that were put to a person, by what became of them.",
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
			Help: "1 where approvals can be kept, or nothing needed one so far; 0 where whatever needs one is denied.",
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

// Approval counts a call that was put to a person.
func (m *Metrics) Approval(outcome ApprovalOutcome) {
	m.approvals.total.WithLabelValues(outcome.String()).Inc()
}
