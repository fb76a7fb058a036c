package transport

import (
	"strings"
	"testing"
)

func TestWithTraceparent_CarriesNothingElse(t *testing.T) {
	const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, c := range map[string]struct {
		given string
		taken bool
	}{
		"a traceparent":                {valid, true},
		"of a later version":           {"0a" + valid[2:], true},
		"nothing":                      {"", false},
		"of the version that is not":   {"ff" + valid[2:], false},
		"with capitals":                {strings.ToUpper(valid), false},
		"with a blank":                 {valid + " ", false},
		"one digit short":              {valid[:54], false},
		"digits in other places":       {"00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01", false},
		"other separators":             {strings.ReplaceAll(valid, "-", "_"), false},
		"without a trace":              {"00-00000000000000000000000000000000-b7ad6b7169203331-01", false},
		"without a parent":             {"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false},
		"another header":               {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b71\r\nX-A: b-01", false},
		"a second request":             {valid + "\r\n\r\nPOST /x HTTP/1.1", false},
		"longer than any server reads": {strings.Repeat("a-", 1<<19), false},
	} {
		t.Run(name, func(t *testing.T) {
			want := ""
			if c.taken {
				want = c.given
			}
			if got := traceparent(WithTraceparent(t.Context(), c.given)); got != want {
				t.Errorf("carried %.80q, want %.80q", got, want)
			}
		})
	}
}
