package transport

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/internal/output"
)

// Signer signs requests, so that an endpoint can verify their sender. It must
// be safe for concurrent use.
type Signer interface {
	// SetHeaders signs a request with this id, time and body, and sets the headers
	// that carry the signature. It must not modify the existing values.
	SetHeaders(h http.Header, id string, at time.Time, body []byte) error
}

// Authorizer adds to requests what their endpoint requires to accept them: a
// token or a signature. It must be safe for concurrent use.
//
// If it has a method Forget(), that is called when the endpoint answers with
// status 401 or 403, since the endpoint may no longer accept the cached
// credential.
type Authorizer interface {
	// Authorize is called last, once for each time that the request is sent, and
	// sees exactly the headers that will be sent. It may add headers and set Host,
	// and must change nothing else. It may replace the values of a header, but not
	// modify the slice in place. It returns when ctx is done. If it returns an
	// error, the request is not sent.
	Authorize(ctx context.Context, r *http.Request, body []byte) error
}

// forgetter is an [Authorizer] that can be told that its credential was
// rejected.
type forgetter interface{ Forget() }

// seal is what is added to a request right before it is sent. The zero seal
// adds nothing.
type seal struct {
	signer     Signer
	authorizer Authorizer
}

// request returns the HTTP request for q, signed and authorized, without its
// body. If it fails, nothing may be sent (T8).
func (s seal) request(ctx context.Context, every *http.Request, q question) (*http.Request, *sendFailure) {
	r := every.WithContext(ctx)
	r.Header = headerOf(every.Header, q)
	r.ContentLength = int64(len(q.body))
	if s.signer != nil {
		if err := s.signer.SetHeaders(r.Header, q.id, time.Now(), q.body); err != nil {
			return nil, unsealed("the request to it could not be signed", aSignature, err)
		}
	}
	if s.authorizer == nil {
		return r, nil
	}
	before := maps.Clone(r.Header)
	err := s.authorizer.Authorize(ctx, r, q.body)
	if err == nil {
		err = authorized(r, before, q.given)
	}
	switch {
	case err == nil:
		return r, nil
	case ctx.Err() != nil:
		return nil, outOfTime(anAuthorization, err)
	}
	return nil, unsealed("its credential could not be obtained", anAuthorization, err)
}

func unsealed(why, without string, err error) *sendFailure {
	return &sendFailure{
		cause: chain.Auth, text: "was not asked: " + why, err: fmt.Errorf("cannot obtain %s: %w", without, err),
	}
}

// authorized returns an error if the Authorizer changed anything that it must
// not, and adds what it set to given. The errors quote no value.
func authorized(r *http.Request, before http.Header, given *output.Secrets) error {
	for name := range before {
		if _, ok := r.Header[name]; !ok {
			return fmt.Errorf("it removes the header %s", name)
		}
	}
	for name, values := range r.Header {
		switch {
		case slices.Equal(values, before[name]):
		case !validHeaderName(name):
			return fmt.Errorf("it sets %.64q, which is not a valid header name", name)
		case ownHeader(name):
			return fmt.Errorf("it sets the header %s, which the gateway sets itself", name)
		case slices.ContainsFunc(values, func(v string) bool { return !validHeaderValue(v) }):
			return fmt.Errorf("the value of its header %s contains a line break or another control character", name)
		default:
			given.Add(values)
		}
	}
	if !validHeaderValue(r.Host) {
		return errors.New("the host that it sets contains a line break or another control character")
	}
	return nil
}

// everyQuestion returns what is common to all requests. It takes ownership of
// headers.
func everyQuestion(u *url.URL, headers http.Header) *http.Request {
	return &http.Request{Method: http.MethodPost, URL: u, Host: hostHeader(u), Header: headers}
}

// headerOf returns the common headers with those of q. The values are shared
// with every, as net/http does too.
func headerOf(every http.Header, q question) http.Header {
	h := maps.Clone(every)
	values := [3]string{q.id, q.left(), q.traceparent}
	h[headerIdempotencyKey] = values[0:1:1]
	h[headerTimeout] = values[1:2:2]
	if q.traceparent != "" {
		h[headerTraceparent] = values[2:3:3]
	}
	for _, f := range q.more {
		h[f.name] = []string{f.value}
	}
	return h
}
