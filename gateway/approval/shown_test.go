package approval_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/approval"
)

func TestNothingThatIsShownActsOnAScreen(t *testing.T) {
	for value, want := range map[string]string{
		`{"a":1,"b":["x"],"n":9007199254740993,"h":"<b>&"}`: "{\n  \"a\": 1,\n  \"b\": [\n    \"x\"\n  ],\n  \"n\": 9007199254740993,\n  \"h\": \"<b>&\"\n}",
		"\"\u202Eexe\u2066\"":                               `"\u202eexe\u2066"`,
		"\"\u009b2J\x7f \u00ad \U000E0041\"":                `"\u009b2J\u007f \u00ad \udb40\udc41"`,
		`"\u001b[2J\n"`:                                     `"\u001b[2J\n"`,
		"\"\u2028 é 😀 日\"":                                  `"\u2028 é 😀 日"`,
		"\x1b[31mnot JSON\n":                                `\u001b[31mnot JSON\u000a`,
	} {
		if got := approval.Shown([]byte(value)); got != want {
			t.Errorf("%q is shown as %s, want %s", value, got, want)
		}
	}
	if got := approval.ShownText("a\nb\t\x1b[0m\u202E"); got != `a\u000ab\u0009\u001b[0m\u202e` {
		t.Errorf("a text is shown as %s", got)
	}
}

func TestAValueDoesNotGrowWithoutBoundWhereItIsShown(t *testing.T) {
	wide := strings.TrimSuffix(strings.Repeat("1, \t\n", 20_000), ", \t\n")
	value := []byte(`{"a\"[":` + strings.Repeat("[", 4000) + wide + strings.Repeat("]", 4000) + `}`)
	got := approval.Shown(value)
	if len(got) > len(value) {
		t.Errorf("%d bytes are shown as %d", len(value), len(got))
	}
	var want bytes.Buffer
	if err := json.Compact(&want, value); err != nil {
		t.Fatal(err)
	}
	if got != want.String() {
		t.Errorf("it is shown as another value: %.60s", got)
	}
	if got := approval.Shown([]byte(`{"[[\"[":["]"]}`)); got != "{\n  \"[[\\\"[\": [\n    \"]\"\n  ]\n}" {
		t.Errorf("a value of signs in texts is shown as %s", got)
	}
}

func FuzzShown(f *testing.F) {
	for _, seed := range []string{`{"a":"\u202e"}`, "\"\u202E\"", `[1e400]`, `{`, "\x1b", "\"\xff\"", "\"\"\t"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		got := approval.Shown(value)
		for _, r := range got {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("%q is shown with %q", value, r)
			}
		}
		if chain.CheckValue(value) != nil {
			return
		}
		var was, is any
		if err := json.Unmarshal(value, &was); err != nil {
			return // a number beyond the range of float64
		}
		if err := json.Unmarshal([]byte(got), &is); err != nil {
			t.Fatalf("%s is shown as %s, which is no JSON: %v", value, got, err)
		}
		a, errA := json.Marshal(was)
		b, errB := json.Marshal(is)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Fatalf("%s is shown as %s, which means something else", value, got)
		}
	})
}
