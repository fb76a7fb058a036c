package credential

import (
	"bufio"
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hookgate/hookgate/gateway/credential/credentialtest"
)

// awsNowhere hides everything that the SDK could find on this machine.
func awsNowhere(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_CA_BUNDLE", "AWS_ROLE_ARN",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	} {
		t.Setenv(name, "")
	}
	nowhere := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", nowhere)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", nowhere)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func newAWS(t *testing.T) *AWS {
	t.Helper()
	a, err := NewAWS(AWSOptions{Region: "eu-central-1", Service: "lambda"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func awsKeys(t *testing.T, token string) credentialtest.SigV4Verifier {
	t.Helper()
	awsNowhere(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
	t.Setenv("AWS_SESSION_TOKEN", token)
	return credentialtest.SigV4Verifier{
		AccessKey: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", SessionToken: token,
		Region: "eu-central-1", Service: "lambda", Now: time.Now,
	}
}

func TestA6_WhatIsSentOverHTTPIsWhatWasSigned(t *testing.T) {
	for name, token := range map[string]string{"long-lived keys": "", "keys of a session": "FwoGZXIvYXdzEBYaD+/=="} {
		t.Run(name, func(t *testing.T) {
			v := awsKeys(t, token)
			verdicts := make(chan error, 2)
			endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				verdicts <- errors.Join(err, v.Verify(r, body))
			}))
			defer endpoint.Close()
			a := newAWS(t)
			const question = `{"hook_schema":1,"input":{"command":"git push"}}`
			for range 2 { // the second time with cached keys
				r := hookRequest(t, endpoint.URL+"/hook%20of/a%2Fb/é?b=2&a=1%2B1&a=%20&flag", question)
				if err := a.Authorize(t.Context(), r, []byte(question)); err != nil {
					t.Fatal(err)
				}
				response, err := endpoint.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				if err := response.Body.Close(); err != nil {
					t.Fatal(err)
				}
				if err := <-verdicts; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestA6_AnyRequestIsSignedAsItIsSent(t *testing.T) {
	v := awsKeys(t, "a-session")
	a := newAWS(t)
	rapid.Check(t, func(rt *rapid.T) {
		path := rapid.StringMatching(`(/[a-zA-Z0-9 ._~!$&'()*+,;=:@%-]{0,8}){0,4}`).Draw(rt, "path")
		query := rapid.StringMatching(`([a-b0-1~*'()!:@-]{1,4}(=[a-zA-Z0-9%20+/:@-]{0,6})?&?){0,4}`).Draw(rt, "query")
		body := rapid.SliceOf(rapid.Byte()).Draw(rt, "body")
		extra := rapid.MapOf(rapid.StringMatching(`X-[A-Z][a-z]{1,6}`), rapid.SliceOfN(rapid.StringMatching(`[ -~]{0,12}`), 1, 2)).Draw(rt, "headers")
		host := rapid.SampledFrom([]string{"x.lambda-url.eu-central-1.on.aws", "127.0.0.1:8443", "x.test:443", "x.test:80"}).Draw(rt, "host")

		u := &url.URL{Scheme: "https", Host: host, Path: path, RawQuery: url.PathEscape(query)}
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, u.String(), strings.NewReader(string(body)))
		if err != nil {
			rt.Skip("not a URL")
		}
		r.Header.Set("Content-Type", "application/json")
		maps.Copy(r.Header, extra)
		sent := *r.URL
		if err := a.Authorize(context.Background(), r, body); err != nil {
			rt.Fatal(err)
		}
		if *r.URL != sent {
			rt.Fatalf("the URL became %v, and was %v", r.URL, &sent)
		}
		received, got := asReceived(t, r)
		if err := v.Verify(received, got); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestA6_WhatWasChangedOnTheWayIsNoticed(t *testing.T) {
	v := awsKeys(t, "a-session")
	for name, change := range map[string]func(*http.Request){
		"a header that is signed": func(r *http.Request) { r.Header.Set("Webhook-Signature", "v1,other=") },
		"the path":                func(r *http.Request) { r.URL.Path = "/other" },
		"the query":               func(r *http.Request) { r.URL.RawQuery = "a=2" },
		"the host":                func(r *http.Request) { r.Host = "other.test" },
		"the session":             func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "another") },
		"the body":                func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("[]")) },
	} {
		t.Run(name, func(t *testing.T) {
			r := hookRequest(t, "https://x.test/hook?a=1", "{}")
			if err := newAWS(t).Authorize(t.Context(), r, []byte("{}")); err != nil {
				t.Fatal(err)
			}
			change(r)
			received, body := asReceived(t, r)
			if err := v.Verify(received, body); err == nil {
				t.Error("was accepted")
			}
		})
	}
	t.Run("what may change", func(t *testing.T) {
		r := hookRequest(t, "https://x.test/hook?a=1", "{}")
		if err := newAWS(t).Authorize(t.Context(), r, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Traceparent", "Accept-Encoding", "User-Agent", "X-Amzn-Trace-Id"} {
			r.Header.Set(name, "rewritten")
		}
		received, body := asReceived(t, r)
		if err := v.Verify(received, body); err != nil {
			t.Error(err)
		}
	})
}

func TestA6_AClockThatIsTenMinutesOffIsForTheEndpointToRefuse(t *testing.T) {
	v := awsKeys(t, "")
	for _, off := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		v.Now = func() time.Time { return time.Now().Add(off) }
		r := hookRequest(t, "https://x.test/hook", "{}")
		if err := newAWS(t).Authorize(t.Context(), r, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		received, body := asReceived(t, r)
		if err := v.Verify(received, body); !errors.Is(err, credentialtest.ErrSkew) {
			t.Errorf("%v off: %v", off, err)
		}
	}
}

func TestA6_RequestsThatShareTheirHeadersAreSignedAtTheSameTime(t *testing.T) {
	v := awsKeys(t, "a-session")
	a := newAWS(t)
	base := hookRequest(t, "https://x.test:443/hook?a=1", "")
	base.Header["Authorization"] = append(make([]string, 0, 4), "of the operator")
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			body := strings.Repeat("x", i)
			r := base.WithContext(t.Context())
			r.Header = maps.Clone(base.Header) // the same value slices, not copies
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			if err := a.Authorize(t.Context(), r, []byte(body)); err != nil {
				t.Error(err)
				return
			}
			received, got := asReceived(t, r)
			if err := v.Verify(received, got); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := base.Header["Authorization"]; len(got) != 1 || got[0] != "of the operator" {
		t.Errorf("the header that was shared is %q", got)
	}
}

// issued returns the response of a container credentials endpoint.
func issued(key, secret, token string, expires time.Time) string {
	return fmt.Sprintf(`{"AccessKeyId":%q,"SecretAccessKey":%q,"Token":%q,"Expiration":%q}`, key, secret, token, expires.UTC().Format(time.RFC3339))
}

func TestA2_KeysOfAPodIdentityAreFetchedOnceAndUsed(t *testing.T) {
	awsNowhere(t)
	agent := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "token-of-the-pod" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answers(http.StatusOK, issued("ASIAPOD", "secret", "session", time.Now().Add(6*time.Hour)))(w, r)
	})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token-of-the-pod"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.URL+"/v1/credentials")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file)
	a := newAWS(t)
	v := credentialtest.SigV4Verifier{AccessKey: "ASIAPOD", Secret: "secret", SessionToken: "session", Region: "eu-central-1", Service: "lambda", Now: time.Now}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r := hookRequest(t, "https://x.test/hook", "{}")
			if err := a.Authorize(t.Context(), r, []byte("{}")); err != nil {
				t.Error(err)
				return
			}
			received, body := asReceived(t, r)
			if err := v.Verify(received, body); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := agent.count(); n != 1 {
		t.Errorf("the agent was asked %d times", n)
	}
	if h := a.Health(); h.Failure != nil || time.Until(h.ValidUntil) < 5*time.Hour {
		t.Errorf("health %+v", h)
	}
}

func TestA2_KeysOfAServiceAccountAreTradedForItsToken(t *testing.T) {
	awsNowhere(t)
	expires := time.Now().Add(time.Hour).UTC()
	sts := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Form.Get("Action") != "AssumeRoleWithWebIdentity" ||
			r.Form.Get("WebIdentityToken") != "token-of-the-account" || r.Form.Get("RoleArn") != "arn:aws:iam::123456789012:role/hook" {
			t.Errorf("STS was asked for %v: %v", r.Form, err)
		}
		w.Header().Set("Content-Type", "text/xml")
		_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>session</SessionToken><Expiration>%s</Expiration></Credentials>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, expires.Format(time.RFC3339))
	})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token-of-the-account"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file)
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/hook")
	t.Setenv("AWS_ENDPOINT_URL_STS", sts.URL)
	a := newAWS(t)
	r := hookRequest(t, "https://x.test/hook", "{}")
	if err := a.Authorize(t.Context(), r, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	v := credentialtest.SigV4Verifier{AccessKey: "ASIAROLE", Secret: "secret", SessionToken: "session", Region: "eu-central-1", Service: "lambda", Now: time.Now}
	received, body := asReceived(t, r)
	if err := v.Verify(received, body); err != nil {
		t.Error(err)
	}
	if got, want := a.Health().ValidUntil, expires.Truncate(time.Second).Add(-leeway); !got.Equal(want) {
		t.Errorf("valid until %v, want %v", got, want)
	}
}

