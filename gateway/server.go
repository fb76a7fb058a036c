package gateway

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/hookgate/hookgate"
	"github.com/hookgate/hookgate/metrics"
)

// Limits of the listeners. They bound what a caller can make the gateway hold
// before it is known (G6).
const (
	maxHeaderBytes = 64 << 10
	idlePatience   = 2 * time.Minute
	adminPatience  = 10 * time.Second // for receiving a request, which has no body there, and for sending the response
)

// newServer returns the server of one listener; patience is the deadline for
// receiving a request.
func (g *Gateway) newServer(h http.Handler, patience time.Duration) *http.Server {
	return &http.Server{
		Handler: h,
		// The server clears this deadline once it has read the whole request, so
		// it does not limit the chain.
		ReadTimeout:    patience,
		IdleTimeout:    idlePatience,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
		// There is no WriteTimeout, because it would start at the request and a
		// chain may take longer than a client may take to read. The recorder of each
		// response sets its write deadline.
	}
}

// The routes of the main listener.
const (
	routeDecide      = "/v1/decide"
	routeDecideChain = "/v1/chains/{chain}/decide"
	routeTurns       = "/v1/turns"
	routeApprovals   = "/v1/approvals"
	routeApproval    = "/v1/approvals/{id}"
	routeHooks       = "/v1/hooks"
	routeDecisions   = "/v1/decisions"
	routeOpenAPI     = "/openapi.yaml"
)

// routes lists the routes with their status codes, so that each series starts at
// zero.
func routes() []metrics.Route {
	deciding := []int{200, 400, 401, 403, 404, 405, 408, 413, 415, 429, statusHungUp, 500, 503}
	public := []int{200, 403, 405, 500, 503}
	reading := append([]int{401, 429}, public...)
	all := []metrics.Route{
		{Pattern: routeDecide, Codes: deciding},
		{Pattern: routeDecideChain, Codes: deciding},
		{Pattern: routeTurns, Codes: deciding},
		{Pattern: routeApprovals, Codes: append([]int{400}, reading...)},
		{Pattern: routeApproval, Codes: append([]int{409}, deciding...)},
		{Pattern: routePage, Codes: reading},
		{Pattern: routePageEvents, Codes: reading},
		{Pattern: routePageAnswer, Codes: append([]int{303, 409}, slices.DeleteFunc(slices.Clone(deciding), func(code int) bool { return code == http.StatusOK })...)},
		{Pattern: routePageStyle, Codes: public},
		{Pattern: routePageScript, Codes: public},
		{Pattern: routeHooks, Codes: reading},
		{Pattern: routeDecisions, Codes: append([]int{400}, reading...)},
		{Pattern: routeOpenAPI, Codes: public},
	}
	for _, route := range clientRoutes() {
		all = append(all, metrics.Route{Pattern: route, Codes: clientCodes()})
	}
	return all
}

// mainHandler serves the main listener.
func (g *Gateway) mainHandler() http.Handler {
	root := chi.NewRouter()
	root.Use(g.answered, g.traced, heads, g.admitted)
	root.Get(routeOpenAPI, serveOpenAPI) // public: says nothing about this gateway
	newPages(g).register(root)
	r := root.With(g.permitted)
	r.Post(routeDecide, g.decideOperator)
	r.Post(routeDecideChain, g.decideChain)
	for _, route := range clientRoutes() {
		r.Post(route, g.serveClient)
	}
	r.Post(routeTurns, g.serveTurn)
	r.Get(routeApprovals, g.serveApprovals)
	r.Post(routeApproval, g.answerApproval)
	r.Get(routeHooks, g.serveHooks)
	r.Get(routeDecisions, g.serveDecisions)
	root.NotFound(func(w http.ResponseWriter, r *http.Request) {
		g.turnAway(w, r, &problem{status: http.StatusNotFound, title: "Not found", detail: fmt.Sprintf("nothing is served at %.200q: see GET /openapi.yaml", r.URL.EscapedPath())})
	})
	root.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		allowed := allowedMethods(r)
		w.Header().Set("Allow", allowed)
		(&problem{status: http.StatusMethodNotAllowed, title: "Method not allowed", detail: fmt.Sprintf("the method %.40q is not allowed here: use %s", r.Method, allowed)}).write(w)
	})
	return root
}

