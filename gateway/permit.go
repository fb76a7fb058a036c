package gateway

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/hookgate/hookgate/gateway/access"
	"github.com/hookgate/hookgate/metrics"
)

// scopeOf returns the scope that a caller needs for a route. No caller may use
// a route that is not listed (G11).
func scopeOf(route string) access.Scope {
	switch route {
	case routeDecide, routeDecideChain, routeClient, routeClientEvent, routeChainClient, routeChainClientEvent, routeLiteLLM, routeChainLiteLLM:
		return access.Decide
	case routeTurns:
		return access.Turns
	case routeApprovals, routeApproval, routePage, routePageAnswer, routePageEvents:
		return access.Approve
	case routeHooks, routeDecisions:
		return access.Read
	}
	return 0
}

// access compiles the set's callers; nil if callers are not authenticated.
func (b *builder) access() *access.Access {
	if b.set.Callers == nil {
		return nil
	}
	a, err := access.New(access.Options{Rules: *b.set.Callers, Before: b.before, Logger: b.options.Logger})
	if err != nil {
		b.mistakes = append(b.mistakes, err)
	}
	return a
}

// callersOf returns the callers of an access, in order; none for nil.
func callersOf(a *access.Access) []*access.Caller {
	if a == nil {
		return nil
	}
	return a.Callers()
}

// accessInForce returns the access of the plan in force, nil if there is none.
func (g *Gateway) accessInForce() *access.Access {
	if p := g.plans.current(); p != nil {
		return p.access
	}
	return nil
}

// authReasons lists the reasons for which authentication can fail.
func authReasons(o Options) []string {
	if o.CallersFile == "" {
		return nil
	}
	var all []string
	for _, r := range access.Reasons() {
		all = append(all, r.String())
	}
	return all
}

// visitorKey is the context key of a request's visitor.
type visitorKey struct{}

// visitor is an authenticated caller together with its request. The zero
// visitor may reach nothing.
type visitor struct {
	*access.Caller
	// came is how the request is counted once it is answered.
	came metrics.Admission
}

func visitorOf(r *http.Request) *visitor {
	if v, ok := r.Context().Value(visitorKey{}).(*visitor); ok {
		return v
	}
	return &visitor{}
}

// permitted admits callers that are authenticated, have the route's scope and
// are within their limits (G11). It runs after routing, so that it checks the
// route that is actually served, and before any of the body is read.
func (g *Gateway) permitted(next http.Handler) http.Handler {
	if g.options.CallersFile == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := g.plans.current()
		if p == nil || p.access == nil {
			g.turnAway(w, r, notReady())
			return
		}
		caller, why := p.access.Identify(r)
		if caller == nil {
			g.metrics.AuthFailed(why.String())
			g.turnAway(w, r, unknownCaller(why))
			return
		}
		v := &visitor{Caller: caller}
		defer func() { p.callers[caller].Came(v.came) }()
		if needed := scopeOf(chi.RouteContext(r.Context()).RoutePattern()); !caller.May(needed) {
			g.turnAway(w, r, &problem{
				status: http.StatusForbidden, title: "Not allowed", closeConnection: true,
				detail: fmt.Sprintf("caller %q may not do this: it needs the scope %s in the callers file", caller.Name(), needed),
			})
			return
		}
		if limit, wait := caller.Enter(time.Now()); limit != access.NoLimit {
			g.turnAway(w, r, v.limited(limit, wait))
			return
		}
		defer caller.Leave()
		v.came = metrics.Admitted
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitorKey{}, v)))
	})
}

// unknownCaller is the response to a request that could not be authenticated.
func unknownCaller(why access.Reason) *problem {
	p := &problem{
		status: http.StatusUnauthorized, title: "Unknown caller", closeConnection: true,
		detail: "the gateway cannot authenticate the caller: " + why.Text(), challenge: `Bearer realm="hookgate"`,
	}
	switch why {
	case access.Unavailable: // the fault is not the caller's
		p.status, p.title, p.retryAfter, p.challenge = http.StatusServiceUnavailable, "Callers cannot be authenticated", 10, ""
	case access.Missing, access.InURL, access.Certificate, access.Unidentified:
	case access.Malformed:
		p.challenge += `, error="invalid_request"`
	case access.Unknown, access.Expired, access.Issuer, access.Audience, access.Signature, access.Claims:
		p.challenge += `, error="invalid_token"`
	}
	return p
}

// limited counts a request that is over its caller's limit and returns the
// response.
func (v *visitor) limited(limit access.Limit, wait time.Duration) *problem {
	p := &problem{
		status: http.StatusTooManyRequests, title: "Too many requests", closeConnection: true,
		retryAfter: max(int(wait/time.Second), 1),
	}
	if limit == access.RateLimit {
		v.came = metrics.RefusedRate
		p.detail = fmt.Sprintf("caller %q exceeds its rate", v.Name())
		return p
	}
	v.came = metrics.RefusedInFlight
	p.detail = fmt.Sprintf("caller %q is at its limit of requests in flight", v.Name())
	return p
}

// reaches returns the problem, and counts it, if the caller may not use the
// chain.
func (g *Gateway) reaches(r *http.Request, chainName string) *problem {
	if g.options.CallersFile == "" {
		return nil
	}
	v := visitorOf(r)
	if v.Reaches(chainName) {
		return nil
	}
	v.came = metrics.RefusedChain
	return &problem{
		status: http.StatusForbidden, title: "Not allowed", closeConnection: true,
		detail: fmt.Sprintf("caller %q may not use this chain, or there is no chain of that name", v.Name()),
	}
}

// sees reports whether the caller may see what belongs to a chain.
func (g *Gateway) sees(r *http.Request, chainName string) bool {
	return g.options.CallersFile == "" || visitorOf(r).Reaches(chainName)
}

// stillPermitted reports whether the sender of a long-running request would
// still be admitted, and updates the permissions that [Gateway.sees] uses. A
// stream can outlive rules and tokens, and must not outlive the caller's
// permission (G11).
func (g *Gateway) stillPermitted(r *http.Request) bool {
	if g.options.CallersFile == "" {
		return true
	}
	a := g.accessInForce()
	if a == nil {
		return false
	}
	now, _ := a.Identify(r)
	v := visitorOf(r)
	if now.Name() != v.Name() || !now.May(scopeOf(chi.RouteContext(r.Context()).RoutePattern())) {
		return false
	}
	v.Caller = now
	return true
}

// callerName returns the name of the caller, empty if callers are not
// authenticated.
func callerName(r *http.Request) string {
	if v, ok := r.Context().Value(visitorKey{}).(*visitor); ok {
		return v.Name()
	}
	return ""
}
