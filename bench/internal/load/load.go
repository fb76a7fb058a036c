// Package load asks a server on the loopback as fast as it answers, or at a
// given rate, and measures how long each answer took.
//
// One thread asks over all connections and allocates nothing for a question,
// so that on a small machine most of the time is left to what is measured.
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

// Options say what is asked and how.
type Options struct {
	// URL is where every question goes. Its host is an address of the
	// loopback.
	URL string
	// Body is the question.
	Body []byte
	// Want is part of every good answer's body.
	Want string
	// Conns is how many connections ask.
	Conns int
	// Rate is how many questions are asked a second, evenly, whatever the
	// answers do. Zero: each connection asks again when it was answered.
	Rate float64
	// Once has every connection ask one question, all of them at the same
	// time; Measure is then how long answers are waited for.
	Once bool
	// Warm is how long is asked before it counts, Measure how long after.
	Warm, Measure time.Duration
	// Begin and End are called around what counts. May be nil.
	Begin, End func()
}

// Result is what was measured.
type Result struct {
	// Answers are how long good answers took, shortest first.
	Answers []time.Duration
	// Failed is how many answers were not good, or did not come. Where there
	// are some, Why says what was wrong with the first.
	Failed int
	Why    string
	// Took is how long was measured.
	Took time.Duration
}

// PerSecond is the rate of good answers.
func (r Result) PerSecond() float64 { return float64(len(r.Answers)) / r.Took.Seconds() }

// Quantile is the time in which the share q of all good answers came.
func (r Result) Quantile(q float64) time.Duration {
	if len(r.Answers) == 0 {
		return 0
	}
	return r.Answers[min(int(q*float64(len(r.Answers))), len(r.Answers)-1)]
}

// Run asks until the time is over or ctx ends.
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

// question is the request as it is written to the wire.
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
