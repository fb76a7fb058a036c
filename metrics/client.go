package metrics

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookgate/hookgate/chain"
)

// Client is an agent whose own hook format the gateway speaks.
type Client struct {
	// Name is the value of its series' label.
	Name string
	// Degradations are the decisions that its format cannot always express.
	Degradations []chain.Decision
	// Refusals are the statuses with which its requests can be refused. Their
	// series start at 0.
	Refusals []int
}

func (c *Client) check() error {
	if c.Name == "" {
		return errors.New("a client has no name")
	}
	for _, status := range c.Refusals {
		if !isStatus(status) {
			return fmt.Errorf("client %q: %d is not an HTTP status", c.Name, status)
		}
	}
	return nil
}

// clients are the metrics of clients. The clients are fixed when the process
// starts.
type clients struct{ degradations, refusals clientCounter }

// clientCounter counts by client and one more label.
type clientCounter struct {
	*prometheus.CounterVec
	known map[[2]string]prometheus.Counter
}

func newClientCounter(name, help, label string) clientCounter {
	return clientCounter{
		CounterVec: prometheus.NewCounterVec(prometheus.CounterOpts{Name: namespace + name, Help: help}, []string{"client", label}),
		known:      map[[2]string]prometheus.Counter{},
	}
}

// expect creates a series that starts at 0.
func (c clientCounter) expect(client, value string) {
	c.known[[2]string{client, value}] = c.WithLabelValues(clean(client), value)
}

func (c clientCounter) inc(client, value string) {
	if series, ok := c.known[[2]string{client, value}]; ok {
		series.Inc()
		return
	}
	c.WithLabelValues(clean(client), value).Inc()
}

func newClients(o *Options) *clients {
	c := &clients{
		degradations: newClientCounter("client_degradations_total",
			"Decisions that the client's format cannot express: modify and replace were denied instead; after a deny the client shows the result nevertheless.", "outcome"),
		refusals: newClientCounter("client_refusals_total",
			"Requests of clients that were refused before any chain decided, with a deny in their own format, by the status that any other caller would have got.", "status"),
	}
	for _, client := range o.Clients {
		for _, d := range client.Degradations {
			c.degradations.expect(client.Name, d.String())
		}
		for _, status := range client.Refusals {
			c.refusals.expect(client.Name, strconv.Itoa(status))
		}
	}
	return c
}

// ClientDegraded counts a decision that could not be expressed to a client.
// name must be the name of a client.
func (m *Metrics) ClientDegraded(name string, d chain.Decision) {
	m.clients.degradations.inc(name, d.String())
}

// ClientRefused counts a request of a client that was refused before a chain
// decided. name must be the name of a client.
func (m *Metrics) ClientRefused(name string, status int) {
	m.clients.refusals.inc(name, strconv.Itoa(status))
}