// allowedMethods lists the methods that are served at the path of r.
func allowedMethods(r *http.Request) string {
	routes := chi.RouteContext(r.Context()).Routes
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if !routes.Match(chi.NewRouteContext(), method, r.URL.Path) {
			continue
		}
		allowed = append(allowed, method)
		if method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	return strings.Join(allowed, ", ")
}

// heads routes HEAD to the handler of GET. The HTTP server omits the body.
func heads(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			chi.RouteContext(r.Context()).RouteMethod = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(hookgate.OpenAPI) // a reader that is gone cannot be told
}

// adminHandler serves the admin listener.
func (g *Gateway) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", g.scrapes)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, struct {
			Status string `json:"status"`
		}{"alive"})
	})
	mux.HandleFunc("GET /readyz", g.serveReady)
	if g.options.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		asGet := r.Clone(r.Context())
		asGet.Method = http.MethodGet
		if _, pattern := mux.Handler(asGet); pattern != "/" {
			w.Header().Set("Allow", "GET, HEAD")
			(&problem{status: http.StatusMethodNotAllowed, title: "Method not allowed", detail: fmt.Sprintf("the method %.40q is not allowed here: use GET", r.Method)}).write(w)
			return
		}
		(&problem{status: http.StatusNotFound, title: "Not found", detail: fmt.Sprintf("nothing is served at %.200q: this is the admin listener; calls go to the main listener (HOOKGATE_ADDR)", r.URL.EscapedPath())}).write(w)
	})
	// A page in a browser must not use this listener either.
	door := &callers{hosts: hostsOf(g.options.AdminAddr, nil)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A profile is written while it is taken, for as long as its reader asks.
		lasts := strings.HasPrefix(r.URL.Path, "/debug/pprof/")
		w = &recorder{ResponseWriter: w, patience: adminPatience, lasts: lasts}
		if refusal := door.check(r); refusal != nil {
			refusal.write(w)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// readiness is the body of /readyz.
type readiness struct {
	// Status is "ready"; "degraded" if decisions are made but something that some
	// of them need is missing; or the reason: "starting", "waiting", "stopping".
	Status string `json:"status"`
	// WaitingFor lists what must happen before the gateway is ready.
	WaitingFor []string           `json:"waiting_for,omitempty"`
	Config     configReadiness    `json:"config"`
	Approvals  approvalsReadiness `json:"approvals"`
}

type approvalsReadiness struct {
	// Status is "ok", or "degraded" while every call that needs an approval is
	// denied.
	Status string `json:"status"`
	// Error is the cause.
	Error string `json:"error,omitempty"`
}

type configReadiness struct {
	// SHA256 is the digest of the configuration in force.
	SHA256 string `json:"sha256,omitempty"`
	// LastReload is "ok", or "invalid" if the files on disk were refused.
	LastReload string `json:"last_reload"`
	// Error is the cause.
	Error string `json:"error,omitempty"`
}

// waitsFor lists what must happen before the gateway is ready: at its start,
// warm-up of endpoints; at any time, a deny from each canary that gates readiness.
// Warming up after a reload does not revoke readiness, because the calls in the
// meantime would have nowhere to go.
func (g *Gateway) waitsFor() []string {
	var all []string
	add := func(what string) {
		if what != "" {
			all = append(all, what)
		}
	}
	for _, l := range g.first {
		add(l.warmup.waitsFor())
	}
	if p := g.plans.current(); p != nil {
		for _, m := range p.hooks {
			add(m.canary.waitsFor(slices.Contains(g.first, m.live)))
		}
	}
	return all
}

func (g *Gateway) serveReady(w http.ResponseWriter, _ *http.Request) {
	state := readiness{Status: "ready", Config: configReadiness{LastReload: "ok", SHA256: g.plans.sum()}}
	if state.Config.SHA256 == "" {
		state.Status = "starting"
	}
	state.Approvals.Status = "ok"
	if err := g.desk.Trouble(); err != nil {
		state.Approvals = approvalsReadiness{Status: "degraded", Error: err.Error()}
		if state.Status == "ready" {
			state.Status = "degraded"
		}
	}
	if why := g.refused.Load(); why != nil {
		state.Config.LastReload, state.Config.Error = "invalid", *why
	}
	if state.WaitingFor = g.waitsFor(); len(state.WaitingFor) > 0 {
		state.Status = "waiting"
	}
	if g.stopping.Load() {
		state.Status = "stopping"
	}
	// A degraded gateway still decides. Taking it out of service would deny
	// everything.
	if state.Status != "ready" && state.Status != "degraded" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	writeJSON(w, state)
}

// answered counts every request under its route, and turns a panic of a handler
// into a deny.
func (g *Gateway) answered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isServed(r)
		seen := &recorder{ResponseWriter: w, patience: g.options.BodyTimeout}
		defer g.settle(seen, r, time.Now())
		if g.stopping.Load() {
			w.Header().Set("Connection", "close") // whoever asks next asks another replica
		}
		next.ServeHTTP(seen, r)
	})
}

