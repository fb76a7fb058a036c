package functions

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// The platforms' frontends between gateway and function are not available here,
// so they are imitated: which requests they admit, and what they respond if the
// function fails.

// functionURL imitates a Lambda function URL with AWS_IAM in front of the
// emulator. It checks that a request is signed, but does not verify the
// signature.
func functionURL(t testing.TB, emulator string) string {
	t.Helper()
	scope := regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=AKIDTEST/\d{8}/eu-central-1/lambda/aws4_request, `)
	var oneAtATime sync.Mutex // the emulator crashes on concurrent calls
	return front(t, func(w http.ResponseWriter, r *http.Request) {
		if !scope.MatchString(r.Header.Get("Authorization")) {
			message(w, http.StatusForbidden, "Forbidden")
			return
		}
		event, err := eventOf(r)
		if err != nil {
			message(w, http.StatusBadRequest, "Bad Request")
			return
		}
		oneAtATime.Lock()
		defer oneAtATime.Unlock()
		answer, err := invoke(r, emulator, event)
		if err != nil {
			message(w, http.StatusBadGateway, "Internal Server Error")
			return
		}
		serveResult(w, answer)
	})
}

// eventOf converts a request to payload format 2.0.
func eventOf(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	return json.Marshal(map[string]any{
		"version": "2.0", "rawPath": r.URL.Path, "headers": headers,
		"requestContext":  map[string]any{"http": map[string]string{"method": r.Method, "path": r.URL.Path}},
		"body":            base64.StdEncoding.EncodeToString(body),
		"isBase64Encoded": true,
	})
}

// invoke makes the emulator run the function.
func invoke(r *http.Request, emulator string, event []byte) ([]byte, error) {
	to := "http://" + emulator + invocations
	// A function that has started keeps running even if its caller hangs up.
	ask, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), http.MethodPost, to, bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	said, err := client.Do(ask)
	if err != nil {
		return nil, err
	}
	defer func() { _ = said.Body.Close() }()
	return io.ReadAll(said.Body)
}

// serveResult converts a function's result to a response, as a function URL
// does: an object without a status is the body of a 200.
func serveResult(w http.ResponseWriter, answer []byte) {
	var result struct {
		StatusCode   int               `json:"statusCode"`
		Headers      map[string]string `json:"headers"`
		Body         string            `json:"body"`
		Base64       bool              `json:"isBase64Encoded"`
		ErrorMessage *string           `json:"errorMessage"`
	}
	switch {
	case json.Unmarshal(answer, &result) != nil || result.ErrorMessage != nil:
		message(w, http.StatusBadGateway, "Internal Server Error")
		return
	case result.StatusCode == 0:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
		return
	}
	body := []byte(result.Body)
	if result.Base64 {
		decoded, err := base64.StdEncoding.DecodeString(result.Body)
		if err != nil {
			message(w, http.StatusBadGateway, "Internal Server Error")
			return
		}
		body = decoded
	}
	for name, value := range result.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(result.StatusCode)
	_, _ = w.Write(body)
}

func message(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"Message":%q}`, text)
}

// letIn forwards the requests that a platform would admit, and refuses the
// others as it would.
func letIn(t testing.TB, to string, allowed func(http.Header) bool, refuse http.HandlerFunc) string {
	t.Helper()
	target, err := url.Parse("http://" + to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "The service is unavailable.")
	}
	return front(t, func(w http.ResponseWriter, r *http.Request) {
		if !allowed(r.Header) {
			refuse(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

func front(t testing.TB, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

// googleToken is the token that the imitated metadata server issues.
func googleToken() string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"none"}`) + "." + part(fmt.Sprintf(`{"exp":%d}`, time.Now().Add(time.Hour).Unix())) + ".signature"
}

// metadataServer imitates Google's metadata server for the gateway. It returns
// the environment variable with its address.
func metadataServer(t testing.TB, token string) string {
	t.Helper()
	at := front(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" || !strings.HasSuffix(r.URL.Path, "/service-accounts/default/identity") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Metadata-Flavor", "Google")
		_, _ = io.WriteString(w, token)
	})
	return "GCE_METADATA_HOST=" + strings.TrimPrefix(at, "http://")
}

func unauthorized(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }

// toLogin redirects unauthenticated requests as Cloudflare Access does.
func toLogin(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "https://example.cloudflareaccess.com/cdn-cgi/access/login", http.StatusFound)
}
