package config

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// conditions compiles a hook's list of conditions at an event.
func conditions(t *testing.T, event chain.Event, list string) func(*chain.Request) bool {
	t.Helper()
	hooks := entries(t, fmt.Sprintf("schema: 1\nhooks:\n  - {name: a, use: shell, event: %s, when: %s}\n", event, list))
	return func(r *chain.Request) bool { return hooks[0].When(r, time.Now().Add(time.Minute)) }
}

// call returns a pre_tool_use request with an input.
func call(t *testing.T, input string) *chain.Request {
	t.Helper()
	return request(t, `{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"a1","tool_call_id":"c1",`+
		`"tool_name":"shell","depth":{"n":[1]},"input":`+input+`}`)
}

// result returns a post_tool_use request with an output.
func result(t *testing.T, output string) *chain.Request {
	t.Helper()
	return request(t, `{"is_error":true,"output":`+output+`,"hook_schema":1,"event":"post_tool_use","workspace":"/repo",`+
		`"agent_id":"a1","tool_call_id":"c1","tool_name":"shell","input":{"command":"ls"}}`)
}

func request(t *testing.T, text string) *chain.Request {
	t.Helper()
	req, err := chain.ParseRequest([]byte(text))
	if err != nil {
		t.Fatalf("ParseRequest(%s): %v", text, err)
	}
	return req
}

func TestWhen_AConditionIsAskedOfTheBytesOfTheRequest(t *testing.T) {
	tests := []struct {
		condition string
		input     string
		asked     bool
	}{
		// A glob must match the whole text.
		{`field: /input/command, glob: "git push*"`, `{"command":"git push --force"}`, true},
		{`field: /input/command, glob: "git push*"`, `{"command":"cd x; git push"}`, false},
		{`field: /input/command, glob: "*git push*"`, `{"command":"cd x\n git push"}`, true},
		{`field: /input/command, glob: "git push"`, `{"command":"git\u0020push"}`, true},
		{`field: /input/command, glob: ""`, `{"command":""}`, true},
		// A regular expression may match anywhere, unless it is anchored.
		{`field: /input/command, matches: "rm +-rf"`, `{"command":"sudo rm  -rf /"}`, true},
		{`field: /input/command, matches: "^rm"`, `{"command":"sudo rm"}`, false},
		{`field: /input/command, matches: "ä"`, `{"command":"\u00e4"}`, true},
		// An absent member equals nothing and matches nothing.
		{`field: /input/command, glob: "*"`, `{"cmd":"ls"}`, false},
		{`field: /input/command, matches: ""`, `{}`, false},
		{`field: /input/command, equals: null`, `{}`, false},
		{`field: /input/list/5, equals: 1`, `{"list":[1]}`, false},
		// Values are equal if their digits are, regardless of escapes and the
		// order of members.
		{`field: /input/n, equals: 9007199254740993`, `{"n":9007199254740993}`, true},
		{`field: /input/n, equals: 9007199254740993`, `{"n":9007199254740992}`, false},
		{`field: /input/n, equals: 1`, `{"n":1.0}`, false},
		{`field: /input/n, equals: 1e400`, `{"n":1e400}`, true},
		{`field: /input/n, equals: -0`, `{"n":0}`, false},
		{`field: /input/n, equals: "1"`, `{"n":1}`, false},
		{`field: /input/n, equals: null`, `{"n":null}`, true},
		{`field: /input/n, equals: true`, `{"n":true}`, true},
		{`field: /input/n, equals: true`, `{"n":false}`, false},
		{`field: /input/n, equals: "a/b"`, `{"n":"\u0061\/b"}`, true},
		{`field: /input/n, equals: {a: 1, b: [x, null]}`, `{"n": { "b":["\u0078", null ],"a":1}}`, true},
		{`field: /input/n, equals: {a: 1}`, `{"n":{"a":1,"b":2}}`, false},
		{`field: /input/n, equals: [1, 2]`, `{"n":[2,1]}`, false},
		{`field: /input, equals: {}`, `{}`, true},
		// A null member exists.
		{`field: /input/n, exists: true`, `{"n":null}`, true},
		{`field: /input/n, exists: true`, `{}`, false},
		{`field: /input/n, exists: false`, `{}`, true},
		{`field: /input/n, exists: false`, `{"n":0}`, false},
		// Pointers index arrays, and escape slashes and tildes.
		{`field: /input/list/1/x, equals: y`, `{"list":[0,{"x":"y"}]}`, true},
		{`field: /input/a~1b~0c, equals: 1`, `{"a/b~c":1}`, true},
		{`field: /input//a, equals: 1`, `{"":{"a":1}}`, true},
		{`field: /input/0, equals: 1`, `{"0":1}`, true},
		// The whole request can be tested, including unknown fields.
		{`field: /workspace, glob: "/re*"`, `{}`, true},
		{`field: /tool_name, equals: shell`, `{}`, true},
		{`field: /tool_name, equals: Shell`, `{}`, false},
		{`field: /depth/n/0, equals: 1`, `{}`, true},
	}
	for _, test := range tests {
		when := conditions(t, chain.PreToolUse, "[{"+test.condition+"}]")
		if got := when(call(t, test.input)); got != test.asked {
			t.Errorf("%s on %s: asked = %v, want %v", test.condition, test.input, got, test.asked)
		}
	}
}

