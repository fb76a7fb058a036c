package agentproc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/internal/output"
)

// Decider decides an agent's permission requests. It must be safe for
// concurrent use.
type Decider interface {
	// Decide answers one request. envelope is the request in the form in which
	// hooks are asked. Decide returns as soon as ctx is done; its answer is then
	// ignored.
	Decide(ctx context.Context, req *PermissionRequest, envelope *chain.Request) Answer
}

// Why a decider's context is cancelled.
var (
	errAmbiguous = errors.New("its request_id is used twice in this turn")
	errMoot      = errors.New("the agent reported an error")
	errEnded     = errors.New("the agent has ended")
)

// errTooMany ends a turn with too many permission requests.
var errTooMany = fmt.Errorf("asked for permission more than %d times in one turn", maxRequests)

const (
	// maxRequests bounds the ids that are remembered in one turn.
	maxRequests = 10_000
	// maxLogged bounds the log records of one turn.
	maxLogged = 20
	// maxExcerpt is how many bytes of a line, or of a reason, are shown.
	maxExcerpt = 200
)

// conversation is the state of a turn: what the agent has sent, and what it
// waits for. One goroutine reads the agent's lines; it alone may access said
// until it has ended.
type conversation struct {
	profile *Profile
	dir     string
	hidden  *output.Secrets
	maxLine int
	maxOpen int
	decider Decider
	log     *slog.Logger
	// abort ends the turn.
	abort    context.CancelCauseFunc
	delivery *delivery
	outbox   *outbox

	said   said
	logged int // records so far

	mu     sync.Mutex
	moot   error           // why nothing is answered any more (A4)
	over   *refusal        // why everything is denied from now on
	asks   map[string]*ask // by id, including answered ones (A3)
	asked  int             // requests so far
	open   int             // being decided, or waiting to be written
	asking sync.WaitGroup
}

// said holds what counts of the agent's events.
type said struct {
	result    *event
	failure   *event // the error that failed the turn
	oversize  bool   // the first result was over the line limit
	sessionID string
	usage     []byte
	partials  int
	ignored   int
}

// ask is an id in use.
type ask struct {
	cancel    context.CancelCauseFunc
	ambiguous bool
}

// read handles lines until the end of the input.
func (c *conversation) read(ctx context.Context, in *lines) {
	for {
		line, long, err := in.next()
		if err != nil {
			return
		}
		c.takeLine(ctx, line, long)
	}
}

// takeLine handles one line of the agent.
func (c *conversation) takeLine(ctx context.Context, line []byte, long *idScanner) {
	if long != nil {
		c.takeLong(ctx, long)
		return
	}
	e, err := parseEvent(line)
	if err != nil {
		c.ignore(ctx, err.Error(), line)
		return
	}
	c.take(ctx, &e)
}

// takeLong handles a line over the limit.
func (c *conversation) takeLong(ctx context.Context, long *idScanner) {
	switch long.kind() {
	case typeError:
		c.take(ctx, &event{kind: errorEvent, text: c.tooLong().Error()})
		return
	case typeResult:
		c.said.oversize = c.said.oversize || c.said.result == nil
	case typePermissionRequest:
		if id, ok := long.requestID(); ok {
			c.take(ctx, &event{kind: permissionEvent, request: &PermissionRequest{RequestID: id}, fault: c.tooLong(), long: true})
			return
		}
	}
	c.ignore(ctx, c.tooLong().Error(), nil)
}

func (c *conversation) tooLong() error {
	return fmt.Errorf("the line is longer than %d bytes", c.maxLine)
}

// take handles one event.
func (c *conversation) take(ctx context.Context, e *event) {
	if c.said.failure != nil {
		c.ignore(ctx, "it came after an error", nil)
		return
	}
	c.takeSession(ctx, e)
	switch e.kind {
	case partialEvent:
		if c.profile.Streaming {
			c.said.partials++
			c.delivery.partial(Partial{Text: e.text, Role: e.role})
		}
	case resultEvent:
		if c.said.result != nil {
			c.ignore(ctx, "it is a second result", nil)
			return
		}
		c.said.result, c.said.usage = e, e.usage
	case errorEvent:
		c.said.failure = e
		if e.usage != nil {
			c.said.usage = e.usage
		}
		c.silence(errMoot)
	case permissionEvent:
		c.takeRequest(ctx, e)
	}
}

// takeSession keeps the first id (A12).
func (c *conversation) takeSession(ctx context.Context, e *event) {
	switch {
	case e.badSession:
		c.warn(ctx, "dropped an invalid session_id of an agent")
	case e.sessionID == "":
	case c.said.sessionID == "":
		c.said.sessionID = e.sessionID
	case c.said.sessionID != e.sessionID:
		c.warn(ctx, "kept the first session_id of an agent that named another one later")
	}
}

