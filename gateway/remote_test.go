package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hookgate/hookgate/transport/signature"
)

// canary is the secret in every entry here: it must not be visible anywhere.
const canary = "CANARY-s3cret"

// remote starts a gateway with one hook at a URL.
func remote(t *testing.T, url, settings string) (r *running, decisions *syncBuffer) {
	t.Helper()
	dir := files(t, map[string]string{
		"hooks.yaml": fmt.Sprintf("schema: 1\nhooks:\n  - {name: h, url: %q, %s}\n", url, settings), "secret": canary + "\n",
	})
	decisions = &syncBuffer{}
	r = start(t, Options{ConfigFile: dir + "/hooks.yaml", DecisionLog: decisions})
	return r, decisions
}

// wantSilence checks that neither the canary nor another secret occurs anywhere
// that people look.
func wantSilence(t *testing.T, r *running, decisions *syncBuffer, more []string, reasons ...string) {
	t.Helper()
	texts := append(reasons, r.log.String(), decisions.String(), r.do(http.MethodGet, r.admin+"/metrics", "").body)
	for _, path := range []string{"/v1/hooks", "/v1/decisions"} {
		texts = append(texts, r.do(http.MethodGet, r.base+path, "").body)
	}
	for _, text := range texts {
		for _, secret := range append(more, canary) {
			if strings.Contains(text, secret) {
				t.Errorf("the secret %s is in %s", secret, text)
			}
		}
	}
}

