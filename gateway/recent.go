package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// serveDecisions serves GET /v1/decisions: the latest decisions as an array,
// newest first, or new ones as an event stream; only of the chains that the
// caller may reach.
//
// The query parameters chain, tool, decision and cause filter; limit bounds the
// array.
func (g *Gateway) serveDecisions(w http.ResponseWriter, r *http.Request) {
	q, err := decisionFilters(r)
	if err != nil {
		badFilter(err).write(w)
		return
	}
	keep := func(d *record) bool {
		return g.sees(r, d.chain) && is(q.Get("chain"), d.chain) && is(q.Get("tool"), d.tool) &&
			is(q.Get("decision"), d.decision) && is(q.Get("cause"), d.cause)
	}
	if wantsEvents(r) {
		g.followDecisions(w, r, keep)
		return
	}
	limit := 100
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			(&problem{status: http.StatusBadRequest, title: "Bad limit", detail: fmt.Sprintf("limit is %.40q: give a whole number from 1", text)}).write(w)
			return
		}
		limit = n
	}
	body := []byte(`{"decisions":[`)
	for i, d := range g.history.list(limit, keep) {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, d.line...)
	}
	writeBody(w, append(body, "]}"...))
}

// decisionFilters parses the query parameters that filter decisions.
func decisionFilters(r *http.Request) (url.Values, error) {
	q, err := filters(r, "chain", "tool", "decision", "cause", "limit")
	if err != nil {
		return nil, err
	}
	if word := q.Get("decision"); word != "" {
		if _, err := chain.ParseDecision(word); err != nil {
			return nil, err
		}
	}
	if word := q.Get("cause"); word != "" {
		if _, err := chain.ParseCause(word); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// wantsEvents reports whether the caller asks for server-sent events.
func wantsEvents(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// is reports whether value passes a filter; an empty filter passes everything.
func is(filter, value string) bool { return filter == "" || filter == value }

// heartbeat is the interval of keep-alive messages on an idle stream, so that
// proxies keep it open and a closed connection is noticed.
const heartbeat = 15 * time.Second

// followDecisions streams decisions as server-sent events until the client
// disconnects or the gateway stops.
func (g *Gateway) followDecisions(w http.ResponseWriter, r *http.Request, keep func(*record) bool) {
	f, ok := g.history.follow()
	if !ok {
		(&problem{status: http.StatusServiceUnavailable, title: "Stopping", detail: "the gateway is stopping", retryAfter: 1}).write(w)
		return
	}
	defer g.history.leave(f)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return // a stream would never end
	}
	stream := eventStream{w: w, control: http.NewResponseController(w), patience: g.callers.patience}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	err := stream.send(": following decisions\n\n")
	for err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-beat.C:
			if !g.stillPermitted(r) {
				return
			}
			err = stream.send(": alive\n\n")
		case d, open := <-f.decisions:
			if !open || !g.stillPermitted(r) {
				return
			}
			if n := g.history.takeMissed(f); n > 0 {
				err = stream.send(fmt.Sprintf("event: missed\ndata: {\"missed\":%d}\n\n", n))
			}
			if err == nil && keep(d) {
				err = stream.send("event: decision\nid: " + d.id + "\ndata: " + string(d.line) + "\n\n")
			}
		}
	}
}

// eventStream writes messages, mostly server-sent events, each with a write
// deadline of patience.
type eventStream struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

func (s *eventStream) send(text string) error {
	if err := s.bound(); err != nil {
		return err
	}
	return s.put(text)
}

// bound sets the write deadline of the next message.
func (s *eventStream) bound() error {
	return s.control.SetWriteDeadline(time.Now().Add(s.patience))
}

func (s *eventStream) put(text string) error {
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

// writeJSON writes one of the gateway's own values as JSON, with status 200
// unless another status was written before.
func writeJSON(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		internalProblem().write(w)
		return
	}
	writeBody(w, body)
}

func writeBody(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a reader that is gone cannot be told
}
