package gateway

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/approval"
)

//go:embed ui
var uiFiles embed.FS

// The routes of the approvals page.
const (
	routePage       = "/ui/approvals"
	routePageAnswer = "/ui/approvals/{id}"
	routePageEvents = "/ui/approvals/events"
	routePageStyle  = "/ui/approvals.css"
	routePageScript = "/ui/approvals.js"
)

// formCookie holds the token that a form must repeat, so that only forms of
// this page are accepted (CSRF protection).
const formCookie = "hookgate_form"

// maxForm is the longest form that is read, in bytes. Escaping makes an input
// longer.
const maxForm = 4 * approval.MaxCall

// lately is the number of settled approvals that the page shows.
const lately = 10

// pages serves the page on which people answer approvals.
type pages struct {
	gateway *Gateway
	origins *http.CrossOriginProtection
}

func newPages(g *Gateway) *pages {
	return &pages{gateway: g, origins: http.NewCrossOriginProtection()}
}

// register adds the routes of the page. The style and the script are public:
// they say nothing about this gateway.
func (p *pages) register(root chi.Router) {
	root.Get(routePageStyle, p.file("ui/approvals.css", "text/css; charset=utf-8"))
	root.Get(routePageScript, p.file("ui/approvals.js", "text/javascript; charset=utf-8"))
	r := root.With(asBearer, p.gateway.permitted, framed)
	r.Get(routePage, p.show)
	r.Get(routePageEvents, p.events)
	r.Post(routePageAnswer, p.answer)
}

// framed sets the headers that forbid scripts other than the gateway's own
// files, framing by other pages, and forms that submit elsewhere.
func framed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "+
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // with none a form has no origin
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// asBearer accepts a bearer token as the password of Basic authentication,
// because a browser can ask its user only for a password.
func asBearer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); ok {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+password)
		}
		next.ServeHTTP(asksPassword{w}, r)
	})
}

