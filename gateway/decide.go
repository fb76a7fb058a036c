package gateway

import (
	"context"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/transport"
)

// decideOperator serves POST /v1/decide.
func (g *Gateway) decideOperator(w http.ResponseWriter, r *http.Request) {
	g.serveDecision(w, r, config.OperatorChain)
}

// decideChain serves POST /v1/chains/{chain}/decide.
func (g *Gateway) decideChain(w http.ResponseWriter, r *http.Request) {
	g.serveDecision(w, r, chi.URLParam(r, "chain"))
}

// serveDecision decides an envelope by the named chain and writes the answer.
func (g *Gateway) serveDecision(w http.ResponseWriter, r *http.Request, name string) {
	if refusal := g.reaches(r, name); refusal != nil {
		g.turnAway(w, r, refusal)
		return
	}
	text, refusal := g.callers.body(r)
	if refusal != nil {
		refusal.write(w)
		return
	}
	defer g.callers.release(text)
	began := time.Now()
	verdict, refusal := g.decide(w, r, name, began, func(ctx context.Context, until time.Time) (*chain.Request, error) {
		return inTurn(ctx, g.callers, until, text, chain.ParseRequest)
	})
	if refusal != nil {
		refusal.write(w)
		return
	}
	o := &verdict.Outcome
	g.send(w, o.AppendJSON(make([]byte, 0, 64+len(o.Reason)+len(o.Input)+len(o.Output))))
}

// decide parses a request with read and puts it to the named chain. Call it
// only after the body has arrived: a slow body must not be decided by the
// configuration that was in force when it began. The budget counts from began, and
// read returns by the given time.
func (g *Gateway) decide(w http.ResponseWriter, r *http.Request, name string, began time.Time, read func(ctx context.Context, until time.Time) (*chain.Request, error)) (*chain.Verdict, *problem) {
	p := g.plans.enter()
	if p == nil {
		return nil, notReady()
	}
	defer p.leave()
	c := p.chain(name)
	if c == nil {
		return nil, &problem{status: http.StatusNotFound, title: "Unknown chain", detail: "there is no chain of that name: chains are files in HOOKGATE_CHAINS_DIR"}
	}
	within := wanted(r)
	request, err := read(r.Context(), c.Deadline(began, within))
	if err != nil {
		return nil, unreadable(err)
	}
	id, trace := identify(r)
	trace = g.traceOf(r.Context(), trace)
	w.Header()["X-Hookgate-Decision-Id"] = []string{id}
	verdict := c.DecideSince(transport.WithTraceparent(r.Context(), trace), request, within, began)
	d := decision{id: id, at: time.Now(), plan: p, chain: name, caller: callerName(r), request: request, verdict: verdict}
	if within > 0 {
		d.until = began.Add(within - min(within/20, 25*time.Millisecond)) // the rest is for sending the answer back
	}
	g.keep(r.Context(), d)
	if verdict.Abandoned {
		w.WriteHeader(statusHungUp) // for the metrics; a caller that only closed its sending side still reads a deny
	}
	return verdict, nil
}

// send writes the body of a decision.
func (g *Gateway) send(w http.ResponseWriter, body []byte) {
	h := w.Header()
	h["Content-Type"] = g.jsonType
	if len(body) > lengthByItself {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	_, _ = w.Write(body) // a caller that is gone cannot be told
}

// lengthByItself is the longest body for which net/http sets Content-Length
// itself, in bytes.
const lengthByItself = 2048

// statusHungUp is the status code that the metrics use for a request whose
// caller hung up before the answer. It is never sent.
const statusHungUp = 499

// identify returns a new decision id and the trace context for the calls to
// hooks: the caller's traceparent if it is valid, otherwise one derived from
// the id.
func identify(r *http.Request) (id, trace string) {
	u, err := uuid.NewV7()
	if err != nil {
		panic("cannot generate random numbers: " + err.Error()) // answered with a deny, like every panic of a handler
	}
	id = u.String()
	if trace = r.Header.Get("Traceparent"); !transport.ValidTraceparent(trace) {
		made := append(hex.AppendEncode([]byte("00-"), u[:]), '-')
		made = append(hex.AppendEncode(made, u[8:]), "-00"...)
		trace = string(made)
	}
	return id, trace
}

// wanted returns how long the caller will wait for the answer, 0 if it did not
// say so. A gateway that is the hook of another one receives this header.
func wanted(r *http.Request) time.Duration {
	header := r.Header.Get("X-Hookgate-Timeout-Ms")
	if header == "" {
		return 0
	}
	ms, err := strconv.ParseUint(header, 10, 31)
	if err != nil {
		return 0 // unreadable: only the chain's own budget applies
	}
	return max(time.Duration(ms)*time.Millisecond, time.Millisecond)
}
