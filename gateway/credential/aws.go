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

// reread is how long keys without an expiry are used before their source is
// read again, because a file or a mounted secret may have been rotated.
const reread = 15 * time.Minute

// Headers of a SigV4 signature.
const (
	headerAmzDate    = "X-Amz-Date"
	headerAmzSession = "X-Amz-Security-Token"
	headerAmzContent = "X-Amz-Content-Sha256"
)

// AWSOptions configure AWS Signature Version 4.
type AWSOptions struct {
	// Region of the hook, as in eu-central-1.
	Region string
	// Service is lambda for a function URL and execute-api for API Gateway.
	Service string
	// Proxy returns the proxy for a request for keys. It is not asked about
	// this machine and metadata services. Nil means no proxy, whatever the
	// environment says.
	Proxy func(*http.Request) (*url.URL, error)
}

// AWS signs requests with keys of the SDK's default chain. The zero AWS signs
// nothing and returns an error.
type AWS struct {
	region, service string
	signer          *v4.Signer
	keys            *renewed[aws.Credentials]
}

// NewAWS returns a credential that uses the SDK's default chain.
func NewAWS(o AWSOptions) (*AWS, error) {
	for _, part := range []struct{ name, value string }{{"region", o.Region}, {"service", o.Service}} {
		switch {
		case part.value == "":
			return nil, fmt.Errorf("aws_sigv4: %s: is missing", part.name)
		case !isName(part.value):
			return nil, fmt.Errorf("aws_sigv4: %s: %q is not a valid name", part.name, part.value)
		}
	}
	return &AWS{
		region: o.Region, service: o.Service, signer: v4.NewSigner(),
		keys: &renewed[aws.Credentials]{wire: func() *wire { return proxy(o.Proxy).wire(nil) }, fetch: o.fetch},
	}, nil
}

// isName reports whether s contains only the characters of region and service
// names.
func isName(s string) bool {
	for _, c := range []byte(s) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// fetch walks the whole default chain, so that it notices changes.
func (o AWSOptions) fetch(ctx context.Context, w *wire) (aws.Credentials, time.Time, error) {
	// Only with a client of its own type does the SDK honor AWS_CA_BUNDLE and
	// give up quickly on a metadata service that does not exist.
	client := awshttp.NewBuildableClient().WithTimeout(patience).
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialPatience }).
		WithTransportOptions(w.proxy.configure)
	found, err := config.LoadDefaultConfig(
		ctx,
		config.WithRegion(o.Region),
		config.WithHTTPClient(client),
		config.WithEndpointCredentialOptions(func(e *endpointcreds.Options) { e.HTTPClient = client }),
		config.WithAPIOptions([]func(*middleware.Stack) error{w.watch}),
		// A failure is reported soon; the next call tries again.
		config.WithRetryMaxAttempts(2),
		// Validity and renewal are decided in one place, by renewed.
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
		return aws.Credentials{}, time.Time{}, plain("the default credential chain found no access key")
	case !keys.CanExpire:
		return keys, time.Now().Add(reread), nil
	}
	return keys, keys.Expires, nil
}

// watch observes the SDK's requests.
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

// Authorize signs r in its present form, with body.
func (a *AWS) Authorize(ctx context.Context, r *http.Request, body []byte) error {
	if a.keys == nil {
		return errors.New("no credential is configured")
	}
	keys, err := a.keys.get(ctx)
	if err != nil {
		return fmt.Errorf("aws_sigv4: no keys: %w", err)
	}
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])

	// The signer rewrites the query and the header slices, which r may share
	// with other requests. So it gets a copy.
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
	r.Host = signed.Host // without the default port, as it was signed
	return nil
}

// rewritten reports whether a header is set by the signature itself or may be
// changed on the way, by tracing or compression.
func rewritten(canonical string) bool {
	switch canonical {
	case headerAuthorization, headerAmzDate, headerAmzSession,
		"Accept-Encoding", "Connection", "Te", "Traceparent", "Tracestate", "User-Agent", "X-Amzn-Trace-Id":
		return true
	}
	return false
}

// Forget makes the next call walk the chain again, unless the keys were fetched
// recently. Call it when an endpoint answers 403 to a signature that should be
// valid.
func (a *AWS) Forget() { a.keys.forget() }

// Health returns the current state.
func (a *AWS) Health() Health { return a.keys.health() }

// String returns the kind and purpose of the credential. It contains no secret.
func (a *AWS) String() string { return "aws_sigv4 for " + a.service + " in " + a.region }
