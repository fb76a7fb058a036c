package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/internal/output"
)

// WebhookOptions configures the binding of a remote participant.
type WebhookOptions struct {
	// URL is the http or https URL to POST to. It must not contain user
	// information.
	URL string
	// Headers are sent with every request. Headers that the gateway sets itself
	// are refused.
	Headers http.Header
	// TLS is the configuration for https. Nil means the defaults. Versions before
	// TLS 1.2 are never used, whatever it says.
	TLS *tls.Config
	// Proxy returns the proxy for a request, as in [http.Transport]. Nil means
	// none, whatever the environment says.
	Proxy func(*http.Request) (*url.URL, error)
	// Permit is called with every address before connecting to it, also with that
	// of a proxy. Nil permits all.
	Permit Permit
	// UserAgent is the User-Agent header. Empty means "hookgate".
	UserAgent string
	Breaker   BreakerOptions
	// ColdAfter is how long after its last answer the endpoint counts as cold.
	// Zero means one minute.
	ColdAfter time.Duration
	// MaxConnAge is the age from which a connection carries no further requests.
	// Zero means five minutes. New connections resolve the endpoint's name again.
	MaxConnAge time.Duration
	// MaxInFlight limits the calls in flight. Zero means 1024.
	MaxInFlight int
	// MaxResponseBytes limits the size of an answer. Zero means 1 MiB.
	MaxResponseBytes int64
	// Signer signs every request. Nil means that requests are not signed.
	Signer Signer
	// Authorizer adds a credential to every request. Nil means that none is
	// needed.
	Authorizer Authorizer
	// EventSource, a URI reference, makes every request a CloudEvents 1.0 event in
	// binary mode with this source. Empty means that requests are not CloudEvents.
	EventSource string
	// Wrapping is the format in which the endpoint wraps its answers.
	Wrapping Wrapping
	// Answers verifies that an answer belongs to its request. Nil means that
	// answers need not prove it.
	Answers AnswerChecker
	// Observer is told of the breaker's transitions and of connections. It may be
	// nil.
	Observer WebhookObserver
}

// Webhook is the [chain.Binding] of a participant behind a URL.
//
// A call passes the circuit breaker first, then the limit of calls in flight.
// The breaker counts every failure that is the participant's. It does not count
// a deny, a caller that hung up, a call refused by the limit, or a call cut
// short by the chain's budget.
type Webhook struct {
	options WebhookOptions // as validated
	where   string         // the URL as shown in logs
	reach   atomic.Pointer[reach]
	breaker *breaker
	calls   limit
	warmth  warmth
	observe WebhookObserver
	closed  atomic.Bool
}

// NewWebhook returns the binding of a remote participant, or an error that
// lists the problems with the options.
func NewWebhook(o WebhookOptions) (*Webhook, error) {
	o, u, err := checked(o)
	if err != nil {
		return nil, err
	}
	r, err := newReach(o, u)
	if err != nil {
		return nil, err
	}
	return newWebhook(o, u, r), nil
}

// checked returns the options with their defaults applied, and the parsed URL.
func checked(o WebhookOptions) (WebhookOptions, *url.URL, error) {
	u, err := checkURL(o.URL, o.TLS != nil)
	_, headersErr := operatorHeaders(o.Headers)
	errs := []error{err, headersErr, o.Breaker.check(), checkEventSource(o.EventSource)}
	if o.MaxInFlight < 0 {
		errs = append(errs, fmt.Errorf("max in flight %d is negative", o.MaxInFlight))
	}
	if o.ColdAfter < 0 {
		errs = append(errs, fmt.Errorf("cold after %v is negative", o.ColdAfter))
	}
	if o.MaxConnAge < 0 {
		errs = append(errs, fmt.Errorf("max connection age %v is negative", o.MaxConnAge))
	}
	if o.MaxResponseBytes < 0 {
		errs = append(errs, fmt.Errorf("max response bytes %d is negative", o.MaxResponseBytes))
	}
	if !validHeaderValue(o.UserAgent) {
		errs = append(errs, fmt.Errorf("user agent %q has control characters", o.UserAgent))
	}
	_, err = secured(u, o.TLS)
	if err = errors.Join(append(errs, err)...); err != nil {
		return o, nil, err
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 1024
	}
	if o.MaxResponseBytes == 0 {
		o.MaxResponseBytes = 1 << 20
	}
	if o.ColdAfter == 0 {
		o.ColdAfter = time.Minute
	}
	if o.MaxConnAge == 0 {
		o.MaxConnAge = 5 * time.Minute
	}
	if o.UserAgent == "" {
		o.UserAgent = "hookgate"
	}
	return o, u, nil
}

