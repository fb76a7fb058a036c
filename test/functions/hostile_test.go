package functions

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostile is a misbehaving function on its platform.
type hostile struct {
	runtime *process
	// url returns the URL of an act.
	url func(act string) string
	// acts maps each act to the cause with which it must deny; none means an
	// allow.
	acts map[string]string
	// more holds further keys for the gateway's entries.
	more string
	env  []string
}

// failing returns functions that start each misbehaving function.
func failing(t *testing.T) map[string]func(t *testing.T) hostile {
	t.Helper()
	return map[string]func(t *testing.T) hostile{
		"functions framework": onFramework, "deno": onDeno, "workerd": onWorkerd, "lambda, invoked": onLambda,
		"lambda, invoked and unwrapped": onLambdaUnwrapped,
		"lambda, over its URL":          onFunctionURL,
	}
}

func onFramework(t *testing.T) hostile {
	t.Helper()
	dir := staged(t, map[string]string{
		"index.mjs": "testdata/hostile/framework.mjs", "package.json": examples + "cloud-functions-node/package.json",
	})
	p := framework(t, dir)
	return hostile{runtime: p, url: pathsOf(p), acts: map[string]string{
		"as-html":            "none",
		"throws":             "status",
		"rejects":            "status",
		"exits":              "status", // the framework still says 500
		"hangs":              "timeout",
		"error-that-allows":  "status",
		"throttles":          "status",
		"says-nothing":       "status",
		"empty":              "empty",
		"redirects":          "redirect",
		"redirects-to-a-get": "redirect",
		"a-page":             "malformed",
		"allows-twice":       "malformed",
		"two-decisions":      "malformed",
		"shouts":             "wrong_decision",
		"another-dialect":    "malformed",
		"gzips":              "malformed",
		"too-much":           "oversize",
		"breaks-off":         "reset",
		"drips":              "timeout",
	}}
}

func onDeno(t *testing.T) hostile {
	t.Helper()
	dir := staged(t, map[string]string{"main.mjs": "testdata/hostile/deno.mjs", "fetch.mjs": "testdata/hostile/fetch.mjs"})
	p := deno(t, filepath.Join(dir, "main.mjs"))
	return hostile{runtime: p, url: pathsOf(p), acts: map[string]string{
		"as-text":           "none",
		"throws":            "status",
		"rejects":           "status",
		"exits":             "reset",
		"hangs":             "timeout",
		"returns-nothing":   "status",
		"error-that-allows": "status",
		"redirects":         "redirect",
		"says-nothing":      "status",
		"empty":             "empty",
		"breaks-off":        "reset",
		"breaks-off-after-a-whole-answer-and-more": "reset",
		"gzips":    "malformed",
		"too-much": "oversize",
	}}
}

func onWorkerd(t *testing.T) hostile {
	t.Helper()
	dir := staged(t, map[string]string{"worker.mjs": "testdata/hostile/worker.mjs", "hook.mjs": "testdata/hostile/fetch.mjs"})
	p := workerd(t, dir, "none")
	return hostile{runtime: p, url: pathsOf(p), acts: map[string]string{
		"as-text":           "none",
		"throws":            "status",
		"rejects":           "status",
		"hangs":             "status", // workerd says 500 to what can never come
		"returns-nothing":   "status",
		"error-that-allows": "status",
		"redirects":         "redirect",
		"says-nothing":      "status",
		"empty":             "empty",
		// workerd ends an aborted stream as if it were complete, so only the
		// content can reveal it.
		"breaks-off": "malformed",
		"breaks-off-after-a-whole-answer-and-more": "malformed",
		"gzips":    "malformed",
		"too-much": "oversize",
	}}
}

// onLambda uses the Invoke API, whose status is 200 whatever happens in the
// function.
func onLambda(t *testing.T) hostile {
	t.Helper()
	dir := staged(t, map[string]string{"index.mjs": "testdata/hostile/lambda.mjs"})
	p := lambda(t, dir, nodeBootstrap(t), "AWS_LAMBDA_FUNCTION_TIMEOUT=8")
	return hostile{runtime: p, url: func(string) string { return "http://" + p.address + invocations }, acts: map[string]string{
		"returns-a-decision": "none",
		"returns-a-response": "malformed", // it is not unwrapped unless the entry says so
		"returns-nothing":    "malformed",
		"returns-a-text":     "malformed",
		"throws":             "malformed", // {"errorMessage":…}
		"overruns":           "malformed", // Task timed out after 8.00 seconds
		"exits":              "status",    // 502 and {"errorType":"Runtime.ExitError",…}
	}}
}

// onLambdaUnwrapped is onLambda with unwrap in the entry.
func onLambdaUnwrapped(t *testing.T) hostile {
	t.Helper()
	h := onLambda(t)
	h.more = "    unwrap: lambda_invoke\n"
	h.acts = map[string]string{
		"returns-a-response":           "none",
		"returns-a-response-in-base64": "none",
		"returns-an-error":             "status",
		"returns-a-decision":           "malformed", // it is not wrapped
		"returns-nothing":              "malformed",
		"throws":                       "malformed",
		"overruns":                     "malformed",
		"exits":                        "status",
	}
	return h
}

