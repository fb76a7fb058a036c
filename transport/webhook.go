package transport

import (
	"context"
	"crypto/rand"
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
)

// WebhookOptions configure the binding of a remote participant.
type WebhookOptions struct {
	// URL is where questions are posted: http or https, without a user.
	URL string
	// Headers are sent with every question. Those that the gateway sets
	// itself are refused.
	Headers http.Header
	// TLS is for https; nil means the defaults. Nothing older than TLS 1.2 is
	// spoken, whatever it says.
	TLS *tls.Config
	// Proxy names the proxy of a request. Nil means none, whatever the
	// environment says.
	Proxy func(*http.Request) (*url.URL, error)
	// Permit is asked about every address that is connected to, a proxy's
	// included. Nil permits all.
	Permit Permit
	// UserAgent says who asks. Empty means "hookgate".
	UserAgent string
	Breaker   BreakerOptions
	// ColdAfter is how long the endpoint may have answered nothing before it
	// counts as cold. Zero means a minute.
	ColdAfter time.Duration
	// MaxConnAge is how old a connection may be that carries another call. Zero
	// means five minutes. Those that are opened after find where the name of
	// the endpoint then leads.
	MaxConnAge time.Duration
	// MaxInFlight bounds the calls under way. Zero means 1024.
	MaxInFlight int
	// MaxResponseBytes bounds an answer. Zero means 1 MiB.
	MaxResponseBytes int64
	// Signer signs every question. Nil means that they are not signed.
	Signer Signer
	// Authorizer gives every question its credential. Nil means that none is
	// needed.
	Authorizer Authorizer
	// EventSource makes questions events of CloudEvents 1.0 in binary mode,
	// which come from there: a reference to a URI. Empty means that they are
	// none.
	EventSource string
	// Wrapping is what the endpoint puts around its answers.
	Wrapping Wrapping
	// Answers are checked for being those to their questions. Nil means that
	// they need not show it.
	Answers AnswerChecker
	// Observer is told of the breaker's transitions. May be nil.
	Observer WebhookObserver
}

// Webhook is the [chain.Binding] of a participant behind a URL.
//
// Its breaker is asked first, then its limit of calls in flight. The breaker
// counts every failure that is the participant's: not a deny, not a caller
// that hung up, not a call refused by the limit or cut short by the chain's
// budget.
type Webhook struct {
	options WebhookOptions // what it is made of
	where   string         // the URL as logs show it
	reach   atomic.Pointer[reach]
	breaker *breaker
	calls   limit
	warmth  warmth
	observe WebhookObserver
	closed  atomic.Bool
}

// NewWebhook returns the binding of a remote participant, or every reason why
// the options cannot be one.
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

// checked are the options with their defaults, and the URL.
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

// newWebhook puts breaker and limit in front of an endpoint.
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
	found := report{err: errFailed} // what a panic leaves standing
	defer func() {
		admitted.done(found)
		w.tidy()
	}()
	var began time.Time // zero where it is warm
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

// Try puts a question that is nobody's call, to find out whether the endpoint
// answers. Neither the breaker nor the observer counts it, and it is not asked
// while the breaker is open. It warms the endpoint as any other does.
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

// tidy drops the connections that nobody should meet again.
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

// Cold says that the endpoint may have to start before it can answer: it has
// not answered yet or not for a while, or its connections were lost or dropped
// since.
func (w *Webhook) Cold() bool { return w.warmth.left() == 0 }

// ColdIn is when it will be, if nobody asks it until then; zero where it is.
func (w *Webhook) ColdIn() time.Duration { return w.warmth.left() }

// askWithinLimit returns the answer, and for how long the endpoint asked to be
// left alone.
func (w *Webhook) askWithinLimit(ctx context.Context, call chain.Call) (chain.Answer, time.Duration) {
	if !w.calls.enter() {
		return w.calls.full(), 0
	}
	defer w.calls.leave()

	q := question{
		body: call.Request.JSON(),
		// The prefix is that of Standard Webhooks; what follows is random.
		id:          "msg_" + rand.Text(),
		traceparent: traceparent(ctx),
		deadline:    call.Deadline,
		late:        call.Late,
	}
	at := w.reach.Load()
	if at.answers != nil {
		q.more = append(q.more, field{headerID, q.id}) // which a signature repeats
	}
	if source := w.options.EventSource; source != "" {
		q.more = append(q.more, cloudEvent(source, q.id, call.Request, time.Now())...)
	}
	if at.authorizer != nil {
		q.given = &secrets{}
	}
	r, failed := at.sender.send(ctx, q)
	answer, pause := w.answer(ctx, at, call, q, r, failed)
	if answer.Failure != nil && at.repeats(q, r, failed, answer.Failure.Detail) {
		answer.Failure.Detail = fmt.Sprintf("POST %s: what came back repeats a secret of the question and is not shown", w.where)
	}
	return answer, pause
}

// repeats says that what came back has a secret of the question in it. All of
// it is looked at, since a detail may end in the midst of one.
func (at *reach) repeats(q question, r reply, failed *sendFailure, detail string) bool {
	said := strings.Join([]string{detail, r.location, r.encoding, r.retryAfter, r.functionError, string(r.body)}, "\n")
	if failed != nil {
		said = failed.err.Error()
	}
	return at.hidden.in(said) || q.given.in(said)
}

// answer is what came of a question, and for how long the endpoint asked to be
// left alone.
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

// throttled is the failure of an endpoint that asks to be left alone.
func (w *Webhook) throttled(r reply, pause time.Duration) chain.Answer {
	return chain.Fail(chain.Status,
		fmt.Sprintf("answered with status %d, and is left alone for %d s", r.status, int64(math.Ceil(pause.Seconds()))),
		fmt.Sprintf("POST %s: Retry-After %.64q: %s", w.where, r.retryAfter, excerpt(r.body)))
}

// judge reads a reply. Its status says whether the participant lives, and only
// then its body what it decided.
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
		return chain.Fail(chain.Malformed, "answered in a content encoding that was not asked for",
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
	return fmt.Sprintf("POST %s: %.*v", w.where, 2*quoted, failed.err) // which may quote what the endpoint sent
}

// counted is what a call reports to the breaker.
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

// Status is the binding's present state.
func (w *Webhook) Status() Status {
	return Status{InFlight: w.calls.inFlight(), Breaker: w.breaker.status()}
}

// Close closes the connections that are kept for later calls. A chain that was
// replaced may still ask; its connections then end with each call.
func (w *Webhook) Close() {
	w.closed.Store(true)
	w.reach.Load().sender.dropIdle()
}
