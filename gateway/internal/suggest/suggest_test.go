package suggest

import "testing"

func TestAWordThatIsOneSlipAwayIsSuggested(t *testing.T) {
	known := []string{"name", "event", "tools", "when", "timeout_ms", "on_failure", "mode", "guard", "command", "url", "use", "with", "max_in_flight"}
	for word, want := range map[string]string{
		"evnet":     "event", // two neighbours that changed places
		"naem":      "name",
		"toosl":     "tools",
		"MDOE":      "mode",
		"tool":      "tools", // one too few
		"ulr":       "url",
		"whenn":     "when", // one too many
		"timeout":   "timeout_ms",
		"onFailure": "on_failure",
		"matcher":   "",
		"":          "",
		"x":         "",
		"evneting":  "",
		"ne":        "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
