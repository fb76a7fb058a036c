package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/client"
	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/metrics"
)

// The routes of known agents. The event is in the body or, for agents whose body
// does not name it, in the path.
const (
	routeClient           = "/v1/clients/{client}"
	routeClientEvent      = "/v1/clients/{client}/{event}"
	routeChainClient      = "/v1/chains/{chain}/clients/{client}"
	routeChainClientEvent = "/v1/chains/{chain}/clients/{client}/{event}"
	// LiteLLM appends this path to the base URL that it is given.
	routeLiteLLM      = "/v1/clients/{client}/beta/litellm_basic_guardrail_api"
	routeChainLiteLLM = "/v1/chains/{chain}/clients/{client}/beta/litellm_basic_guardrail_api"
)

func clientRoutes() []string {
	return []string{routeClient, routeClientEvent, routeChainClient, routeChainClientEvent, routeLiteLLM, routeChainLiteLLM}
}

// clientCodes are the status codes of the client routes. An agent gets 200 in
// all cases, except an agent that reads only the status; an unknown agent gets
// any of the others.
func clientCodes() []int { return []int{200, 401, 403, 404, 405, 429, statusHungUp, 500, 503} }

// refusedCodes are the status codes with which a known agent's request can be
// refused.
func refusedCodes() []int { return []int{400, 401, 403, 404, 408, 413, 415, 429, 500, 503} }

// clientsByName returns every known agent, by name.
func clientsByName() map[string]*client.Client {
	byName := map[string]*client.Client{}
	for _, c := range client.All() {
		byName[c.Name()] = c
	}
	return byName
}

// measuredClients describes the known agents to the metrics package.
func measuredClients() []metrics.Client {
	var all []metrics.Client
	for _, c := range client.All() {
		all = append(all, metrics.Client{Name: c.Name(), Degradations: c.Degradations(), Refusals: refusedCodes()})
	}
	return all
}

