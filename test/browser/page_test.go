package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hookgate/hookgate/test/process"
)

const (
	hooks = "schema: 1\nhooks:\n  - {name: production, use: approval, timeout_ms: 600000}\n"
	call  = `{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"agent-1","tool_call_id":"call-1","tool_name":"shell","input":{"command":"git push --force","cwd":"/repo"}}`
)

// tab is a tab of a real browser that shows a real gateway's page.
type tab struct {
	t       *testing.T
	gateway *process.Gateway
	ctx     context.Context //nolint:containedctx // chromedp knows a tab by it
	mu      sync.Mutex
	said    []string // console messages and errors
}

// open starts a gateway and a browser and loads the page.
func open(t *testing.T, before ...chromedp.Action) *tab {
	t.Helper()
	g := process.Start(t, process.Build(t), map[string]string{
		"CONFIG": process.File(t, "hooks.yaml", hooks), "STATE_DIR": t.TempDir(),
	})
	b := &tab{t: t, gateway: g}
	browser, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.WindowSize(1000, 900), chromedp.WSURLReadTimeout(time.Minute))...)
	ctx, endTab := chromedp.NewContext(browser)
	ctx, endTime := context.WithTimeout(ctx, 3*time.Minute)
	b.ctx = ctx
	t.Cleanup(func() {
		endTime()
		endTab()
		end()
	})
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded:
			b.said = append(b.said, e.Entry.Text)
		case *runtime.EventExceptionThrown:
			b.said = append(b.said, e.ExceptionDetails.Error())
		}
	})
	b.do(append(append([]chromedp.Action{log.Enable(), runtime.Enable()}, before...), chromedp.Navigate(g.URL+"/ui/approvals"))...)
	return b
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.shoot("failed")
		b.t.Fatal(err)
	}
}

// shoot takes a screenshot of the whole page for people to review, if
// HOOKGATE_SCREENSHOTS names a directory for it.
func (b *tab) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("HOOKGATE_SCREENSHOTS")
	if dir == "" {
		return
	}
	var picture []byte
	err := chromedp.Run(b.ctx, chromedp.FullScreenshot(&picture, 100))
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600)); err != nil {
		b.t.Error(err)
	}
}

// eval evaluates an expression in the page.
func eval[T any](b *tab, expression string) (value T) {
	b.t.Helper()
	b.do(chromedp.Evaluate(expression, &value))
	return value
}

// wait waits until an expression is true in the page.
func (b *tab) wait(expression string) {
	b.t.Helper()
	b.do(chromedp.Poll(expression, nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(time.Minute)))
}

// complaints returns the browser's console messages and errors so far.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.said
}

func (b *tab) wantDecision(answer <-chan process.Answer, want string) {
	b.t.Helper()
	select {
	case got := <-answer:
		if !strings.Contains(got.Body, want) {
			b.t.Errorf("the decision is %+v, want %s", got, want)
		}
	case <-time.After(time.Minute):
		b.shoot("failed")
		b.t.Fatal("no decision came")
	}
}

func card(id string) string { return `[data-approval="` + id + `"] ` }

func TestThePageIsLive(t *testing.T) {
	b := open(t)
	b.wait(`document.getElementById("live").textContent === "live"`)
	b.shoot("empty-light")
	answer := b.gateway.Ask(t.Context(), call)
	id := b.gateway.Waiting(1)[0].ID
	b.wait(`document.querySelectorAll("[data-approval]").length === 1`)
	if text := eval[string](b, `document.querySelector("main").innerText`); !strings.Contains(text, `"command": "git push --force"`) || !strings.Contains(text, "hook 'production' of chain operator") || !strings.Contains(text, "agent-1") {
		t.Errorf("the page reads %s", text)
	}
	if title := eval[string](b, `document.title`); !strings.HasPrefix(title, "(1) ") {
		t.Errorf("the title is %s", title)
	}
	if left := eval[string](b, `document.querySelector("time").textContent`); !strings.Contains(left, " min ") {
		t.Errorf("there is left %s", left)
	}
	b.shoot("one-light")
	b.do(chromedp.SendKeys(card(id)+"input[type=text]", "not <today>"), chromedp.Click(card(id)+"button.deny"))
	b.wantDecision(answer, `"denied by hook 'production': not <today>"`)
	b.wait(`document.querySelectorAll("[data-approval]").length === 0 && !document.getElementById("none").hidden`)
	if said := eval[string](b, `document.getElementById("said").textContent`); said != "The call of shell was denied by anonymous at 127.0.0.1." {
		t.Errorf("it says %s", said)
	}
	b.shoot("denied-light")
	if said := b.complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}