func TestF7_AConditionThatCannotBeEvaluatedHolds(t *testing.T) {
	for input, fields := range map[string][]string{
		`"{\"command\": \"git push"`:   {"/input/command", "/input/0"}, // the agent sent no valid JSON
		`null`:                         {"/input/command"},
		`7`:                            {"/input/command"},
		`{"command":"git push"}`:       {"/input/command/0", "/input/command/x/y"},
		`{"command":["git","status"]}`: {"/input/command/first", "/input/command/01", "/input/command/-", "/input/command/0/x"},
	} {
		for _, field := range fields {
			for _, operator := range []string{`equals: x`, `glob: x`, `matches: "^x$"`, `exists: true`, `exists: false`} {
				when := conditions(t, chain.PreToolUse, fmt.Sprintf("[{field: %s, %s}]", field, operator))
				if !when(call(t, input)) {
					t.Errorf("%s, %s on %s: the hook is not asked", field, operator, input)
				}
			}
		}
	}
	for _, value := range []string{`["git","push"]`, `{"x":"git push"}`, `5`, `true`, `null`} {
		for _, operator := range []string{`glob: "ls*"`, `matches: "^ls"`} {
			when := conditions(t, chain.PreToolUse, "[{field: /input/command, "+operator+"}]")
			if !when(call(t, `{"command":`+value+`}`)) {
				t.Errorf("%s of %s, which is no text: the hook is not asked", operator, value)
			}
		}
	}
}

func TestWhen_AllConditionsHaveToHold(t *testing.T) {
	when := conditions(t, chain.PreToolUse, `[{field: /input/a, equals: 1}, {field: /input/b, equals: 2}, {field: /input/raw/x, exists: true}]`)
	for input, asked := range map[string]bool{
		`{"a":1,"b":2,"raw":{"x":0}}`: true,
		`{"a":1,"b":2,"raw":"{"}`:     true, // the last cannot be evaluated
		`{"a":1,"b":3,"raw":"{"}`:     false,
		`{"a":1,"b":2,"raw":{}}`:      false,
		`{}`:                          false,
	} {
		if got := when(call(t, input)); got != asked {
			t.Errorf("%s: asked = %v, want %v", input, got, asked)
		}
	}
}

func TestWhen_TheResultIsThereAfterTheCall(t *testing.T) {
	tests := []struct {
		condition string
		output    string
		asked     bool
	}{
		{`field: /output, glob: "*key*"`, `"a key"`, true},
		{`field: /output, glob: "*key*"`, `"nothing"`, false},
		{`field: /output/code, equals: 0`, `{"code":0}`, true},
		{`field: /is_error, equals: true`, `1`, true},
		{`field: /is_error, equals: false`, `1`, false},
		{`field: /input/command, equals: ls`, `1`, true},
	}
	for _, test := range tests {
		when := conditions(t, chain.PostToolUse, "[{"+test.condition+"}]")
		if got := when(result(t, test.output)); got != test.asked {
			t.Errorf("%s on %s: asked = %v, want %v", test.condition, test.output, got, test.asked)
		}
	}
}