// clientOf returns the known agent that the request's path names, and the event
// in the path; nil if the path names none. It works before routing and also on
// paths that match no route: an agent that was given a wrong URL must not take
// the response for an allow.
func (g *Gateway) clientOf(r *http.Request) (*client.Client, string) {
	if r.Method != http.MethodPost {
		return nil, ""
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/v1/")
	if rest, ofChain := strings.CutPrefix(path, "chains/"); ok && ofChain {
		_, path, ok = strings.Cut(rest, "/")
	}
	path, isClient := strings.CutPrefix(path, "clients/")
	if !ok || !isClient {
		return nil, ""
	}
	name, event, _ := strings.Cut(path, "/")
	return g.clients[name], event
}

// turnAway answers a request that no chain decides: a known agent gets a deny in
// its own dialect, anybody else the problem.
func (g *Gateway) turnAway(w http.ResponseWriter, r *http.Request, p *problem) {
	c, event := g.clientOf(r)
	if c == nil {
		p.write(w)
		return
	}
	g.refuseClient(w, c, event, p)
}

// refuseClient answers with the agent's strongest deny instead of a problem, for
// a body that was not read.
func (g *Gateway) refuseClient(w http.ResponseWriter, c *client.Client, event string, p *problem) {
	g.noteRefusal(w, c, p)
	g.tell(w, c, c.Refuse(event, nil, p.reason()))
}

// noteRefusal sets the headers of a refused request and counts it.
func (g *Gateway) noteRefusal(w http.ResponseWriter, c *client.Client, p *problem) {
	p.head(w)
	g.metrics.ClientRefused(c.Name(), p.status)
}

// tell writes the answer to an agent. The decision is repeated in a header for
// gateway ask, which relays the answer to the agent.
func (g *Gateway) tell(w http.ResponseWriter, c *client.Client, a client.Answer) {
	if a.Degraded != chain.Undecided {
		g.metrics.ClientDegraded(c.Name(), a.Degraded)
	}
	h := w.Header()
	h["Content-Type"] = g.jsonType
	h["X-Hookgate-Decision"] = []string{a.Decision.String()}
	if a.Status != http.StatusOK {
		w.WriteHeader(a.Status)
	}
	g.send(w, a.Body)
}

// serveClient serves the hooks of known agents.
func (g *Gateway) serveClient(w http.ResponseWriter, r *http.Request) {
	c := g.clients[chi.URLParam(r, "client")]
	if c == nil { // read from the raw path, so that the agent is known even if the path contains %2F
		g.turnAway(w, r, &problem{
			status: http.StatusNotFound, title: "Unknown client",
			detail: fmt.Sprintf("unknown client %.60q: known are %s", chi.URLParam(r, "client"), strings.Join(clientNames(), ", ")),
		})
		return
	}
	event := chi.URLParam(r, "event")
	if refusal := g.reaches(r, chainOf(r)); refusal != nil {
		g.refuseClient(w, c, event, refusal)
		return
	}
	text, refusal := g.callers.body(r)
	if refusal != nil {
		g.refuseClient(w, c, event, refusal)
		return
	}
	defer g.callers.release(text)
	a, refusal := g.answerClient(w, r, c, event, text)
	if refusal != nil {
		g.noteRefusal(w, c, refusal)
	}
	g.tell(w, c, a)
}

// readClient is an agent's request that was read, or its refusal.
type readClient struct {
	call    *client.Call
	answer  client.Answer
	refusal *problem
}

// answerClient asks a chain about an agent's request. If the request is refused,
// the answer is the agent's deny. It is made where the body was parsed, or from
// what was parsed: parsing a body takes long, and has to end within the budget.
func (g *Gateway) answerClient(w http.ResponseWriter, r *http.Request, c *client.Client, event string, text []byte) (client.Answer, *problem) {
	began := time.Now()
	read, err := inTurn(r.Context(), g.callers, g.readUntil(r, began), text, func(text []byte) (read readClient, err error) {
		read.call, read.answer = c.ReadOrRefuse(event, text, func(err error) string {
			read.refusal = malformedRequest(fmt.Errorf("in the format of %s: %w", c.Title(), err))
			return read.refusal.reason()
		})
		return read, nil
	})
	switch {
	case err != nil: // it was not parsed
		refusal := unreadable(fmt.Errorf("in the format of %s: %w", c.Title(), err))
		return c.Refuse(event, nil, refusal.reason()), refusal
	case read.refusal != nil:
		return read.answer, read.refusal
	}
	explicit, err := explicitAllow(r.URL)
	if err != nil {
		refusal := malformedRequest(err)
		return read.call.Refuse(refusal.reason()), refusal
	}
	if read.call.Passes() {
		return read.call.Pass(), nil
	}
	verdict, refusal := g.decide(w, r, chainOf(r), began, func(context.Context, time.Time) (*chain.Request, error) { return read.call.Request(), nil })
	if refusal != nil {
		return read.call.Refuse(refusal.reason()), refusal
	}
	return read.call.Answer(verdict.Outcome, explicit), nil
}

// readUntil returns when the body of an agent's request has to be parsed: within
// the budget of its chain. Without a chain it is refused in any case.
func (g *Gateway) readUntil(r *http.Request, began time.Time) time.Time {
	if p := g.plans.current(); p != nil {
		if c := p.chain(chainOf(r)); c != nil {
			return c.Deadline(began, wanted(r))
		}
	}
	return began.Add(g.callers.patience)
}

// chainOf returns the chain that the request's path names, or the operator's.
func chainOf(r *http.Request) string {
	return or(chi.URLParam(r, "chain"), config.OperatorChain)
}

// explicitAllow parses the query parameter explicit_allow.
func explicitAllow(u *url.URL) (bool, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return false, fmt.Errorf("the query of the URL is not valid: %w", err)
	}
	switch value := strings.Join(query["explicit_allow"], ","); value {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fmt.Errorf("explicit_allow is %.40q: use true or false", value)
	}
}

func clientNames() []string {
	var names []string
	for _, c := range client.All() {
		names = append(names, c.Name())
	}
	return names
}