// takeRequest denies a permission request at once, or has it decided.
func (c *conversation) takeRequest(ctx context.Context, e *event) {
	if !c.profile.Permission {
		c.ignore(ctx, "it asks for permission, but the agent's profile does not set permission", nil)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moot != nil {
		return
	}
	if c.asked++; c.asked > maxRequests {
		c.abort(errTooMany)
		return
	}
	a, ctx, refused := c.admit(ctx, e)
	if refused != nil {
		c.outbox.send(frame{response: refused.response(e.request)})
		return
	}
	c.open++
	c.asking.Go(func() { c.decide(ctx, a, e.request) })
}

// refusal is why a request is denied without asking the decider, or in spite of
// its answer.
type refusal struct {
	cause chain.Cause
	why   error
}

func (f *refusal) response(r *PermissionRequest) Response {
	return Response{
		RequestID: r.RequestID, ToolName: r.ToolName, Cause: f.cause,
		Answer: Answer{Message: fmt.Sprintf("denied: %.*s", maxExcerpt, f.why)},
	}
}

func ambiguous() *refusal {
	return &refusal{chain.Malformed, errors.New("its request_id is used twice in this turn")}
}

// admit registers a request, or returns why it is denied (A2). The caller holds
// c.mu.
func (c *conversation) admit(ctx context.Context, e *event) (*ask, context.Context, *refusal) {
	id := e.request.RequestID
	if before := c.asks[id]; before != nil {
		before.ambiguous = true
		before.cancel(errAmbiguous)
		return nil, nil, ambiguous()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &ask{cancel: cancel}
	c.asks[id] = a
	var refused *refusal
	switch {
	case e.long:
		refused = &refusal{chain.Oversize, e.fault}
	case e.fault != nil:
		refused = &refusal{chain.Malformed, fmt.Errorf("the request is malformed: %w", e.fault)}
	case c.over != nil:
		refused = c.over
	case c.open >= c.maxOpen:
		refused = &refusal{chain.Saturated, fmt.Errorf("%d requests of this turn are already open", c.open)}
	default:
		return a, ctx, nil
	}
	cancel(refused.why)
	return nil, nil, refused
}

// decide asks the decider and responds. If the decider does not return an
// answer, the request is denied.
func (c *conversation) decide(ctx context.Context, a *ask, r *PermissionRequest) {
	said := (&refusal{chain.Panic, errors.New("the gateway could not decide: internal fault")}).response(r)
	defer func() {
		if p := recover(); p != nil {
			c.log.ErrorContext(ctx, "the decider of permission requests panicked",
				slog.String("agent", c.profile.Name), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		}
		c.respond(a, said)
	}()
	envelope, err := r.Envelope(c.dir, c.profile.Name)
	if err != nil {
		said = (&refusal{chain.Malformed, err}).response(r)
		return
	}
	answer, usable := c.decider.Decide(ctx, r, envelope).held()
	said = Response{RequestID: r.RequestID, ToolName: r.ToolName, Answer: answer}
	if !usable {
		said.Cause = chain.UnusableRewrite
	}
}

// respond queues the response and waits until it is written. The request counts
// as open until then, so that an agent that does not read cannot pile up
// responses.
func (c *conversation) respond(a *ask, said Response) {
	done := make(chan struct{})
	c.outbox.send(frame{response: said, ask: a, done: done})
	<-done
	a.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
}

// last returns the response to write: the decision counts only if nothing has
// happened since that overrides it. It returns false if nothing is to be
// written.
func (c *conversation) last(f frame) (Response, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var refused *refusal
	switch {
	case c.moot != nil:
		return Response{}, false
	case f.ask == nil:
	case f.ask.ambiguous:
		refused = ambiguous()
	case c.over != nil:
		refused = c.over
	}
	if refused == nil {
		return f.response, true
	}
	r := refused.response(&PermissionRequest{RequestID: f.response.RequestID, ToolName: f.response.ToolName})
	r.Answer.DecisionID = f.response.Answer.DecisionID
	return r, true
}

// silence stops all responses.
func (c *conversation) silence(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moot == nil {
		c.moot = why
	}
	c.cancelAll(why)
}

// deny denies all requests from now on, including open ones.
func (c *conversation) deny(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = &refusal{chain.Timeout, fmt.Errorf("the turn is being ended: %w", why)}
	c.cancelAll(why)
}

// cancelAll cancels all deciders. The caller holds c.mu.
func (c *conversation) cancelAll(why error) {
	for _, a := range c.asks {
		a.cancel(why)
	}
}

// ignore counts and logs a line that is not an event.
func (c *conversation) ignore(ctx context.Context, why string, line []byte) {
	c.said.ignored++
	if !c.mayLog() {
		return
	}
	if c.hidden.In(string(line)) || c.hidden.In(why) {
		why, line = "it "+output.Repeats, nil
	}
	attrs := []slog.Attr{slog.String("agent", c.profile.Name), slog.String("why", fmt.Sprintf("%.*s", maxExcerpt, why))}
	// What an agent prints by mistake may be anything, so it is logged at debug
	// level only.
	if len(line) > 0 && c.log.Enabled(ctx, slog.LevelDebug) {
		attrs = append(attrs, slog.String("line", fmt.Sprintf("%q", line[:min(len(line), maxExcerpt)])))
	}
	c.log.LogAttrs(ctx, slog.LevelWarn, "ignored a line of an agent", attrs...)
}

// warn logs a harmless violation of a rule.
func (c *conversation) warn(ctx context.Context, what string) {
	if c.mayLog() {
		c.log.LogAttrs(ctx, slog.LevelWarn, "an agent violated the protocol", slog.String("agent", c.profile.Name), slog.String("what", what))
	}
}

// mayLog reports whether the turn may write another log record.
func (c *conversation) mayLog() bool {
	c.logged++
	return c.logged <= maxLogged
}
