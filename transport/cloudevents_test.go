package transport

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func TestAQuestionIsAnEventWhereThatIsAskedFor(t *testing.T) {
	for name, o := range senders() {
		t.Run(name, func(t *testing.T) {
			h := listen(t, nil, allowsAll)
			o.URL, o.EventSource = h.url, "/hookgate/chains/team%20a"
			w := webhookTo(t, o)
			began := time.Now()
			same(t, allowing(), ask(t, w))
			same(t, allowing(), within(t.Context(), t, w, chain.PostToolUse, plenty))
			for i, event := range []string{"pre_tool_use", "post_tool_use"} {
				sent := h.heard()[i].header
				moment, err := time.Parse(time.RFC3339, sent.Get("Ce-Time"))
				if err != nil || moment.Before(began.Add(-time.Second)) || moment.After(time.Now()) {
					t.Errorf("the time is %q: %v", sent.Get("Ce-Time"), err)
				}
				got := map[string]string{}
				for name := range sent {
					if strings.HasPrefix(name, "Ce-") {
						got[name] = sent.Get(name)
					}
				}
				want := map[string]string{
					"Ce-Specversion": "1.0", "Ce-Id": sent.Get("Idempotency-Key"), "Ce-Source": "/hookgate/chains/team%2520a",
					"Ce-Type": "io.github.hookgate." + event, "Ce-Subject": "shell", "Ce-Time": sent.Get("Ce-Time"),
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("event (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestANameThatNoAttributeCanHaveIsLeftOut(t *testing.T) {
	for tool, want := range map[string]string{
		"shell": "shell", "mcp__git__push": "mcp__git__push", `a "b" 100%`: "a%20%22b%22%20100%25", "größe": "gr%C3%B6%C3%9Fe", "🛠": "%F0%9F%9B%A0",
		"": "", "a\nb": "", "a\x7fb": "", "a\u0085b": "", "a\uffffb": "", "a\ufdd0b": "", "a\xffb": "",
		strings.Repeat("x", maxSubject): strings.Repeat("x", maxSubject), strings.Repeat("x", maxSubject+1): "",
	} {
		got := ""
		if isAttribute(tool) {
			got = attribute(tool)
		}
		if got != want {
			t.Errorf("%q is sent as %q, want %q", tool, got, want)
		}
	}
}

func TestASourceThatIsNoneIsRefused(t *testing.T) {
	for _, source := range []string{"a b", "a\r\nX: y", "%zz", "größe", `"`} {
		if _, err := NewWebhook(WebhookOptions{URL: "https://h.example", EventSource: source}); err == nil || !strings.Contains(err.Error(), "event source: ") {
			t.Errorf("%q: %v", source, err)
		}
	}
}