func TestAHookIsGivenTheCredentialThatItAsksFor(t *testing.T) {
	for settings, taken := range map[string]func(*http.Request) bool{
		`auth: {bearer: "${file:secret}"}`: func(r *http.Request) bool {
			return r.Header.Get("Authorization") == "Bearer "+canary
		},
		`auth: {basic: {user: gate, password: "${file:secret}"}}`: func(r *http.Request) bool {
			user, password, ok := r.BasicAuth()
			return ok && user == "gate" && password == canary
		},
		`auth: {header: {name: x-functions-key, value: "${file:secret}"}}`: func(r *http.Request) bool {
			return slices.Equal(r.Header.Values("X-Functions-Key"), []string{canary})
		},
	} {
		t.Run(settings, func(t *testing.T) {
			hook := newHookServer(t, func(w http.ResponseWriter, r *http.Request) {
				if !taken(r) {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				_, _ = io.WriteString(w, `{"decision":"allow"}`)
			})
			r, decisions := remote(t, hook.URL, settings)
			decision, reason := r.decide("", preText)
			if decision != "allow" {
				t.Errorf("%s: %s", decision, reason)
			}
			hook.say(fails(http.StatusForbidden))
			decision, reason = r.decide("", preText)
			if want := "hook 'h' could not answer and denies on failure: answered with status 403"; decision != "deny" || reason != want {
				t.Errorf("%s: %s", decision, reason)
			}
			wantSilence(t, r, decisions, nil, reason)
		})
	}
}

func TestACredentialThatIsReplacedIsTakenUpByAReload(t *testing.T) {
	var shown atomic.Value // what the hook is shown; a reason that repeats it is not passed on
	hook := newHookServer(t, func(w http.ResponseWriter, r *http.Request) {
		shown.Store(r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"decision":"allow"}`)
	})
	dir := files(t, map[string]string{
		"hooks.yaml": fmt.Sprintf("schema: 1\nhooks:\n  - {name: h, url: %q, auth: {bearer: \"${file:secret}\"}}\n", hook.URL), "secret": "one",
	})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ReloadInterval: time.Hour})
	for _, secret := range []string{"one", "two"} {
		write(t, dir+"/secret", secret)
		r.reload()
		if decision, reason := r.decide("", preText); decision != "allow" || shown.Load() != "Bearer "+secret {
			t.Errorf("with %s: %s %s; the hook is shown %v", secret, decision, reason, shown.Load())
		}
	}
}

func TestQuestionsAreSignedUnderOneIDAcrossARepeat(t *testing.T) {
	const first, second = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_Q0FOQVJZQ0FOQVJZQ0FOQVJZQ0FOQVJZ"
	for _, secret := range []string{first, second} {
		key, err := signature.ParseKey(secret)
		if err != nil {
			t.Fatal(err)
		}
		verifier, err := signature.NewVerifier(signature.VerifierOptions{Keys: []signature.Key{key}})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var ids []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the caller hung up
			}
			id, err := verifier.Verify(r.Header, body)
			if err != nil || id != r.Header.Get("Idempotency-Key") {
				t.Errorf("id %q of %q: %v", id, r.Header.Get("Idempotency-Key"), err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, id)
			if len(ids) == 2 { // the connection breaks after the first answer
				hangUp(t, w)
				return
			}
			_, _ = io.WriteString(w, `{"decision":"allow"}`)
		}))
		t.Cleanup(server.Close)
		r, decisions := remote(t, server.URL, fmt.Sprintf(`signing: {secret: [%q, %q]}`, first, second))
		for range 2 {
			if decision, reason := r.decide("", preText); decision != "allow" {
				t.Errorf("%s: %s", decision, reason)
			}
		}
		mu.Lock()
		if len(ids) != 3 || ids[0] == ids[1] || ids[1] != ids[2] {
			t.Errorf("ids %q: want two questions, of which the second is repeated", ids)
		}
		mu.Unlock()
		wantSilence(t, r, decisions, nil)
		if strings.Contains(r.log.String(), first[6:]) {
			t.Error("the log has the secret")
		}
	}
}

// hangUp resets the connection of a request.
func hangUp(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		if err := tcp.SetLinger(0); err != nil {
			t.Error(err)
		}
	}
	shut(t, c)
}

func TestATokenIsFetchedOnceAndWithoutOneNothingIsSent(t *testing.T) {
	var down atomic.Bool
	var issued atomic.Int64
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if down.Load() || user != "gate" || password != canary || r.FormValue("scope") != "a b" || r.FormValue("grant_type") != "client_credentials" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, canary)
			return
		}
		issued.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"`+canary+`-token","token_type":"Bearer","expires_in":3600}`)
	}))
	t.Cleanup(issuer.Close)
	hook := newHookServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+canary+"-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"decision":"allow"}`)
	})
	settings := fmt.Sprintf(`auth: {oauth2: {token_url: %q, client_id: gate, client_secret: "${file:secret}", scopes: [a, b]}}, breaker: {consecutive_failures: 1}`,
		issuer.URL+"/token")

	r, decisions := remote(t, hook.URL, settings)
	for range 3 {
		if decision, reason := r.decide("", preText); decision != "allow" {
			t.Errorf("%s: %s", decision, reason)
		}
	}
	if issued.Load() != 1 || hook.asked() != 3 {
		t.Errorf("%d tokens for %d questions", issued.Load(), hook.asked())
	}
	wantSilence(t, r, decisions, nil)

	down.Store(true)
	r, decisions = remote(t, hook.URL, settings)
	decision, reason := r.decide("", preText)
	if want := "hook 'h' could not answer and denies on failure: was not asked: its credential could not be obtained"; decision != "deny" || reason != want {
		t.Errorf("%s: %s", decision, reason)
	}
	if hook.asked() != 3 {
		t.Errorf("the hook was asked without a token: %d times in all", hook.asked())
	}
	r.wantMetric(`hookgate_hook_failures_total{binding="webhook",cause="auth",hook="h"}`, "1")
	r.wantMetric(`hookgate_breaker_state{hook="h",state="open"}`, "1")
	if !strings.Contains(decisions.String(), `"cause":"auth"`) || !strings.Contains(decisions.String(), "oauth2: no token") {
		t.Errorf("the decision log says %s", decisions.String())
	}
	wantSilence(t, r, decisions, nil, reason)
}

