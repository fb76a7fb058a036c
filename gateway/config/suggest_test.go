package config

import "testing"

func TestAWordThatIsOneSlipAwayIsSuggested(t *testing.T) {
	known := append(entryKeys(), ownedKeys()...)
	for word, want := range map[string]string{
		"evnet":     `; did you mean "event"?`, // two neighbours that changed places
		"naem":      `; did you mean "name"?`,
		"toosl":     `; did you mean "tools"?`,
		"MDOE":      `; did you mean "mode"?`,
		"tool":      `; did you mean "tools"?`, // one too few
		"ulr":       `; did you mean "url"?`,
		"whenn":     `; did you mean "when"?`, // one too many
		"timeout":   `; did you mean "timeout_ms"?`,
		"onFailure": `; did you mean "on_failure"?`,
		"matcher":   "",
		"":          "",
		"x":         "",
		"evneting":  "",
		"ne":        "",
	} {
		if got := didYouMean(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