// settle is deferred by [Gateway.answered]; it recovers the panic.
func (g *Gateway) settle(seen *recorder, r *http.Request, began time.Time) {
	fault, whole := recover(), false
	if fault != nil {
		g.log.LogAttrs(r.Context(), slog.LevelError, "a handler panicked",
			slog.Any("panic", fault), slog.String("stack", string(debug.Stack())))
		if whole = seen.status == 0; whole {
			g.turnAway(seen, r, internalProblem())
		}
	}
	g.metrics.Request(patternOf(r), seen.code(), time.Since(began))
	if fault != nil && !whole {
		panic(http.ErrAbortHandler) // part of another answer was sent: abort, so that it cannot be read as a whole one
	}
}

// patternOf returns the route of a request, also if the request was refused before
// routing; empty if no route matches.
func patternOf(r *http.Request) string {
	met := chi.RouteContext(r.Context())
	if pattern := met.RoutePattern(); pattern != "" {
		return pattern
	}
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		if pattern := met.Routes.Find(chi.NewRouteContext(), method, r.URL.Path); pattern != "" {
			return pattern
		}
	}
	return ""
}

// recorder records the status of a response, and sets its write deadline when it
// begins. Without one, whoever sends requests and reads no response would hold
// their places, and everything else that they hold, for as long as he likes (G6).
type recorder struct {
	http.ResponseWriter
	patience time.Duration // for sending the response
	lasts    bool          // the patience is for each write, not for all
	status   int
}

// begin is called before each write. A stream sets later deadlines itself. Every
// response of the HTTP server supports deadlines, so there is no error to handle.
func (r *recorder) begin(status int) {
	if r.status == 0 || r.lasts {
		_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(r.patience))
	}
	if r.status == 0 {
		r.status = status
	}
}

// WriteHeader implements [http.ResponseWriter]. statusHungUp is recorded but not
// sent: there is nobody to send it to.
func (r *recorder) WriteHeader(status int) {
	r.begin(status)
	if status != statusHungUp {
		r.ResponseWriter.WriteHeader(status)
	}
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(b []byte) (int, error) {
	r.begin(http.StatusOK)
	return r.ResponseWriter.Write(b)
}

// Unwrap lets an [http.ResponseController] reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// admitted refuses requests that a browser page could send, and sheds load above
// MaxInFlight.
func (g *Gateway) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusal := g.callers.check(r); refusal != nil {
			g.turnAway(w, r, refusal)
			return
		}
		if g.flying.Add(1) > int64(g.options.MaxInFlight) {
			g.flying.Add(-1)
			g.turnAway(w, r, &problem{
				status: http.StatusServiceUnavailable, title: "Overloaded", retryAfter: 1, closeConnection: true,
				detail: fmt.Sprintf("the gateway is at its limit of %d requests in flight (HOOKGATE_MAX_IN_FLIGHT)", g.options.MaxInFlight),
			})
			return
		}
		defer g.flying.Add(-1)
		next.ServeHTTP(w, r)
	})
}
