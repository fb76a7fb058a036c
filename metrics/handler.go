package metrics

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// HandlerOptions configures how metrics are served.
type HandlerOptions struct {
	// Gatherer is the registry whose metrics are served.
	Gatherer prometheus.Gatherer
	// ErrorLog receives errors of collecting and sending. It may be nil.
	ErrorLog promhttp.Logger
}

// maxScrapes limits the concurrent scrapes. Each holds every series in memory.
const maxScrapes = 4

// Handler serves metrics in the format that the scraper asks for, including
// OpenMetrics. Metrics that cannot be collected are logged and omitted.
func Handler(o HandlerOptions) (http.Handler, error) {
	if o.Gatherer == nil {
		return nil, errors.New("metrics: the registry is missing")
	}
	return promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{
		ErrorLog:            o.ErrorLog,
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
		EnableOpenMetrics:   true,
	}), nil
}