func onFunctionURL(t *testing.T) hostile {
	t.Helper()
	dir := staged(t, map[string]string{"index.mjs": "testdata/hostile/lambda.mjs"})
	p := lambda(t, dir, nodeBootstrap(t), "AWS_LAMBDA_FUNCTION_TIMEOUT=8")
	front := functionURL(t, p.address)
	return hostile{
		runtime: p,
		url:     func(act string) string { return front + "/" + act },
		more:    "    auth: {aws_sigv4: {region: eu-central-1, service: lambda}}\n",
		env:     []string{"AWS_ACCESS_KEY_ID=AKIDTEST", "AWS_SECRET_ACCESS_KEY=of-nobody"},
		acts: map[string]string{
			"returns-a-decision":           "none",
			"returns-a-response":           "none",
			"returns-a-response-in-base64": "none",
			"returns-an-error":             "status",
			"returns-nothing":              "malformed",
			"returns-a-text":               "status",
			"throws":                       "status",
			"overruns":                     "status",
			"exits":                        "status",
		},
	}
}

func pathsOf(p *process) func(string) string {
	return func(act string) string { return "http://" + p.address + "/" + act }
}

func TestF3_AFunctionThatDoesNotBehaveDenies(t *testing.T) {
	for name, began := range failing(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := began(t)
			var hooks strings.Builder
			hooks.WriteString("schema: 1\nbudget_ms: 60000\nhooks:\n")
			for act, cause := range h.acts {
				timeout := patience
				if cause == "timeout" {
					timeout = 500 * time.Millisecond
				}
				fmt.Fprintf(&hooks, "  - name: %s\n    url: %s\n    tools: [%s]\n    timeout_ms: %d\n%s",
					act, h.url(act), act, timeout.Milliseconds(), h.more)
			}
			g := gatewayWith(t, hooks.String(), h.env...)
			for act, cause := range h.acts {
				got := g.ask(t, question("call-1", act, `{}`, ""))
				denial := fmt.Sprintf("hook '%s' could not answer and denies on failure: ", act)
				switch {
				case cause == "none" && got.Decision != "allow":
					t.Errorf("%s: %+v, want an allow", act, got)
				case cause != "none" && (got.Decision != "deny" || !strings.HasPrefix(got.Reason, denial)):
					t.Errorf("%s: %+v, want a deny that begins with %q", act, got, denial)
				case strings.Contains(got.Reason, "CANARY"):
					t.Errorf("%s: the reason %q has what the function said", act, got.Reason)
				}
				if act == "exits" {
					h.runtime.kill() // whatever is left of it
					h.runtime.start()
				}
			}
			g.counted(t, h.acts)
		})
	}
}

// Responses of the platforms' frontends, verbatim where they are documented.
func TestF3_WhatAPlatformSaysInsteadOfTheFunctionDenies(t *testing.T) {
	said := map[string]struct {
		status int
		header http.Header
		body   string
		cause  string
	}{
		"function-url-forbidden": {403, http.Header{"X-Amzn-Errortype": {"AccessDeniedException"}}, `{"Message":"Forbidden"}`, "status"},
		"function-url-throttled": {429, nil, `{"Reason":"ConcurrentInvocationLimitExceeded"}`, "status"},
		"function-url-broken":    {502, nil, `Internal Server Error`, "status"},
		"invoke-function-error": {
			200, http.Header{"X-Amz-Function-Error": {"Unhandled"}}, `{"errorMessage":"boom","errorType":"Error","trace":[]}`, "malformed",
		},
		"lambda-timed-out":    {200, nil, `Task timed out after 3.00 seconds`, "malformed"},
		"serverless-offline":  {200, nil, `{"errorMessage":"[504] - Lambda timeout."}`, "malformed"},
		"cloud-run-forbidden": {403, nil, `<html><head><title>403 Forbidden</title></head></html>`, "status"},
		"cloud-run-full":      {429, nil, `Rate exceeded.`, "status"},
		"cloud-run-starting":  {503, http.Header{"Retry-After": {"1"}}, ``, "status"},
		"azure-no-key":        {401, nil, ``, "status"},
		"azure-cold":          {503, nil, `Function host is not running.`, "status"},
		"azure-gateway":       {502, nil, `<html>502 - Web server received an invalid response</html>`, "status"},
		"access-login":        {302, http.Header{"Location": {"https://example.cloudflareaccess.com/cdn-cgi/access/login"}}, ``, "redirect"},
		"workers-exception":   {500, http.Header{"Content-Type": {"text/html"}}, `error code: 1101`, "status"},
		"workers-limit":       {503, nil, `error code: 1102`, "status"},
		"knative-activator":   {504, nil, `activator request timeout`, "status"},
		"accepted":            {202, nil, `{"decision":"allow"}`, "status"},
	}
	url := front(t, func(w http.ResponseWriter, r *http.Request) {
		s := said[r.URL.Path[1:]]
		maps.Copy(w.Header(), s.header)
		w.WriteHeader(s.status)
		_, _ = w.Write([]byte(s.body))
	})
	var hooks strings.Builder
	hooks.WriteString("schema: 1\nhooks:\n")
	for name := range said {
		fmt.Fprintf(&hooks, "  - {name: %s, url: %s/%s, tools: [%s]}\n", name, url, name, name)
	}
	g := gatewayWith(t, hooks.String())
	want := map[string]string{}
	for name, s := range said {
		got := g.ask(t, question("call-1", name, `{}`, ""))
		if got.Decision != "deny" {
			t.Errorf("%s: %+v, want a deny", name, got)
		}
		want[name] = s.cause
	}
	g.counted(t, want)
}