func TestAnInputIsChangedAndWhatIsTypedStays(t *testing.T) {
	b := open(t)
	b.wait(`document.getElementById("live").textContent === "live"`)
	first := b.gateway.Ask(t.Context(), call)
	id := b.gateway.Waiting(1)[0].ID
	b.do(chromedp.Click(card(id)+"summary"), chromedp.SetValue(card(id)+"textarea", `{"command": <oops>`), chromedp.Click(card(id)+"button.allow"))
	b.wait(`document.getElementById("said").classList.contains("bad")`)
	b.shoot("bad-input-light")
	if said := eval[string](b, `document.getElementById("said").textContent`); !strings.HasPrefix(said, "Your answer was not recorded: updated_input cannot be used") {
		t.Errorf("it says %s", said)
	}
	b.do(chromedp.SetValue(card(id)+"textarea", `{"command": "git push", "n": 9007199254740993}`))
	second := b.gateway.Ask(t.Context(), strings.Replace(call, "git push --force", "ls", 1))
	b.gateway.Waiting(2)
	b.wait(`document.querySelectorAll("[data-approval]").length === 2`)
	if text := eval[string](b, `document.querySelector("textarea").value`); !strings.Contains(text, `"git push", "n": 9007199254740993`) {
		t.Errorf("what was typed became %s", text)
	}
	b.do(chromedp.Click(card(id) + "button.allow"))
	b.wantDecision(first, `{"decision":"modify","input":{"command": "git push", "n": 9007199254740993}`)
	b.wait(`document.querySelectorAll("[data-approval]").length === 1`)
	for _, a := range b.gateway.Waiting(1) { // answered over the API
		b.gateway.Reply(a.ID, `{"behavior":"deny"}`)
	}
	b.wantDecision(second, "a person denied this call")
	b.wait(`document.querySelectorAll("[data-approval]").length === 0`)
}

func TestThePageIsUsedWithTheKeyboardAlone(t *testing.T) {
	b := open(t)
	b.wait(`document.getElementById("live").textContent === "live"`)
	for _, tc := range []struct {
		stop, want string // the element that Tab reaches, and the effect of Enter there
	}{{"message", "a person denied this call"}, {"deny", "a person denied this call"}, {"allow", `{"decision":"allow"}`}} {
		answer := b.gateway.Ask(t.Context(), call)
		b.wait(`document.querySelectorAll("[data-approval]").length === 1`)
		b.do(chromedp.Evaluate(`document.getElementById("top").focus()`, nil))
		for n := 0; ; n++ {
			b.do(chromedp.KeyEvent(kb.Tab))
			at := eval[string](b, `document.activeElement.name + " " + document.activeElement.value`)
			if at == "behavior "+tc.stop || at == tc.stop+" " {
				break
			}
			if n > 12 {
				t.Fatalf("Tab never leads to %s", tc.stop)
			}
		}
		if tc.stop == "allow" {
			b.shoot("focus-light")
		}
		b.do(chromedp.KeyEvent(kb.Enter))
		b.wantDecision(answer, tc.want)
		b.wait(`document.querySelectorAll("[data-approval]").length === 0`)
		if at := eval[string](b, `document.activeElement.id`); at != "top" {
			t.Errorf("after %s the focus is on %q", tc.stop, at)
		}
	}
}

func TestThePageWorksInABrowserWithoutScripts(t *testing.T) {
	b := open(t, emulation.SetScriptExecutionDisabled(true))
	for button, want := range map[string]string{"deny": "a person denied this call", "allow": `{"decision":"allow"}`} {
		answer := b.gateway.Ask(t.Context(), call)
		id := b.gateway.Waiting(1)[0].ID
		b.do(chromedp.Navigate(b.gateway.URL+"/ui/approvals"), chromedp.Click(card(id)+"button."+button, chromedp.ByQuery))
		b.wantDecision(answer, want)
		process.Eventually(t, "the page says so", func() bool {
			var said string
			b.do(chromedp.TextContent("#said", &said, chromedp.ByQuery))
			return strings.HasPrefix(said, "The call of shell was ")
		})
	}
	b.shoot("without-scripts-light")
}