func TestA2_KeysThatWereRotatedInAFileAreSeenWithoutARestart(t *testing.T) {
	awsNowhere(t)
	file := filepath.Join(t.TempDir(), "credentials")
	write := func(id string) {
		if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = "+id+"\naws_secret_access_key = secret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	a := newAWS(t)
	for _, id := range []string{"AKIDOLD", "AKIDNEW"} {
		write(id)
		a.keys.mu.Lock()
		a.keys.fetched = time.Time{} // long ago
		a.keys.mu.Unlock()
		a.Forget()
		if got, err := authorized(t, a); err != nil || !strings.Contains(got, "Credential="+id+"/") {
			t.Errorf("signed as %q: %v", got, err)
		}
		if left := time.Until(a.Health().ValidUntil); left > reread || left < reread-time.Minute {
			t.Errorf("the file is read again in %v", left)
		}
	}
}

func TestA1_WithoutKeysNothingIsSignedAndTheErrorSaysWhoWasAsked(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(t *testing.T) (where string)
		want string // WHERE stands for the result of set
	}{
		{"an empty chain", func(*testing.T) string { return "" }, "aws_sigv4: no keys: no request was made, because neither the environment nor files contain the necessary settings (*errors.errorString)"},
		{"a profile that does not exist", func(t *testing.T) string {
			t.Helper()
			t.Setenv("AWS_PROFILE", "missing")
			return ""
		}, "aws_sigv4: no keys: no request was made, because neither the environment nor files contain the necessary settings (config.SharedConfigProfileNotExistError)"},
		{"an agent that refuses", func(t *testing.T) string {
			t.Helper()
			s := newStub(t, answers(http.StatusForbidden, `{"code":"AccessDenied","message":"canary"}`))
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL+"/v1/credentials?secret=canary")
			return s.URL
		}, "aws_sigv4: no keys: GET WHERE/v1/credentials: answered with status 403 (AccessDenied)"},
		{"an agent that answers nonsense", func(t *testing.T) string {
			t.Helper()
			s := newStub(t, answers(http.StatusOK, `<html>canary</html>`))
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL+"/")
			return s.URL
		}, "aws_sigv4: no keys: GET WHERE/: answered with status 200, but the answer contained no usable credential"},
		{"an agent that issues nothing", func(t *testing.T) string {
			t.Helper()
			s := newStub(t, answers(http.StatusOK, `{}`))
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL+"/")
			return s.URL
		}, "aws_sigv4: no keys: GET WHERE/: answered with status 200 (the default credential chain found no access key)"},
		{"an agent whose keys have expired", func(t *testing.T) string {
			t.Helper()
			s := newStub(t, answers(http.StatusOK, issued("ASIA", "canary", "canary", time.Now().Add(-time.Hour-500*time.Millisecond))))
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL+"/")
			return s.URL
		}, "aws_sigv4: no keys: GET WHERE/: answered with status 200 (the issued token expired 1h0m"},
		{"an agent that answers without end", func(t *testing.T) string {
			t.Helper()
			s := newStub(t, answers(http.StatusOK, `{"AccessKeyId":"`+strings.Repeat("x", maxAnswerBytes)))
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL+"/")
			return s.URL
		}, "aws_sigv4: no keys: GET WHERE/: answered with status 200, with more than 1048576 bytes, but the answer contained no usable credential"},
		{"an agent that is not there", func(t *testing.T) string {
			t.Helper()
			s := newStub(t, nil)
			s.Close()
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL+"/")
			return strings.TrimPrefix(s.URL, "http://")
		}, "aws_sigv4: no keys: GET http://WHERE/: dial tcp WHERE: connect: connection refused"},
		{"a service account whose token is gone", func(t *testing.T) string {
			t.Helper()
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(t.TempDir(), "token"))
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/hook")
			return ""
		}, "aws_sigv4: no keys: no request was made, because neither the environment nor files contain the necessary settings (*errors.errorString)"},
		{"a service account that STS does not know", func(t *testing.T) string {
			t.Helper()
			s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/xml")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredTokenException</Code><Message>canary</Message></Error></ErrorResponse>`)
			})
			file := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(file, []byte("canary"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file)
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/hook")
			t.Setenv("AWS_ENDPOINT_URL_STS", s.URL)
			return s.URL
		}, "aws_sigv4: no keys: POST WHERE/: answered with status 400 (ExpiredTokenException)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			awsNowhere(t)
			where := c.set(t)
			got, err := authorized(t, newAWS(t))
			want := strings.ReplaceAll(c.want, "WHERE", where)
			if err == nil || got != "" || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("authorized with %q, error\n%v, want\n%s", got, err, want)
			}
		})
	}
}

