package transport

import "net/url"

// reach is how an endpoint is reached and what it is shown: all that can be
// replaced under a breaker. A call has one from its beginning to its end.
type reach struct {
	sender sender
	// refused is called where the endpoint does not take the credential.
	refused func()
	// authorizer is nil where questions carry no credential. hidden is what the
	// operator's headers have in them.
	authorizer Authorizer
	hidden     *secrets
	answers    AnswerChecker
}

// newReach takes checked options.
func newReach(o WebhookOptions, u *url.URL) (*reach, error) {
	headers, err := operatorHeaders(o.Headers)
	if err != nil {
		return nil, err
	}
	security, err := secured(u, o.TLS)
	if err != nil {
		return nil, err
	}
	r := &reach{refused: func() {}, authorizer: o.Authorizer, hidden: secretsOf(headers), answers: o.Answers}
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

// Authorizer is that of the calls that begin now, for those who replace other
// secrets: it may have a token that is worth keeping. It may be nil.
func (w *Webhook) Authorizer() Authorizer { return w.reach.Load().authorizer }

// Renewed prepares the webhook for other secrets: the Headers, TLS, Signer,
// Authorizer and Answers of o. The rest of o does not count. The error says why
// they cannot be used; else apply puts them in force, for the calls that begin
// after it. Those under way end as they began. Breaker, limit and what is known
// of the endpoint stay as they are.
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
		// A connection was opened with the old certificate and the old roots.
		w.reach.Swap(r).sender.renew()
	}, nil
}