func TestG3_AMistakeInACredentialIsOneOfItsEntryAndDoesNotQuoteIt(t *testing.T) {
	for settings, want := range map[string]string{
		`auth: {bearer: "` + canary + ` x"}`:                                                    "auth: bearer: the token contains a blank",
		`auth: {basic: {user: "a:b", password: "` + canary + `"}}`:                              "auth: basic: the user contains a colon",
		`auth: {aws_sigv4: {region: "EU", service: lambda}}`:                                    "auth: aws_sigv4: region:",
		`auth: {azure: {scope: "api://x"}}`:                                                     "auth: azure: scope:",
		`signing: {secret: "` + canary + `"}`:                                                   "signing.secret: [0]: the secret (whsec_…) is not base64",
		`signing: {secret: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_` + canary + `"]}`: "signing.secret: [1]: the secret (whsec_…) is not base64",
	} {
		dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: a, url: \"https://h.example/\", " + settings + "}\n"})
		_, err := New(Options{ConfigFile: dir + "/hooks.yaml"})
		if err == nil || !strings.Contains(err.Error(), "hooks.yaml:3") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: the error is %v", settings, err)
		}
	}
}

func TestAnAnswerThatIsBoundIsTakenOnce(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	key, err := signature.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signature.NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	for settings, bind := range map[string]func(id string, body []byte) ([]byte, error){
		`bind_answers: true`: func(id string, _ []byte) ([]byte, error) {
			return signature.BindAnswer([]byte(`{"decision":"allow"}`), id)
		},
		`bind_answers: signed, signing: {secret: ` + secret + `}`: func(id string, body []byte) ([]byte, error) {
			return signer.BindAnswer([]byte(`{"decision":"allow"}`), id, body)
		},
	} {
		t.Run(settings, func(t *testing.T) {
			var first []byte // the response that a cache would store
			hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return // the caller hung up
				}
				if first == nil {
					if first, err = bind(r.Header.Get("Webhook-Id"), body); err != nil {
						t.Error(err)
					}
				}
				_, _ = w.Write(first)
			}))
			t.Cleanup(hook.Close)
			r, _ := remote(t, hook.URL, settings)
			if decision, reason := r.decide("", preText); decision != "allow" {
				t.Errorf("%s: %s", decision, reason)
			}
			const want = "hook 'h' could not answer and denies on failure: gave an answer that does not prove that it belongs to this call: webhook_id: the answer belongs to another request"
			if decision, reason := r.decide("", preText); decision != "deny" || reason != want {
				t.Errorf("%s: %s", decision, reason)
			}
			r.wantMetric(`hookgate_hook_failures_total{binding="webhook",cause="malformed",hook="h"}`, "1")
		})
	}
}

func TestAWorkersAnswerThatIsBoundIsTakenOnce(t *testing.T) {
	dir := files(t, map[string]string{"hooks.yaml": "schema: 1\nhooks:\n  - {name: h, bind_answers: true, worker: {processes: 1}, " + self(t, "replays") + "}\n"})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml"})
	if decision, reason := r.decide("", preText); decision != "allow" {
		t.Errorf("%s: %s", decision, reason)
	}
	const want = "hook 'h' could not answer and denies on failure: gave an answer that does not prove that it belongs to this call: its field webhook_id is that of another call"
	if decision, reason := r.decide("", preText); decision != "deny" || reason != want {
		t.Errorf("%s: %s", decision, reason)
	}
}

func TestAFunctionIsAskedOverItsInvokeAPI(t *testing.T) {
	hook := newHookServer(t, answers(`{"statusCode":200,"headers":{},"body":"{\"decision\":\"allow\"}","isBase64Encoded":false,"cookies":null}`))
	r, _ := remote(t, hook.URL+"/2015-03-31/functions/function/invocations", "unwrap: lambda_invoke")
	if decision, reason := r.decide("", preText); decision != "allow" {
		t.Errorf("%s: %s", decision, reason)
	}
	hook.say(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		_, _ = io.WriteString(w, `{"errorMessage":"boom"}`)
	})
	const want = "hook 'h' could not answer and denies on failure: answered with a function error"
	if decision, reason := r.decide("", preText); decision != "deny" || reason != want {
		t.Errorf("%s: %s", decision, reason)
	}
	r.wantMetric(`hookgate_hook_failures_total{binding="webhook",cause="status",hook="h"}`, "1")
}