// asksPassword makes the browser ask for a password on a 401.
type asksPassword struct{ http.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w asksPassword) WriteHeader(status int) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="hookgate: the token is the password", charset="UTF-8"`)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets an [http.ResponseController] reach the connection.
func (w asksPassword) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (p *pages) file(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text, err := uiFiles.ReadFile(name)
		if err != nil {
			panic(err) // the file is embedded in the program
		}
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		_, _ = w.Write(text) // a reader that is gone cannot be told
	}
}

// events serves the event stream that tells the script when to refresh.
func (p *pages) events(w http.ResponseWriter, r *http.Request) {
	p.gateway.followApprovals(w, r, approval.Filter{Limit: maxListedApprovals})
}

// draft is what a person entered in a form that was not accepted.
type draft struct{ id, input, message string }

// show serves GET /ui/approvals.
func (p *pages) show(w http.ResponseWriter, r *http.Request) {
	var view page
	if id := r.URL.Query().Get("settled"); id != "" {
		a, err := p.gateway.desk.Get(r.Context(), id)
		if err == nil && a.State != approval.Pending && p.gateway.sees(r, a.Chain) {
			view.said = "The call of " + approval.ShownText(a.Tool) + " was " + standing(&a) + "."
		}
	}
	p.render(w, r, http.StatusOK, view, draft{})
}

// standing describes how an approval was settled.
func standing(a *approval.Approval) string {
	said := a.State.String()
	if a.By != "" {
		said += " by " + approval.ShownText(a.By)
	}
	return said
}

// render writes the page with the approvals that are pending now.
func (p *pages) render(w http.ResponseWriter, r *http.Request, status int, view page, unsent draft) {
	g := p.gateway
	view.now = time.Now().UTC().Format(time.RFC3339Nano)
	view.token = p.token(w, r)
	pending, err := g.seenApprovals(r, approval.Filter{State: approval.Pending, Limit: listedApprovals})
	var settled []approval.Approval
	if err == nil {
		settled, err = g.seenApprovals(r, approval.Filter{Limit: listedApprovals})
	}
	if err != nil {
		view.said, view.bad, view.unreachable, status = "The approvals store is unavailable: every call that needs an approval is denied.", true, true, http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "5")
	}
	for i := range pending {
		if pending[i].Deserted {
			continue // nobody waits for it, so it cannot be answered
		}
		c, err := newCard(&pending[i], unsent)
		if err != nil {
			panic(err) // a stored call was parsed before it was stored
		}
		view.cards = append(view.cards, c)
	}
	for i := range settled {
		a := &settled[i]
		if a.State != approval.Pending && len(view.lately) < lately {
			view.lately = append(view.lately, settledLine{
				a.State.String(), approval.ShownText(a.Tool), approval.ShownText(a.By), a.SettledAt.Format(time.RFC3339), approval.ShownText(a.Message),
			})
		}
	}
	var text bytes.Buffer
	if err := view.html().Render(&text); err != nil {
		panic(err) // the panic handler logs and answers it
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // a reader that is gone cannot be told
}

func newCard(a *approval.Approval, unsent draft) (card, error) {
	call, err := a.Call()
	if err != nil {
		return card{}, fmt.Errorf("approval %s: %w", a.ID, err)
	}
	c := card{
		id: a.ID, digest: a.Digest, tool: approval.ShownText(call.ToolName()), agent: approval.ShownText(call.AgentID()),
		workspace: approval.ShownText(call.Workspace()), askedBy: approval.ShownText(a.Asker), chain: approval.ShownText(a.Chain),
		expires: a.ExpiresAt.Format(time.RFC3339Nano), left: max(time.Until(a.ExpiresAt), 0).Round(time.Second).String(),
		input: approval.Shown(call.Input()), result: call.Event() == chain.PostToolUse, isError: call.IsError(),
	}
	if c.result {
		c.output = approval.Shown(call.Output())
	}
	c.edit = c.input
	if unsent.id == a.ID {
		c.edit, c.message, c.edited = unsent.input, unsent.message, unsent.input != c.input
	}
	c.rows = min(max(strings.Count(c.edit, "\n")+2, 4), 24)
	return c, nil
}

// token returns the token that a form must repeat, setting the cookie if the
// browser has none.
func (p *pages) token(w http.ResponseWriter, r *http.Request) string {
	if c, err := r.Cookie(formCookie); err == nil && len(c.Value) == 26 {
		return c.Value
	}
	token := rand.Text()
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // G124: Secure where the listener speaks TLS; over plain HTTP it would be lost
		Name: formCookie, Value: token, Path: "/ui/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
	return token
}

// answer serves POST /ui/approvals/{id}: a submitted form.
func (p *pages) answer(w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	form, refusal := p.form(w, r)
	if refusal != nil {
		refusal.write(w)
		return
	}
	unsent := draft{id, withoutReturns(form.Get("input")), form.Get("message")}
	now, err := p.settle(r, unsent, form)
	if err == nil {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		http.Redirect(w, r, routePage+"?settled="+url.QueryEscape(now.ID), http.StatusSeeOther)
		return
	}
	refused := refusedAnswer(err)
	view := page{bad: true, said: "Your answer was not recorded: " + approval.ShownText(err.Error()) + "."}
	settled, isSettled := errors.AsType[*approval.SettledError](err)
	switch {
	case errors.Is(err, approval.ErrUnknown):
		view.said = "Your answer was not recorded: this call no longer exists."
	case isSettled:
		view.said = "Your answer was not recorded: the call of " + approval.ShownText(settled.Approval.Tool) + " no longer needs an answer: " + approval.ShownText(settled.Error()) + "."
	}
	p.render(w, r, refused.status, view, unsent)
}

// settle settles the approval as the form says.
func (p *pages) settle(r *http.Request, said draft, form url.Values) (approval.Approval, error) {
	answer := approval.Answer{Message: strings.TrimSpace(said.message), Digest: form.Get("digest")}
	switch form.Get("behavior") {
	case "allow":
		answer.Allow = true
	case "deny":
	default:
		return approval.Approval{}, approval.Unusable("it says neither allow nor deny")
	}
	if answer.Allow && form.Has("input") {
		a, err := p.gateway.desk.Get(r.Context(), said.id)
		if err != nil {
			return a, err
		}
		call, err := a.Call()
		if err != nil {
			return a, err
		}
		if said.input != approval.Shown(call.Input()) { // the form was filled in with this text, so a difference is an edit
			answer.UpdatedInput = []byte(said.input)
		}
	}
	return p.gateway.settleApproval(r, said.id, answer)
}

// withoutReturns removes the carriage returns that browsers add to line ends.
func withoutReturns(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// form parses a submitted form and refuses one that was not made for this
// browser.
func (p *pages) form(w http.ResponseWriter, r *http.Request) (url.Values, *problem) {
	if err := p.origins.Check(r); err != nil {
		return nil, &problem{status: http.StatusForbidden, title: "Cross-origin request", detail: "the form was sent from another site", closeConnection: true}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/x-www-form-urlencoded") {
		return nil, &problem{
			status: http.StatusUnsupportedMediaType, title: "Not a form", closeConnection: true,
			detail: fmt.Sprintf("the Content-Type is %.100q: programs answer at %s", kind, routeApproval),
		}
	}
	if err := r.ParseForm(); err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return nil, &problem{status: http.StatusRequestEntityTooLarge, title: "Form too large", closeConnection: true, detail: fmt.Sprintf("the form is longer than %d bytes", maxForm)}
		}
		if isTimeout(err) {
			return nil, &problem{status: http.StatusRequestTimeout, title: "Request too slow", closeConnection: true, detail: "the form did not arrive in time"}
		}
		p.gateway.log.LogAttrs(r.Context(), slog.LevelDebug, "a form is not valid", slog.Any("error", err))
		return nil, &problem{status: http.StatusBadRequest, title: "Not a form", closeConnection: true, detail: "the form is not valid"}
	}
	c, err := r.Cookie(formCookie)
	if err != nil || c.Value == "" || subtle.ConstantTimeCompare([]byte(c.Value), []byte(r.PostForm.Get("token"))) != 1 {
		return nil, &problem{status: http.StatusForbidden, title: "Unknown form", detail: "the form has expired, comes from another page, or cookies are disabled: open " + routePage + " again"}
	}
	return r.PostForm, nil
}
