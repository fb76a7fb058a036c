// Package load sends requests to a loopback server, as fast as it answers or at
// a given rate, and measures the latency of each response.
//
// A single thread serves all connections and allocates nothing per request, so
// that on a small machine most of the processor time is left to the server.
package load

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// Options define the load.
type Options struct {
	// URL receives every request. Its host must be a loopback address.
	URL string
	// Body is the request body.
	Body []byte
	// Want must be part of a successful response's body.
	Want string
	// Conns is the number of connections.
	Conns int
	// Rate is the number of requests per second, evenly spaced and independent
	// of the responses (open loop). Zero sends the next request on a connection
	// after each response (closed loop).
	Rate float64
	// Once sends one request on each connection, all at the same time; Measure
	// is then the time to wait for responses.
	Once bool
	// Warm is the duration before the measurement, Measure that of the
	// measurement.
	Warm, Measure time.Duration
	// Begin and End are called before and after the measurement. May be nil.
	Begin, End func()
}

// Result is the measurement.
type Result struct {
	// Answers are the latencies of successful responses, in ascending order.
	Answers []time.Duration
	// Failed is the number of failed or missing responses. Why describes the
	// first failure.
	Failed int
	Why    string
	// Took is the duration of the measurement.
	Took time.Duration
}

// PerSecond returns the rate of successful responses.
func (r Result) PerSecond() float64 { return float64(len(r.Answers)) / r.Took.Seconds() }

// Quantile returns the quantile q of the latencies.
func (r Result) Quantile(q float64) time.Duration {
	if len(r.Answers) == 0 {
		return 0
	}
	return r.Answers[min(int(q*float64(len(r.Answers))), len(r.Answers)-1)]
}

// Run sends requests until the time is over or ctx ends.
func Run(ctx context.Context, o Options) (Result, error) {
	where, question, err := o.question()
	if err != nil {
		return Result{}, err
	}
	l, err := newLoop(o, where, question)
	if err != nil {
		return Result{}, err
	}
	defer l.close()
	if err := l.run(ctx); err != nil {
		return Result{}, err
	}
	slices.Sort(l.result.Answers)
	return l.result, nil
}

// question returns the request in wire format.
func (o Options) question() (netip.AddrPort, []byte, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return netip.AddrPort{}, nil, err
	}
	where, err := netip.ParseAddrPort(u.Host)
	if err != nil {
		return where, nil, fmt.Errorf("%s: want an address and a port: %w", o.URL, err)
	}
	if !where.Addr().Is4() || !where.Addr().IsLoopback() {
		return where, nil, fmt.Errorf("%s: load is put on IPv4 loopback addresses only", o.URL)
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		cmp.Or(u.RequestURI(), "/"), u.Host, len(o.Body))
	return where, append([]byte(head), o.Body...), nil
}
