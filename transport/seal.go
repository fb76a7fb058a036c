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
)

// Signer signs questions, so that an endpoint can tell whose they are. It must
// be safe for concurrent use.
type Signer interface {
	// SetHeaders signs a question and sets the headers that say so. It must
	// not change the values that are there.
	SetHeaders(h http.Header, id string, at time.Time, body []byte) error
}

// Authorizer gives questions what lets their endpoint take them: a token, a
// signature. It must be safe for concurrent use.
//
// One with a method Forget() has it called where the endpoint answers with
// status 401 or 403, which may say that what it gave is no longer taken.
type Authorizer interface {
	// Authorize is called last, on a request with exactly the headers that
	// will be sent, once for each time that it is. It may set headers of its
	// own and Host, and changes nothing else; values that are there it may
	// replace but not write into. It returns when ctx ends. Where it returns an
	// error, the request is not sent.
	Authorize(ctx context.Context, r *http.Request, body []byte) error
}

// forgetter is an [Authorizer] that can be told that its credential was not
// taken.
type forgetter interface{ Forget() }

// seal is what questions are given right before they are sent. The zero seal
// is nothing.
type seal struct {
	signer     Signer
	authorizer Authorizer
}

// request is the request that puts q, signed and authorized, without its body.
// Where there is none, nothing may be sent (T8).
func (s seal) request(ctx context.Context, every *http.Request, q question) (*http.Request, *sendFailure) {
	r := every.WithContext(ctx)
	r.Header = headerOf(every.Header, q)
	r.ContentLength = int64(len(q.body))
	if s.signer != nil {
		if err := s.signer.SetHeaders(r.Header, q.id, time.Now(), q.body); err != nil {
			return nil, unsealed("the request could not be signed", aSignature, err)
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
	return nil, unsealed("its credential could not be had", anAuthorization, err)
}

func unsealed(why, without string, err error) *sendFailure {
	return &sendFailure{
		cause: chain.Auth, text: "could not be authenticated to: " + why, err: fmt.Errorf("still without %s: %w", without, err),
	}
}

// authorized refuses a credential that would change what else is sent, and
// notes what it is. Its errors quote no value.
func authorized(r *http.Request, before http.Header, given *secrets) error {
	for name := range before {
		if _, ok := r.Header[name]; !ok {
			return fmt.Errorf("it takes away the header %s", name)
		}
	}
	for name, values := range r.Header {
		switch {
		case slices.Equal(values, before[name]):
		case !validHeaderName(name):
			return fmt.Errorf("it sets %.64q, which is not the name of a header", name)
		case ownHeader(name):
			return fmt.Errorf("it sets the header %s, which the gateway sets itself", name)
		case slices.ContainsFunc(values, func(v string) bool { return !validHeaderValue(v) }):
			return fmt.Errorf("the value of its header %s has a line break or another control character", name)
		default:
			given.add(values)
		}
	}
	if !validHeaderValue(r.Host) {
		return errors.New("the host that it sets has a line break or another control character")
	}
	return nil
}

// everyQuestion is the request without what differs from question to question.
// The headers become its own.
func everyQuestion(u *url.URL, headers http.Header) *http.Request {
	return &http.Request{Method: http.MethodPost, URL: u, Host: hostHeader(u), Header: headers}
}

// headerOf is the header of every question with what belongs to one of them.
// Like net/http, it takes the values by reference.
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
