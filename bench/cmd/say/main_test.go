package main

import (
	"strings"
	"testing"
)

func TestItAnswersOnceOrOnceALine(t *testing.T) {
	const envelope, allow = `{"tool_name":"shell"}` + "\n", `{"decision":"allow"}` + "\n"
	for name, c := range map[string]struct {
		in    string
		lines bool
		want  string
		fails bool
	}{
		"an envelope":       {envelope, false, allow, false},
		"no envelope":       {"", false, "", true},
		"three lines":       {envelope + envelope + envelope, true, allow + allow + allow, false},
		"no line":           {"", true, "", false},
		"a line cut short":  {envelope + `{"tool_name":"sh`, true, allow, true},
		"a line that is no": {"what?\n", true, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := run(strings.NewReader(c.in), &out, c.lines)
			if (err != nil) != c.fails || out.String() != c.want {
				t.Errorf("said %q, %v", out.String(), err)
			}
		})
	}
}
