package metrics

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// HandlerOptions configure how metrics are served.
type HandlerOptions struct {
	// Gatherer is the registry whose metrics are served.
	Gatherer prometheus.Gatherer
	// ErrorLog is told what could not be collected or sent. May be nil.
	ErrorLog promhttp.Logger
}

// maxScrapes is how many scrapes are served at the same time; each holds every
// series in memory.
const maxScrapes = 4

// Handler serves metrics in the format that the scraper asks for, OpenMetrics
// included. What cannot be collected is logged and left out; the rest is served.
func Handler(o HandlerOptions) (http.Handler, error) {
	if o.Gatherer == nil {
		return nil, errors.New("metrics: no registry to serve")
	}
	return promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{
		ErrorLog:            o.ErrorLog,
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
		EnableOpenMetrics:   true,
	}), nil
}
