package gateway

import (
	"net/http"
	"testing"
)

func TestHeadIsAnsweredAsGetWithoutTheBody(t *testing.T) {
	r := start(t, Options{StateDir: t.TempDir()})
	events := header("Accept", "text/event-stream")
	for name, tc := range map[string]struct {
		url    string
		edit   func(*http.Request)
		status int
		kind   string
	}{
		"the description":        {r.base + "/openapi.yaml", nil, 200, "application/yaml"},
		"the hooks":              {r.base + "/v1/hooks", nil, 200, "application/json"},
		"the decisions":          {r.base + "/v1/decisions?limit=1", nil, 200, "application/json"},
		"a bad filter":           {r.base + "/v1/decisions?limit=none", nil, 400, "application/problem+json"},
		"decisions as they come": {r.base + "/v1/decisions", events, 200, "text/event-stream"},
		"the approvals":          {r.base + "/v1/approvals", nil, 200, "application/json"},
		"approvals as they come": {r.base + "/v1/approvals", events, 200, "text/event-stream"},
		"the page":               {r.base + "/ui/approvals", nil, 200, "text/html; charset=utf-8"},
		"the page's style":       {r.base + "/ui/approvals.css", nil, 200, "text/css; charset=utf-8"},
		"the page's events":      {r.base + "/ui/approvals/events", nil, 200, "text/event-stream"},
		"where nothing is":       {r.base + "/nowhere", nil, 404, "application/problem+json"},
		"another site's page":    {r.base + "/v1/hooks", header("Origin", "http://evil.example"), 403, "application/problem+json"},
		"metrics":                {r.admin + "/metrics", nil, 200, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"},
		"health":                 {r.admin + "/healthz", nil, 200, "application/json"},
		"readiness":              {r.admin + "/readyz", nil, 200, "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			var edits []func(*http.Request)
			if tc.edit != nil {
				edits = append(edits, tc.edit)
			}
			got := r.do(http.MethodHead, tc.url, "", edits...)
			if got.status != tc.status || got.header.Get("Content-Type") != tc.kind || got.body != "" {
				t.Errorf("it is answered %+v, want %d of type %s", got, tc.status, tc.kind)
			}
			if tc.kind == "text/event-stream" {
				return // the response with a body is a stream that does not end
			}
			whole := r.do(http.MethodGet, tc.url, "", edits...)
			if whole.status != got.status || whole.header.Get("Content-Type") != tc.kind || whole.body == "" {
				t.Errorf("GET is answered %+v", whole)
			}
		})
	}
	for _, path := range []string{"/v1/decide", "/v1/turns", "/v1/clients/codex"} {
		if got := r.do(http.MethodHead, r.base+path, ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "POST" {
			t.Errorf("HEAD %s is answered %+v, want 405 and Allow: POST", path, got)
		}
	}
	for path, want := range map[string]string{"/v1/hooks": "GET, HEAD", "/v1/approvals": "GET, HEAD"} {
		if got := r.do(http.MethodDelete, r.base+path, ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != want {
			t.Errorf("DELETE %s is answered %+v, want 405 and Allow: %s", path, got, want)
		}
	}
	r.wantMetric(`hookgate_http_requests_total{code="200",route="/v1/hooks"}`, "2")
	r.wantMetric(`hookgate_http_requests_total{code="405",route="/v1/decide"}`, "1")
}
