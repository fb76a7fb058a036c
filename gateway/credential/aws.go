package credential

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// reread is how long keys are used that do not expire, before their source is
// read again: a file or a mounted secret may have been rotated.
const reread = 15 * time.Minute

// The headers of a SigV4 signature.
const (
	headerAmzDate    = "X-Amz-Date"
	headerAmzSession = "X-Amz-Security-Token"
	headerAmzContent = "X-Amz-Content-Sha256"
)

// AWSOptions configure signatures of version 4.
type AWSOptions struct {
	// Region of the hook, as in eu-central-1.
	Region string
	// Service is lambda for a function URL and execute-api for API Gateway.
	Service string
	// Proxy names the proxy of a request for keys, but is not asked about
	// this machine and metadata services. Nil means none, whatever the
	// environment says.
	Proxy func(*http.Request) (*url.URL, error)
}

// AWS signs requests with keys of the SDK's default chain. The zero AWS signs
// nothing.
type AWS struct {
	region, service string
	signer          *v4.Signer
	keys            *renewed[aws.Credentials]
}

// NewAWS returns the credential of whomever the SDK's default chain finds.
func NewAWS(o AWSOptions) (*AWS, error) {
	for _, part := range []struct{ name, value string }{{"region", o.Region}, {"service", o.Service}} {
		switch {
		case part.value == "":
			return nil, fmt.Errorf("aws_sigv4: %s: is missing", part.name)
		case !isName(part.value):
			return nil, fmt.Errorf("aws_sigv4: %s: %q is not the name of one", part.name, part.value)
		}
	}
	return &AWS{
		region: o.Region, service: o.Service, signer: v4.NewSigner(),
		keys: &renewed[aws.Credentials]{wire: func() *wire { return proxy(o.Proxy).wire(nil) }, fetch: o.fetch},
	}, nil
}

// isName reports whether a text has only the characters of regions and
// services.
func isName(s string) bool {
	for _, c := range []byte(s) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// fetch walks the whole chain, so that what changed in it is seen.
func (o AWSOptions) fetch(ctx context.Context, w *wire) (aws.Credentials, time.Time, error) {
	// Only with a client of its own type does the SDK heed AWS_CA_BUNDLE, and
	// give up on a metadata service soon that is not there.
	client := awshttp.NewBuildableClient().WithTimeout(patience).
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialPatience }).
		WithTransportOptions(w.proxy.configure)
	found, err := config.LoadDefaultConfig(
		ctx,
		config.WithRegion(o.Region),
		config.WithHTTPClient(client),
		config.WithEndpointCredentialOptions(func(e *endpointcreds.Options) { e.HTTPClient = client }),
		config.WithAPIOptions([]func(*middleware.Stack) error{w.watch}),
		// A failure is told soon; the next call tries again.
		config.WithRetryMaxAttempts(2),
		// What is valid, and when to renew it, is decided in one place.
		config.WithCredentialsCacheOptions(func(c *aws.CredentialsCacheOptions) { c.ExpiryWindow = 0 }),
	)
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	keys, err := found.Credentials.Retrieve(ctx)
	switch {
	case err != nil:
		return aws.Credentials{}, time.Time{}, err
	case !keys.HasKeys():
		return aws.Credentials{}, time.Time{}, plain("the default chain found no access key")
	case !keys.CanExpire:
		return keys, time.Now().Add(reread), nil
	}
	return keys, keys.Expires, nil
}

// watch has the SDK's requests observed.
func (w *wire) watch(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("hookgate wire", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		request, ok := in.Request.(*smithyhttp.Request)
		response, answered := out.RawResponse.(*smithyhttp.Response)
		switch {
		case !ok:
		case err != nil:
			w.observe(request.Request, nil, err)
		case answered:
			w.observe(request.Request, response.Response, nil)
		}
		return out, metadata, err
	}), middleware.After)
}

// Authorize signs r as it stands, with body.
func (a *AWS) Authorize(ctx context.Context, r *http.Request, body []byte) error {
	if a.keys == nil {
		return errors.New("there is no credential")
	}
	keys, err := a.keys.get(ctx)
	if err != nil {
		return fmt.Errorf("aws_sigv4: no keys: %w", err)
	}
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])

	// The signer rewrites the query and writes into the slices of headers,
	// which r may share with other requests. So it gets a request of its own.
	signed := r.WithContext(ctx)
	u := *r.URL
	signed.URL = &u
	signed.Header = maps.Clone(r.Header)
	maps.DeleteFunc(signed.Header, func(name string, _ []string) bool { return rewritten(name) })
	signed.Header[headerAmzContent] = []string{digest}
	if err := a.signer.SignHTTP(ctx, keys, signed, digest, a.service, a.region, time.Now()); err != nil {
		return errors.New("aws_sigv4: the request could not be signed")
	}
	for _, name := range []string{headerAuthorization, headerAmzDate, headerAmzSession, headerAmzContent} {
		if value, ok := signed.Header[name]; ok {
			r.Header[name] = value
		} else {
			delete(r.Header, name)
		}
	}
	r.Host = signed.Host // without a port that goes without saying, as it was signed
	return nil
}

// rewritten reports whether a header is one that the signature itself sets, or
// that whatever is on the way may change: what traces and what compresses.
func rewritten(canonical string) bool {
	switch canonical {
	case headerAuthorization, headerAmzDate, headerAmzSession,
		"Accept-Encoding", "Connection", "Te", "Traceparent", "Tracestate", "User-Agent", "X-Amzn-Trace-Id":
		return true
	}
	return false
}

// Forget makes the next call walk the chain again, if these keys are not quite
// new. It is for an endpoint that answers 403 to a signature that should be
// right.
func (a *AWS) Forget() { a.keys.forget() }

// Health is the present state.
func (a *AWS) Health() Health { return a.keys.health() }

// String names the kind of credential and what it is for. It has no secret in
// it.
func (a *AWS) String() string { return "aws_sigv4 for " + a.service + " in " + a.region }