// newWebhook expects validated options.
func newWebhook(o WebhookOptions, u *url.URL, r *reach) *Webhook {
	w := &Webhook{
		options: o, where: shown(u), calls: limit{max: int64(o.MaxInFlight)}, warmth: warmth{lasts: o.ColdAfter},
		observe: observerOf(o),
	}
	w.reach.Store(r)
	w.breaker = newBreaker(o.Breaker, w.observe.Transition)
	return w
}

// Ask posts the call and reads the answer.
func (w *Webhook) Ask(ctx context.Context, call chain.Call) chain.Answer {
	admitted, refusal := w.breaker.admit(call.Late == chain.Budget)
	if refusal != "" {
		return chain.Fail(chain.BreakerOpen, refusal, w.where)
	}
	found := report{err: errFailed} // the report if the code below panics
	defer func() {
		admitted.done(found)
		w.tidy()
	}()
	var began time.Time // zero if the endpoint is warm
	if w.Cold() {
		began = time.Now()
	}
	answer, pause := w.askWithinLimit(ctx, call)
	found = report{err: counted(ctx, call, answer), pause: pause}
	w.warmth.learn(found.err, answer)
	if !began.IsZero() && !errors.Is(found.err, errUncounted) {
		w.observe.FirstCall(time.Since(began), found.err == nil)
	}
	return answer
}

// Try sends a request that belongs to no tool call, to find out whether the
// endpoint answers. Neither the breaker nor the observer counts it, and nothing
// is sent while the breaker is open. It warms the endpoint as a call does.
func (w *Webhook) Try(ctx context.Context, call chain.Call) chain.Answer {
	if refusal := w.breaker.refuses(); refusal != "" {
		return chain.Fail(chain.BreakerOpen, refusal, w.where)
	}
	defer w.tidy()
	answer, _ := w.askWithinLimit(ctx, call)
	answer = call.Checked(answer)
	w.warmth.learn(counted(ctx, call, answer), answer)
	return answer
}

// tidy closes connections that must not be reused: after the breaker opened,
// and after Close.
func (w *Webhook) tidy() {
	opened := w.breaker.justOpened()
	if opened {
		w.warmth.forget()
	}
	switch at := w.reach.Load(); {
	case opened:
		at.sender.renew()
	case w.closed.Load():
		at.sender.dropIdle()
	}
}

// Cold reports whether the endpoint may have to start before it can answer: it
// has not answered yet or not for ColdAfter, or its connections were lost or
// dropped since.
func (w *Webhook) Cold() bool { return w.warmth.left() == 0 }

// ColdIn is how long until the endpoint counts as cold without further
// requests. It is zero if it is cold.
func (w *Webhook) ColdIn() time.Duration { return w.warmth.left() }

// askWithinLimit returns the answer, and how long the endpoint asked not to be
// called.
func (w *Webhook) askWithinLimit(ctx context.Context, call chain.Call) (chain.Answer, time.Duration) {
	if !w.calls.enter() {
		return w.calls.full(), 0
	}
	defer w.calls.leave()

	q := question{
		body:        call.Request.JSON(),
		id:          newID(),
		traceparent: traceparent(ctx),
		deadline:    call.Deadline,
		late:        call.Late,
	}
	at := w.reach.Load()
	if at.answers != nil {
		q.more = append(q.more, field{headerID, q.id}) // a Signer sets the same value again
	}
	if source := w.options.EventSource; source != "" {
		q.more = append(q.more, cloudEvent(source, q.id, call.Request, time.Now())...)
	}
	if at.authorizer != nil {
		q.given = &output.Secrets{}
	}
	r, failed := at.sender.send(ctx, q)
	answer, pause := w.answer(ctx, at, call, q, r, failed)
	if answer.Failure != nil && at.repeats(q, r, failed, answer.Failure.Detail) {
		answer.Failure.Detail = fmt.Sprintf("POST %s: the response repeats a secret of the request and is not shown", w.where)
	}
	// Of the headers only credentials: others are often words that reasons have in them.
	answer.Outcome.Reason = q.given.ShownReason(answer.Outcome.Reason)
	return answer, pause
}