func TestNothingThatAnAgentWroteIsRun(t *testing.T) {
	b := open(t)
	b.wait(`document.getElementById("live").textContent === "live"`)
	evil := `</textarea></pre><script>window.owned=1</script><img src=x onerror='window.owned=1'><a href='javascript:window.owned=1'>x</a>` + "\u202e\u2066\x7f"
	answer := b.gateway.Ask(t.Context(), strings.NewReplacer("git push --force", evil, "agent-1", evil, `"/repo","agent_id"`, `"`+evil+`","agent_id"`, `"shell"`, `"`+evil+`"`).Replace(call))
	id := b.gateway.Waiting(1)[0].ID
	for range 2 { // inserted by the script, and after a reload
		b.wait(`document.querySelectorAll("[data-approval]").length === 1`)
		if owned := eval[bool](b, `window.owned !== undefined || document.querySelectorAll("main script, main img, main a").length > 0`); owned {
			t.Error("what the agent wrote is part of the page")
		}
		if text := eval[string](b, `document.querySelector("pre").textContent`); !strings.Contains(text, `<script>window.owned=1</script>`) || !strings.Contains(text, `\u202e\u2066\u007f`) {
			t.Errorf("the input reads %s", text)
		}
		b.do(chromedp.Navigate(b.gateway.URL + "/ui/approvals"))
	}
	b.do(chromedp.Click(card(id) + "button.allow"))
	b.wantDecision(answer, `{"decision":"allow"}`) // shown and sent back it is the same
}

func TestAPageOfAnotherOriginAnswersNothing(t *testing.T) {
	b := open(t)
	answer := b.gateway.Ask(t.Context(), call)
	id := b.gateway.Waiting(1)[0].ID
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<form method="post" action="%s/ui/approvals/%s"><input name="behavior" value="allow"></form><script>document.forms[0].submit()</script>`, b.gateway.URL, id)
	}))
	defer evil.Close()
	b.do(chromedp.Navigate(evil.URL))
	b.wait(`document.body && document.body.innerText.includes("may not use the gateway")`)
	b.gateway.Waiting(1)
	b.gateway.Reply(id, `{"behavior":"deny"}`)
	b.wantDecision(answer, "a person denied this call")
}

func TestThePageInTheDarkWithMuchToRead(t *testing.T) {
	b := open(t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	b.wait(`document.getElementById("live").textContent === "live"`)
	b.shoot("empty-dark")
	long := strings.Replace(call, "git push --force", strings.Repeat("a-word-that-does-not-end-", 60)+strings.Repeat("many words and ", 200), 1)
	long = strings.Replace(long, `"cwd"`, `"list":[`+strings.TrimSuffix(strings.Repeat(`{"path":"/a/b","n":1},`, 60), ",")+`],"cwd"`, 1)
	long = strings.Replace(long, "agent-1", "agent-"+strings.Repeat("x", 300), 1)
	answers := []<-chan process.Answer{b.gateway.Ask(t.Context(), long)}
	b.gateway.Waiting(1)
	answers = append(answers, b.gateway.Ask(t.Context(), call))
	b.gateway.Waiting(2)
	b.wait(`document.querySelectorAll("[data-approval]").length === 2`)
	if wide := eval[bool](b, `document.documentElement.scrollWidth > document.documentElement.clientWidth`); wide {
		t.Error("the page is wider than its window")
	}
	b.shoot("long-dark")
	b.do(chromedp.EmulateViewport(360, 740))
	if wide := eval[bool](b, `document.documentElement.scrollWidth > document.documentElement.clientWidth`); wide {
		t.Error("the page is wider than a telephone")
	}
	b.shoot("narrow-dark")
	for _, a := range b.gateway.Waiting(2) {
		b.gateway.Reply(a.ID, `{"behavior":"deny","message":"enough"}`)
	}
	for _, a := range answers {
		b.wantDecision(a, "enough")
	}
}