func TestA4_AnAgentThatHangsHoldsACallNoLongerThanItsTime(t *testing.T) {
	awsNowhere(t)
	release := make(chan struct{})
	agent := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		answers(http.StatusOK, issued("ASIALATE", "secret", "session", time.Now().Add(6*time.Hour)))(w, r)
	})
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.URL+"/")
	a := newAWS(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := a.Authorize(ctx, hookRequest(t, "https://x.test/hook", "{}"), []byte("{}"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	close(release)
	if got, err := authorized(t, a); err != nil || !strings.Contains(got, "Credential=ASIALATE/") {
		t.Errorf("the next call got %q: %v", got, err)
	}
	if n := agent.count(); n != 1 {
		t.Errorf("the agent was asked %d times", n)
	}
}

func TestA5_ARegionOrServiceThatIsNoneIsRefused(t *testing.T) {
	for want, o := range map[string]AWSOptions{
		"aws_sigv4: region: is missing":                      {Service: "lambda"},
		"aws_sigv4: service: is missing":                     {Region: "eu-central-1"},
		`aws_sigv4: region: "EU" is not a valid name`:        {Region: "EU", Service: "lambda"},
		`aws_sigv4: service: "lambda/x" is not a valid name`: {Region: "eu-central-1", Service: "lambda/x"},
	} {
		if _, err := NewAWS(o); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func BenchmarkSigV4(b *testing.B) {
	b.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	b.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	b.Setenv("AWS_CA_BUNDLE", "")
	a, err := NewAWS(AWSOptions{Region: "eu-central-1", Service: "lambda"})
	if err != nil {
		b.Fatal(err)
	}
	body := strings.Repeat("x", 300)
	r := hookRequest(b, "https://x.test/hook", body)
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Authorize(b.Context(), r, []byte(body)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestA2_KeysOfAnInstanceAreFetchedFromItsMetadataService(t *testing.T) {
	awsNowhere(t)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
	service := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "PUT /latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
			_, _ = io.WriteString(w, "session-of-metadata")
		case "GET /latest/meta-data/iam/security-credentials/":
			_, _ = io.WriteString(w, "role")
		case "GET /latest/meta-data/iam/security-credentials/role":
			if r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session-of-metadata" {
				t.Errorf("asked with %v", r.Header)
			}
			_, _ = fmt.Fprintf(w, `{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"ASIAEC2","SecretAccessKey":"secret","Token":"session","Expiration":%q}`,
				time.Now().Add(6*time.Hour).UTC().Format(time.RFC3339))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.URL)
	r := hookRequest(t, "https://x.test/hook", "{}")
	if err := newAWS(t).Authorize(t.Context(), r, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	v := credentialtest.SigV4Verifier{AccessKey: "ASIAEC2", Secret: "secret", SessionToken: "session", Region: "eu-central-1", Service: "lambda", Now: time.Now}
	received, body := asReceived(t, r)
	if err := v.Verify(received, body); err != nil {
		t.Error(err)
	}
}

func TestA1_ACABundleOfAWSIsHeeded(t *testing.T) {
	awsNowhere(t)
	agent := newStub(t, answers(http.StatusOK, issued("ASIAPOD", "secret", "session", time.Now().Add(6*time.Hour))))
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.URL+"/")
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	t.Setenv("AWS_CA_BUNDLE", bundle)
	if got, err := authorized(t, newAWS(t)); err == nil {
		t.Errorf("without the file it authorized with %q", got)
	}
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	if err := os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := authorized(t, newAWS(t)); err != nil || !strings.Contains(got, "Credential=ASIAPOD/") {
		t.Errorf("authorized with %q: %v", got, err)
	}
}

// asReceived returns a request as the server reads it.
func asReceived(t *testing.T, r *http.Request) (*http.Request, []byte) {
	t.Helper()
	var wire bytes.Buffer
	if err := r.Write(&wire); err != nil {
		t.Fatal(err)
	}
	received, err := http.ReadRequest(bufio.NewReader(&wire))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(received.Body)
	if err != nil {
		t.Fatal(err)
	}
	return received, body
}
