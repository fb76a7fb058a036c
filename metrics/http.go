package metrics

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Route describes one route of the HTTP API.
type Route struct {
	// Pattern is the value of its series' label.
	Pattern string
	// Codes are the statuses with which it is expected to respond. Their series
	// start at 0.
	Codes []int
}

// otherRoute is the label value for requests to an unknown route, and otherCode
// for a response with an invalid status.
const (
	otherRoute = "other"
	otherCode  = "other"
)

// requests are the metrics of the HTTP API. Its routes are fixed when the
// process starts.
type requests struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.GaugeFunc
	limit    prometheus.Gauge
	known    map[string]map[int]requestSeries // by route and status
}

type requestSeries struct {
	total    prometheus.Counter
	duration prometheus.Observer
}

func newRequests(o *Options) *requests {
	labels := []string{"route", "code"}
	r := &requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "http_requests_total",
			Help: "HTTP requests by route and status.",
		}, labels),
		duration: prometheus.NewHistogramVec(durations("http_request_duration_seconds",
			"How long it took to answer HTTP requests.", ladder(max(o.MaxBudget, o.MaxTimeout, o.MaxTurn))), labels),
		inFlight: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: namespace + "http_requests_in_flight",
			Help: "HTTP requests in flight.",
		}, func() float64 { return float64(o.InFlight()) }),
		limit: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: namespace + "http_requests_in_flight_limit",
			Help: "The limit of HTTP requests in flight; more get status 503.",
		}),
		known: map[string]map[int]requestSeries{otherRoute: {}},
	}
	r.limit.Set(float64(o.MaxInFlight))
	for _, route := range o.Routes {
		if r.known[route.Pattern] == nil {
			r.known[route.Pattern] = map[int]requestSeries{}
		}
		for _, code := range route.Codes {
			r.known[route.Pattern][code] = r.series(route.Pattern, code)
		}
	}
	return r
}

// series returns the series of a known route.
func (r *requests) series(route string, code int) requestSeries {
	label := otherCode
	if isStatus(code) {
		label = strconv.Itoa(code)
	}
	route = clean(route)
	return requestSeries{
		total:    r.total.WithLabelValues(route, label),
		duration: r.duration.WithLabelValues(route, label),
	}
}

func (r *requests) observe(route string, code int, took time.Duration) {
	codes, ok := r.known[route]
	if !ok {
		route, codes = otherRoute, r.known[otherRoute]
	}
	s, ok := codes[code]
	if !ok {
		s = r.series(route, code)
	}
	s.total.Inc()
	s.duration.Observe(took.Seconds())
}

// isStatus reports whether code is a valid HTTP status.
func isStatus(code int) bool { return code >= 100 && code <= 599 }

// check returns why a route is invalid.
func (r Route) check() error {
	if r.Pattern == "" {
		return errors.New("a route has no pattern")
	}
	for _, code := range r.Codes {
		if !isStatus(code) {
			return fmt.Errorf("route %q: %d is not an HTTP status", r.Pattern, code)
		}
	}
	return nil
}