// repeats reports whether the response contains a secret of the request. It
// searches the whole response, since the detail may cut a secret in two.
func (at *reach) repeats(q question, r reply, failed *sendFailure, detail string) bool {
	said := strings.Join([]string{detail, r.location, r.encoding, r.retryAfter, r.functionError, string(r.body)}, "\n")
	if failed != nil {
		said = failed.err.Error()
	}
	return at.hidden.In(said) || q.given.In(said)
}

// answer turns the result of a request into an Answer. It also returns how long
// the endpoint asked not to be called.
func (w *Webhook) answer(ctx context.Context, at *reach, call chain.Call, q question, r reply, failed *sendFailure) (chain.Answer, time.Duration) {
	switch {
	case ctx.Err() != nil:
		return chain.Fail(chain.Internal, "was asked, but the caller hung up", w.where), 0
	case !time.Now().Before(call.Deadline):
		return call.Expired(w.detail(failed)), 0
	case failed != nil:
		return chain.Fail(failed.cause, failed.text, w.detail(failed)), 0
	}
	if pause := r.pauseAsked(w.breaker.options.MaxRetryAfter); pause > 0 {
		return w.throttled(r, pause), pause
	}
	return w.judge(at, r, q, call.Request.Event()), 0
}

// throttled is the failure of an endpoint that asks not to be called for a
// while.
func (w *Webhook) throttled(r reply, pause time.Duration) chain.Answer {
	return chain.Fail(chain.Status,
		fmt.Sprintf("answered with status %d: it is not asked again for %d s", r.status, int64(math.Ceil(pause.Seconds()))),
		fmt.Sprintf("POST %s: Retry-After %.64q: %s", w.where, r.retryAfter, excerpt(r.body)))
}

// judge turns a reply into an Answer. The status tells whether the participant
// is alive. Only with status 200 does the body carry its decision.
func (w *Webhook) judge(at *reach, r reply, q question, event chain.Event) chain.Answer {
	switch r.status {
	case http.StatusOK:
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return chain.Fail(chain.Redirect, fmt.Sprintf("answered with status %d, a redirect, which is never followed", r.status),
			fmt.Sprintf("POST %s: to %.512q", w.where, r.location))
	case http.StatusUnauthorized, http.StatusForbidden:
		at.refused()
		fallthrough
	default:
		return chain.Fail(chain.Status, fmt.Sprintf("answered with status %d", r.status),
			fmt.Sprintf("POST %s: %s", w.where, excerpt(r.body)))
	}
	if r.encoding != "" && !strings.EqualFold(r.encoding, "identity") {
		return chain.Fail(chain.Malformed, "answered with a Content-Encoding that was not requested",
			fmt.Sprintf("POST %s: Content-Encoding %.64q", w.where, r.encoding))
	}
	body, failure := w.options.Wrapping.unwrapped(r)
	if failure != nil {
		return *failure
	}
	return bound(at.answers, readAnswer(body, event), body, q)
}

func (w *Webhook) detail(failed *sendFailure) string {
	if failed == nil {
		return fmt.Sprintf("POST %s: an answer came after the deadline", w.where)
	}
	return fmt.Sprintf("POST %s: %.*v", w.where, 2*quoted, failed.err) // may quote what the endpoint sent
}

// counted is the result of a call for the breaker.
func counted(ctx context.Context, call chain.Call, a chain.Answer) error {
	failed := call.Checked(a).Failure
	switch {
	case ctx.Err() != nil:
		return errUncounted
	case failed == nil:
		return nil
	case slices.Contains([]chain.Cause{chain.Saturated, chain.BreakerOpen, chain.Budget}, failed.Cause):
		return errUncounted
	}
	return errFailed
}

// Status is the binding's current state.
func (w *Webhook) Status() Status {
	return Status{InFlight: w.calls.inFlight(), Breaker: w.breaker.status()}
}

// Close closes the idle connections. A replaced chain may still use the
// binding; each connection is then closed after its call.
func (w *Webhook) Close() {
	w.closed.Store(true)
	w.reach.Load().sender.dropIdle()
}