func TestWhen_BeforeTheCallThereIsNoResult(t *testing.T) {
	for condition, asked := range map[string]bool{
		`field: /output, exists: true`: false, `field: /output/a, equals: 1`: false, `field: /is_error, exists: false`: true,
	} {
		if got := conditions(t, chain.PostToolUse, "[{"+condition+"}]")(call(t, `{}`)); got != asked {
			t.Errorf("%s: asked = %v, want %v", condition, got, asked)
		}
	}
}

func TestWhen_TheCallIsSeenAsItNowStands(t *testing.T) {
	when := conditions(t, chain.PreToolUse, `[{field: /input/command, equals: "echo safe"}]`)
	req := call(t, `{"command":"rm -rf /"}`)
	if when(req) {
		t.Error("the condition holds before the rewrite")
	}
	if !when(req.WithInput([]byte(`{"command":"echo safe"}`))) {
		t.Error("the condition does not hold after the rewrite")
	}
}

func TestWhen_ALoneSurrogateIsNoReasonNotToAsk(t *testing.T) {
	input := `{"before":"\ud83d","\udc00":1,"command":"git push \ud83d"}`
	for _, condition := range []string{
		`field: /input/command, glob: "git push*"`, `field: /input/before, exists: true`, `field: /input, exists: true`,
	} {
		if !conditions(t, chain.PreToolUse, "[{"+condition+"}]")(call(t, input)) {
			t.Errorf("%s: the hook is not asked", condition)
		}
	}
}

func BenchmarkWhen_OneConditionOnALargeInput(b *testing.B) {
	pointer := pointer{"input", "command"}
	c := condition{field: pointer, absent: no, ask: ofText(func(s string, _ time.Time) truth { return truthOf(chain.MatchTool("git push*", s)) })}
	text := `{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"a1","tool_call_id":"c1","tool_name":"shell",` +
		`"input":{"content":"` + strings.Repeat("x", 64<<10) + `","command":"git push --force"}}`
	req, err := chain.ParseRequest([]byte(text))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if c.evaluate(req, time.Time{}) != yes {
			b.Fatal("the condition does not hold")
		}
	}
}

func TestWhen_AnExpressionThatTakesTooLongIsAskedAbout(t *testing.T) {
	text := strings.Repeat("ab", long)
	hooks := entries(t, `{"schema": 1, "hooks": [{"name": "a", "use": "shell", "when": [{"field": "/input/command", "matches": "(a|b|ab)*c$"}]}]}`)
	req := call(t, `{"command":"`+text+`"}`)
	for name, tc := range map[string]struct {
		until time.Time
		asked bool
	}{
		"it is in time": {time.Now().Add(time.Hour), false},
		"no limit":      {time.Time{}, false},
		"too late":      {time.Now(), true},
	} {
		if got := hooks[0].When(req, tc.until); got != tc.asked {
			t.Errorf("%s: asked is %v", name, got)
		}
	}
	w := watched{from: strings.NewReader(text), until: time.Now()}
	for range len(text) {
		if _, _, err := w.ReadRune(); err != nil {
			break
		}
	}
	if !w.late || w.from.Len() == 0 {
		t.Errorf("the text was read to its end: %d bytes are left", w.from.Len())
	}
	if got := matching(regexp.MustCompile("$"))(text, time.Now()); got != unknown {
		t.Errorf("a match in a part of the text counts: %v", got)
	}
}

func TestWhen_EscapesAndBlanksDoNotMakeAnEqualValueAnother(t *testing.T) {
	asked := conditions(t, chain.PreToolUse, `[{field: /input, equals: {a: "😀é", b: [1, 2]}}]`)
	blanks := strings.Repeat(" \n", 1000)
	for input, want := range map[string]bool{
		`{"a":"\ud83d\ude00\u00e9",` + blanks + `"b":[1,` + blanks + `2]}`: true,
		`{"\u0062":[1,2],"\u0061":"\ud83d\ude00\u00e9"}`:                   true,
		`{"a":"` + strings.Repeat(`\u0061`, 1000) + `","b":[1,2]}`:         false,
	} {
		if got := asked(call(t, input)); got != want {
			t.Errorf("%.60s: asked is %v", input, got)
		}
	}
}
