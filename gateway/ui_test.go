package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// browser acts like a browser without scripts: it keeps the cookie and submits
// the forms.
type browser struct {
	*running
	cookie string
}

func (b *browser) open(query string) reply {
	b.t.Helper()
	got := b.do(http.MethodGet, b.base+"/ui/approvals"+query, "", header("Cookie", b.cookie))
	if set := got.header.Get("Set-Cookie"); set != "" {
		b.cookie, _, _ = strings.Cut(set, ";")
	}
	return got
}

// fields returns the fields of an approval's form in the page.
func (b *browser) fields(page, id string) url.Values {
	b.t.Helper()
	_, form, ok := strings.Cut(page, `action="/ui/approvals/`+id+`"`)
	if !ok {
		b.t.Fatalf("the page has no form for %s: %s", id, page)
	}
	form, _, _ = strings.Cut(form, "</form>")
	v := url.Values{}
	for _, m := range regexp.MustCompile(`name="(token|digest|message)"[^>]* value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		v.Set(m[1], html.UnescapeString(m[2]))
	}
	if m := regexp.MustCompile(`(?s)<textarea[^>]*>\n(.*)</textarea>`).FindStringSubmatch(form); m != nil {
		v.Set("input", strings.ReplaceAll(html.UnescapeString(m[1]), "\n", "\r\n")) // as browsers send it
	}
	return v
}

func (b *browser) send(id string, form url.Values, edits ...func(*http.Request)) reply {
	b.t.Helper()
	all := append([]func(*http.Request){
		header("Content-Type", "application/x-www-form-urlencoded"), header("Cookie", b.cookie),
		header("Origin", b.base), header("Sec-Fetch-Site", "same-origin"),
	}, edits...)
	return b.do(http.MethodPost, b.base+"/ui/approvals/"+id, form.Encode(), all...)
}

func TestThePageWorksWithoutScripts(t *testing.T) {
	for name, tc := range map[string]struct {
		fill       func(url.Values)
		want, said string
	}{
		"allow": {func(v url.Values) { v.Set("behavior", "allow") }, `{"decision":"allow"}`, "allowed by anonymous at 127.0.0.1"},
		"deny":  {func(v url.Values) { v.Set("behavior", "deny") }, `"denied by hook 'person': a person denied this call"`, "denied by anonymous at 127.0.0.1"},
		"deny with a message": {
			func(v url.Values) { v.Set("behavior", "deny"); v.Set("message", " not <now> ") }, `"denied by hook 'person': not <now>"`, "denied by",
		},
		"allow with another input": {
			func(v url.Values) { v.Set("behavior", "allow"); v.Set("input", "{\r\n  \"command\": \"pwd\"\r\n}") },
			`{"decision":"modify","input":{` + "\n  " + `"command": "pwd"` + "\n" + `}`, "allowed by",
		},
		"deny with another input, which then does not matter": {
			func(v url.Values) { v.Set("behavior", "deny"); v.Set("input", "nonsense") }, "a person denied this call", "denied by",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &browser{running: approvals(t, Options{}, asksPerson)}
			if got := b.open(""); got.status != http.StatusOK || !strings.Contains(got.body, "Nothing waits for a person.") {
				t.Errorf("an empty list: status %d: %s", got.status, got.body)
			}
			decision := b.later(preText)
			id := b.waiting(1)[0].ID
			form := b.fields(b.open("").body, id)
			tc.fill(form)
			got := b.send(id, form)
			if got.status != http.StatusSeeOther || got.header.Get("Location") != "/ui/approvals?settled="+id {
				t.Fatalf("status %d to %q: %s", got.status, got.header.Get("Location"), got.body)
			}
			if got := <-decision; !strings.Contains(got.body, tc.want) {
				t.Errorf("the decision is %s, want %s", got.body, tc.want)
			}
			if page := b.open("?settled=" + id).body; !strings.Contains(page, "The call of shell was "+tc.said) || strings.Contains(page, "data-approval") {
				t.Errorf("afterwards the page is %s", page)
			}
		})
	}
}

func TestThePageShowsNothingThatAnAgentCouldHaveRun(t *testing.T) {
	b := &browser{running: approvals(t, Options{}, asksPerson)}
	evil := `<script>alert(1)</script>"'><img src=x onerror=alert(1)>` + "\u202e"
	envelope := strings.NewReplacer(`/repo`, `</textarea>`+strings.ReplaceAll(evil, `"`, `\"`), `agent-1`, strings.ReplaceAll(evil, `"`, `\"`), `"shell"`, `"`+strings.ReplaceAll(evil, `"`, `\"`)+`"`,
		`"ls"`, `"</textarea></pre>`+strings.ReplaceAll(evil, `"`, `\"`)+`"`).Replace(preText)
	decision := b.later(envelope)
	id := b.waiting(1)[0].ID
	got := b.open("")
	for _, never := range []string{"<script>", "<img", "onerror=alert(1)>\"", "\u202e"} {
		if strings.Contains(got.body, never) {
			t.Errorf("the page has %q: %s", never, got.body)
		}
	}
	if n := strings.Count(got.body, "</textarea>"); n != 1 {
		t.Errorf("the page has %d ends of a text area", n)
	}
	if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %s", policy)
	}
	form := b.fields(got.body, id)
	form.Set("behavior", "allow")
	b.send(id, form)
	if got := <-decision; got.body != `{"decision":"allow"}` {
		t.Errorf("shown and sent back the input is another: %s", got.body)
	}
}

func TestG7_AFormThatIsNotOfThisPageIsRefused(t *testing.T) {
	b := &browser{running: approvals(t, Options{}, asksPerson)}
	decision := b.later(preText)
	id := b.waiting(1)[0].ID
	form := b.fields(b.open("").body, id)
	form.Set("behavior", "allow")
	without := url.Values{"behavior": {"allow"}}
	for name, tc := range map[string]struct {
		form   url.Values
		edit   func(*http.Request)
		status int
	}{
		"another site":        {form, header("Sec-Fetch-Site", "cross-site"), 403},
		"another of the site": {form, header("Sec-Fetch-Site", "same-site"), 403},
		"another origin":      {form, header("Origin", "http://evil.example"), 403},
		"no origin at all":    {form, header("Origin", "null"), 403},
		"no token":            {without, header("X", "x"), 403},
		"no cookie":           {form, header("Cookie", ""), 403},
		"another cookie":      {form, header("Cookie", formCookie+"=ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 403},
		"an empty cookie":     {url.Values{"behavior": {"allow"}, "token": {""}}, header("Cookie", formCookie+"="), 403},
		"not a form":          {form, header("Content-Type", "text/plain"), 415},
	} {
		if got := b.send(id, tc.form, tc.edit); got.status != tc.status {
			t.Errorf("%s: status %d: %s", name, got.status, got.body)
		}
	}
	b.waiting(1)
	b.answer(id, `{"behavior":"deny"}`)
	<-decision
}

func TestWhatAPersonWroteStaysWhereItCannotBeTaken(t *testing.T) {
	b := &browser{running: approvals(t, Options{}, asksPerson)}
	decision := b.later(preText)
	id := b.waiting(1)[0].ID
	form := b.fields(b.open("").body, id)
	form.Set("behavior", "allow")
	form.Set("input", `{"command": <oops>`)
	form.Set("message", `say "why"`)
	got := b.send(id, form)
	again := b.fields(got.body, id)
	if got.status != http.StatusBadRequest || again.Get("input") != `{"command": <oops>` || again.Get("message") != `say "why"` || !strings.Contains(got.body, "Your answer was not recorded: updated_input cannot be used") {
		t.Errorf("status %d, %v: %s", got.status, again, got.body)
	}
	form.Del("behavior")
	if got := b.send(id, form); got.status != http.StatusBadRequest || !strings.Contains(got.body, "it says neither allow nor deny") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	b.answer(id, `{"behavior":"deny"}`)
	<-decision
	form.Set("behavior", "allow")
	form.Del("input")
	if got := b.send(id, form); got.status != http.StatusConflict || !strings.Contains(got.body, "it was already denied by anonymous at 127.0.0.1 at ") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if got := b.send("nonsense", form); got.status != http.StatusNotFound || !strings.Contains(got.body, "this call no longer exists") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestThePageSaysThatApprovalsCannotBeReached(t *testing.T) {
	b := &browser{running: approvals(t, Options{DatabaseURL: "postgres://u@127.0.0.1:1/x?sslmode=disable"}, asksPerson)}
	if got := b.open(""); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "every call that needs an approval is denied") || !strings.Contains(got.body, "The pending calls cannot be shown.") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestAResultIsShownWithoutAnInputToChange(t *testing.T) {
	b := &browser{running: approvals(t, Options{}, strings.Replace(asksPerson, "use: approval", "use: approval, event: post_tool_use", 1))}
	decision := b.later(postText)
	id := b.waiting(1)[0].ID
	page := b.open("").body
	if !strings.Contains(page, "&#34;TOKEN&#34;") || !strings.Contains(page, "The tool has run") || strings.Contains(page, "<textarea") {
		t.Errorf("the page is %s", page)
	}
	form := b.fields(page, id)
	form.Set("behavior", "deny")
	b.send(id, form)
	<-decision
}

// callersText returns a callers file with an approver of the operator's chain,
// one of a tenant's, and a caller that may only decide.
func callersText(tokens ...string) string {
	text := "schema: 1\ncallers:\n"
	for i, who := range []string{"boss", "tenant", "agent"} {
		sum := sha256.Sum256([]byte(tokens[i]))
		text += "  - name: " + who + "\n    tokens: [{sha256: \"" + hex.EncodeToString(sum[:]) + "\"}]\n    chains: [" +
			[]string{"operator", "other", "operator"}[i] + "]\n    scopes: [" + []string{"approve", "approve", "decide"}[i] + "]\n"
	}
	return text
}

func TestG11_WhoMayApproveIsToldApartAndNamed(t *testing.T) {
	tokens := []string{"hookgate_" + strings.Repeat("a", 40), "hookgate_" + strings.Repeat("b", 40), "hookgate_" + strings.Repeat("c", 40)}
	dir := files(t, map[string]string{"callers.yaml": callersText(tokens...), "chains/other.yaml": "schema: 1\nhooks: []\n"})
	r := approvals(t, Options{CallersFile: dir + "/callers.yaml", ChainsDir: dir + "/chains"}, asksPerson)
	as := func(n int) func(*http.Request) { return header("Authorization", "Bearer "+tokens[n]) }
	basic := func(n int) func(*http.Request) {
		return header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("anybody:"+tokens[n])))
	}
	decision := r.later(preText, as(2))
	var id string
	eventually(t, "the boss sees it", func() bool {
		got := r.do(http.MethodGet, r.base+"/v1/approvals", "", as(0))
		m := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(got.body)
		if m != nil {
			id = m[1]
		}
		return m != nil
	})
	for name, tc := range map[string]struct {
		path   string
		as     func(*http.Request)
		status int
		shows  bool
	}{
		"the list, by the boss":           {"/v1/approvals", as(0), 200, true},
		"the list, by another's approver": {"/v1/approvals", as(1), 200, false},
		"the list, by an agent":           {"/v1/approvals", as(2), 403, false},
		"the list, by nobody":             {"/v1/approvals", header("X", "x"), 401, false},
		"the page, by the boss":           {"/ui/approvals", basic(0), 200, true},
		"the page, by another's approver": {"/ui/approvals", basic(1), 200, false},
		"the page, by an agent":           {"/ui/approvals", basic(2), 403, false},
		"the page, by nobody":             {"/ui/approvals", header("X", "x"), 401, false},
	} {
		got := r.do(http.MethodGet, r.base+tc.path, "", tc.as)
		if got.status != tc.status || strings.Contains(got.body, id) != tc.shows {
			t.Errorf("%s: status %d: %s", name, got.status, got.body)
		}
		if asks := strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Basic "); asks != (tc.path == "/ui/approvals" && tc.status == 401) {
			t.Errorf("%s: it asks for %q", name, got.header.Get("WWW-Authenticate"))
		}
	}
	if got := r.answer(id, `{"behavior":"allow"}`, as(1)); got.status != http.StatusNotFound {
		t.Errorf("an answer by another's approver: status %d: %s", got.status, got.body)
	}
	if got := r.answer(id, `{"behavior":"allow"}`, as(2)); got.status != http.StatusForbidden {
		t.Errorf("an answer by an agent: status %d: %s", got.status, got.body)
	}
	if got := r.answer(id, `{"behavior":"allow"}`, as(0)); got.status != http.StatusOK || !strings.Contains(got.body, `"settled_by":"boss"`) {
		t.Errorf("an answer by the boss: status %d: %s", got.status, got.body)
	}
	if got := <-decision; got.body != `{"decision":"allow"}` {
		t.Errorf("the decision is %s", got.body)
	}
}
