package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options configure the export of one signal, over OTLP/HTTP with protobuf.
type Options struct {
	// URL is the signal's endpoint including its path:
	// http://localhost:4318/v1/traces.
	URL string
	// Header is sent with every request; it may contain credentials.
	Header http.Header
	// Timeout is the deadline of one request. Default 10 s.
	Timeout time.Duration
	// Gzip compresses request bodies.
	Gzip bool
	// TLS is the client's TLS configuration; nil means the system's roots.
	TLS *tls.Config
	// Proxy returns the proxy for a request; nil means none.
	Proxy func(*http.Request) (*url.URL, error)
	// Version is the gateway's version, for the resource and the User-Agent.
	Version string
	// Logger receives the collector's warnings. Nil discards them.
	Logger *slog.Logger
}

const (
	// insistence is how long a batch is retried, unless its context ends earlier.
	// Meanwhile new items wait in the queue of their signal.
	insistence = time.Minute
	// firstPause is the approximate pause before the second attempt. Each further
	// pause is twice as long, up to longestPause.
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
	// maxAnswer limits how much of a response is read, in bytes.
	maxAnswer = 64 << 10
)

// sender posts batches of one signal to its collector (O3, O4).
type sender struct {
	options Options
	where   string // the URL as errors show it
	client  *http.Client
	stopped context.Context //nolint:containedctx // the sender's own end, which every request has besides its caller's
	stop    context.CancelFunc
}

func newSender(o Options) (*sender, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the URL of the OTLP collector must begin with http:// or https:// and contain a host")
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	where := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	s := &sender{options: o, where: where.String(), client: &http.Client{
		Transport: &http.Transport{
			Proxy: o.Proxy, TLSClientConfig: o.TLS, ForceAttemptHTTP2: true, DisableCompression: true,
			MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second,
		},
		// A redirect would carry the credentials elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       o.Timeout,
	}}
	s.stopped, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// close cancels requests in progress.
func (s *sender) close() {
	s.stop()
	s.client.CloseIdleConnections()
}

// send posts one batch, retrying where that may help. It returns the error of the
// last attempt.
func (s *sender) send(ctx context.Context, message []byte) error {
	body, err := s.pack(message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, insistence)
	defer cancel()
	defer context.AfterFunc(s.stopped, cancel)() //nolint:contextcheck // cancels when either context ends
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		asked, again, err := s.attempt(ctx, body)
		if err == nil || !again || ctx.Err() != nil {
			return err
		}
		// Jitter of 50 to 150 %, so that a gateway's replicas do not retry at the
		// same moment.
		wait := max(asked, pause/2+rand.N(pause)) //nolint:gosec // jitter for retries, not a secret
		if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
			return fmt.Errorf("%w; it is not retried, because the next try would be in %v, after the deadline", err, wait.Round(time.Millisecond))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// pack returns the body of a request.
func (s *sender) pack(message []byte) ([]byte, error) {
	if !s.options.Gzip {
		return message, nil
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(message)
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// attempt makes one request. It returns whether the batch may be retried, and the
// pause that the collector asked for.
func (s *sender) attempt(ctx context.Context, body []byte) (asked time.Duration, again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.options.URL, bytes.NewReader(body))
	if err != nil {
		return 0, false, err
	}
	maps.Copy(r.Header, s.options.Header)
	r.Header.Set("User-Agent", "hookgate/"+s.options.Version)
	r.Header.Set("Content-Type", contentType)
	if s.options.Gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	response, err := s.client.Do(r)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the URL
		}
		// OTLP prescribes a retry if there was no response. A bad certificate
		// will not improve.
		_, stranger := errors.AsType[*tls.CertificateVerificationError](err)
		return 0, !stranger, fmt.Errorf("the collector at %s: %w", s.where, err)
	}
	defer response.Body.Close() //nolint:errcheck // the answer was read, as far as it is wanted
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode/100 != 2 {
		err = fmt.Errorf("the collector at %s answered with status %d%s", s.where, response.StatusCode, s.quote(statusMessage(response.Header, answer)))
		return retryAfter(response.Header), transient(response.StatusCode), err
	}
	if err != nil {
		return 0, false, nil // the batch was accepted; only the collector's message is lost
	}
	// Rejected items are not sent again, because a retry would duplicate the
	// rest.
	lost, said := partialSuccess(response.Header, answer)
	if lost > 0 {
		return 0, false, fmt.Errorf("the collector at %s rejected %d of them%s", s.where, lost, s.quote(said))
	}
	if said != "" {
		s.options.Logger.LogAttrs(ctx, slog.LevelWarn, "the telemetry collector sent a warning", slog.String("collector", s.where), slog.String("warning", s.excerpt(said)))
	}
	return 0, false, nil
}

// quote returns a collector's message as a suffix for an error.
func (s *sender) quote(said string) string {
	if said = s.excerpt(said); said != "" {
		return fmt.Sprintf(": %q", said)
	}
	return ""
}

// excerpt returns the beginning of a collector's message with the credentials
// removed.
func (s *sender) excerpt(said string) string {
	for _, values := range s.options.Header {
		for _, secret := range values {
			if secret != "" {
				said = strings.ReplaceAll(said, secret, "…")
			}
		}
	}
	return fmt.Sprintf("%.256s", said)
}

// transient are the status codes for which OTLP prescribes a retry.
func transient(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter parses Retry-After: seconds, or a date.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}
