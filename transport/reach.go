package transport

import (
	"net/url"

	"github.com/hookgate/hookgate/transport/internal/output"
)

// reach is how an endpoint is reached: everything that a change of secrets
// replaces while the breaker stays. A call uses one reach from beginning to
// end.
type reach struct {
	sender sender
	// refused is called when the endpoint rejects the credential.
	refused func()
	// authorizer is nil if requests carry no credential. hidden are the secrets in
	// the operator's headers.
	authorizer Authorizer
	hidden     *output.Secrets
	answers    AnswerChecker
}

// newReach expects validated options.
func newReach(o WebhookOptions, u *url.URL) (*reach, error) {
	headers, err := operatorHeaders(o.Headers)
	if err != nil {
		return nil, err
	}
	security, err := secured(u, o.TLS)
	if err != nil {
		return nil, err
	}
	r := &reach{refused: func() {}, authorizer: o.Authorizer, hidden: output.OfHeaders(headers), answers: o.Answers}
	if f, ok := o.Authorizer.(forgetter); ok {
		r.refused = f.Forget
	}
	setFixed(headers, o.UserAgent)
	if u.Scheme == "http" && o.Proxy == nil {
		r.sender = newPlainSender(o, u, headers)
	} else {
		r.sender = newHTTPSender(o, u, headers, security)
	}
	return r, nil
}

// Authorizer is the Authorizer that calls currently use, or nil. It is for code
// that replaces secrets and may want to keep its token.
func (w *Webhook) Authorizer() Authorizer { return w.reach.Load().authorizer }

// Renewed prepares the webhook for other secrets: the Headers, TLS, Signer,
// Authorizer and Answers of o. It ignores the rest of o. It returns an error if
// they cannot be used; otherwise apply puts them into effect for calls that
// begin later. Calls in flight end with the old ones. The breaker, the limit
// and what is known of the endpoint are kept.
func (w *Webhook) Renewed(o WebhookOptions) (apply func(), err error) {
	renewed := w.options
	renewed.Headers, renewed.TLS, renewed.Signer, renewed.Authorizer, renewed.Answers = o.Headers, o.TLS, o.Signer, o.Authorizer, o.Answers
	renewed, u, err := checked(renewed)
	if err != nil {
		return nil, err
	}
	r, err := newReach(renewed, u)
	if err != nil {
		return nil, err
	}
	return func() {
		// Old connections were opened with the old certificate and the old roots.
		w.reach.Swap(r).sender.renew()
	}, nil
}
