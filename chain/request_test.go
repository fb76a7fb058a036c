package chain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// envelope is a request at pre_tool_use with the given input, preceded by more
// fields.
func envelope(input, more string) string {
	return `{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"a","tool_call_id":"c","tool_name":"shell",` + more + `"input":` + input + `}`
}

func TestRequestsAreReadStrictly(t *testing.T) {
	without := func(field string) string {
		i := strings.Index(preText, `"`+field+`"`)
		rest := preText[i:]
		end := strings.Index(rest, `,"`)
		if end < 0 {
			return strings.TrimSuffix(preText[:i], ",") + "}"
		}
		return preText[:i] + rest[end+1:]
	}
	for name, tc := range map[string]struct{ text, want string }{
		"empty":                             {``, `no JSON value`},
		"blank":                             {" \n", `no JSON value`},
		"an array":                          {`[]`, `an array instead of an object`},
		"a string":                          {`"x"`, `a string instead of an object`},
		"a number":                          {`1`, `a number instead of an object`},
		"false":                             {`false`, `a boolean instead of an object`},
		"no value at all":                   {`}`, `invalid character '}' at start of value`},
		"a boolean":                         {`true`, `a boolean instead of an object`},
		"null":                              {`null`, `null instead of an object`},
		"cut short":                         {preText[:40], `the JSON text is cut short`},
		"cut in a value":                    {preText[:len(preText)-3], `the JSON text is cut short`},
		"cut before the end":                {preText[:len(preText)-1], `the JSON text is cut short`},
		"a second object":                   {preText + preText, `invalid character '{' after top-level value after offset 150`},
		"trailing garbage":                  {preText + ` x`, `invalid character 'x' after top-level value after offset 151`},
		"a byte order mark":                 {"\ufeff" + preText, "invalid character '\\ufeff' at start of value"},
		"invalid UTF-8":                     {strings.Replace(preText, "ls", "l\xff", 1), `invalid UTF-8 at byte 146`},
		"a name twice":                      {envelope(`{}`, `"input":{},`), `duplicate object member name "input"`},
		"a name twice, escaped":             {envelope(`{}`, `"\u0069nput":{},`), `duplicate object member name "input"`},
		"a name twice, nested":              {envelope(`{"a":[{"x":1,"x":2}]}`, ``), `duplicate object member name "x" within "/input/a/0"`},
		"a case variant":                    {envelope(`{}`, `"Input":{},`), `field "Input" before byte 122 differs from "input" only by case, so JSON parsers may disagree about its meaning`},
		"a folding variant":                 {envelope(`{}`, `"workſpace":"/",`), `field "workſpace" before byte 127 differs from "workspace" only by case, so JSON parsers may disagree about its meaning`},
		"schema 2":                          {strings.Replace(preText, `"hook_schema":1`, `"hook_schema":2`, 1), `field "hook_schema" at byte 15 is 2: this gateway supports hook_schema 1`},
		"schema as a string":                {strings.Replace(preText, `"hook_schema":1`, `"hook_schema":"1"`, 1), `field "hook_schema" at byte 15 is "1": this gateway supports hook_schema 1`},
		"an unknown event":                  {strings.Replace(preText, "pre_tool_use", "PreToolUse", 1), `field "event" at byte 25 is unknown: event "PreToolUse" is not one of pre_tool_use, post_tool_use`},
		"an event of no type":               {strings.Replace(preText, `"pre_tool_use"`, "null", 1), `field "event" at byte 25 is not a string`},
		"a workspace of no type":            {strings.Replace(preText, `"/repo"`, "{}", 1), `field "workspace" at byte 52 is not a string`},
		"a tool name of no type":            {strings.Replace(preText, `"shell"`, "7", 1), `field "tool_name" at byte 117 is not a string`},
		"an alias of no type":               {envelope(`{}`, `"tool_alias":null,`), `field "tool_alias" at byte 127 is not a string`},
		"a case variant of the alias":       {envelope(`{}`, `"Tool_Alias":"x",`), `field "Tool_Alias" before byte 127 differs from "tool_alias" only by case, so JSON parsers may disagree about its meaning`},
		"no tool":                           {strings.Replace(preText, `"shell"`, `""`, 1), `field "tool_name" at byte 117 is empty: a call must name its tool`},
		"no schema":                         {without("hook_schema"), `field "hook_schema" is missing`},
		"no event":                          {without("event"), `field "event" is missing`},
		"no workspace":                      {without("workspace"), `field "workspace" is missing`},
		"no agent":                          {without("agent_id"), `field "agent_id" is missing`},
		"no call":                           {without("tool_call_id"), `field "tool_call_id" is missing`},
		"no tool name":                      {without("tool_name"), `field "tool_name" is missing`},
		"no input":                          {without("input"), `field "input" is missing`},
		"output before the call":            {envelope(`{}`, `"output":null,`), `field "output" must be absent before the call, which has no result yet`},
		"is_error before the call":          {envelope(`{}`, `"is_error":false,`), `field "is_error" must be absent before the call, which has no result yet`},
		"no output after the call":          {strings.Replace(postText, `"output":"TOKEN",`, ``, 1), `field "output" is missing`},
		"no is_error after it":              {strings.Replace(postText, `,"is_error":true`, ``, 1), `field "is_error" is missing`},
		"is_error null":                     {strings.Replace(postText, `"is_error":true`, `"is_error":null`, 1), `field "is_error" at byte 179 is not a boolean`},
		"depth over 10,000":                 {envelope(strings.Repeat("[", 10000)+strings.Repeat("]", 10000), ``), "exceeded max depth within \"/input" + strings.Repeat("/0", 21) + "/…" + strings.Repeat("/0", 25) + "\" after offset 10121"},
		"names as long as the sender likes": {envelope(`{"`+strings.Repeat("k", 999)+`":1,"`+strings.Repeat("k", 999)+`":2}`, ``), `duplicate object member name "` + strings.Repeat("k", 270) + "…"},
		"a bad number":                      {envelope(`01`, ``), `invalid character '1' after object value (expecting ',' or '}') after offset 123`},
		"NaN":                               {envelope(`NaN`, ``), `invalid character 'N' at start of value within "/input" after offset 122`},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ParseRequest([]byte(tc.text))
			if err == nil {
				t.Fatalf("read as %+v", r)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestC15_WhatNobodyRewroteTravelsAsReceived(t *testing.T) {
	deep := strings.Repeat("[", 9990) + strings.Repeat("]", 9990)
	for name, text := range map[string]string{
		"numbers":          envelope(`{"id":9007199254740993,"x":1e400,"one":1.0,"neg":-0}`, ``),
		"HTML":             envelope(`{"command":"grep '<a>' x && echo \u003c \u2028"}`, ``),
		"key order":        envelope(`{"z":1,"a":2,"m":3}`, ``),
		"blanks":           " \r\n" + envelope(" {\n\t} ", ``) + "\n",
		"unknown fields":   envelope(`{}`, `"trace":{"b":[1.50]},"Über":null,`),
		"a lone surrogate": envelope(`{"text":"\ud83d"}`, ``),
		"NUL":              envelope(`{"text":"a\u0000b"}`, ``),
		"a text input":     envelope(`"not {json"`, ``),
		"null":             envelope(`null`, ``),
		"deep nesting":     envelope(deep, ``),
		"10 MB of output":  strings.Replace(postText, "TOKEN", strings.Repeat("0123456789", 1<<20), 1),
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, text)
			if !bytes.Equal(r.JSON(), []byte(text)) {
				t.Errorf("the envelope changed")
			}
			if line := r.Line(); bytes.ContainsAny(line, "\r\n") {
				t.Errorf("a line break in the line %.60q", line)
			} else if again := request(t, string(line)); string(again.Input()) != strings.NewReplacer("\n", " ", "\r", " ").Replace(string(r.Input())) {
				t.Errorf("the line has another input")
			}
		})
	}
}

func TestC15_ARewriteChangesItsFieldAlone(t *testing.T) {
	pre := request(t, `{"x":[1.0], "input" : {"a":1} ,"hook_schema":1,"event":"pre_tool_use","workspace":"/","agent_id":"a","tool_call_id":"c","tool_name":"t","tool_alias":"shell","y":1e400}`)
	first := pre.WithInput(json.RawMessage(`{"id":9007199254740993,"s":"<&>"}`))
	second := first.WithInput(json.RawMessage(`{}`))
	want := `{"x":[1.0], "input" : {} ,"hook_schema":1,"event":"pre_tool_use","workspace":"/","agent_id":"a","tool_call_id":"c","tool_name":"t","tool_alias":"shell","y":1e400}`
	if diff := cmp.Diff(want, string(second.JSON())); diff != "" {
		t.Errorf("envelope (-want +got):\n%s", diff)
	}
	if second.ToolName() != "t" || second.ToolAlias() != "shell" {
		t.Errorf("a rewritten call is of the tool %q, also %q", second.ToolName(), second.ToolAlias())
	}
	if string(pre.Input()) != `{"a":1}` || string(first.Input()) != `{"id":9007199254740993,"s":"<&>"}` {
		t.Errorf("a rewrite changed its predecessor: %s, %s", pre.Input(), first.Input())
	}
	if pre.Output() != nil || pre.IsError() {
		t.Errorf("a call that has not run has output %s, error %v", pre.Output(), pre.IsError())
	}

	// Both orders of the two fields, and values that grow and shrink.
	for _, fields := range []string{`"output":"long enough","is_error":true`, `"is_error":true,"output":"long enough"`} {
		post := request(t, `{"hook_schema":1,"event":"post_tool_use","workspace":"/","agent_id":"a","tool_call_id":"c","tool_name":"t",`+fields+`,"input":{"n":1}}`)
		got := post.WithOutput(json.RawMessage(`7`), false).WithOutput(json.RawMessage(`{"longer":"than before"}`), true).WithOutput(json.RawMessage(`""`), false)
		again := request(t, string(got.JSON()))
		if diff := cmp.Diff([]string{`""`, `{"n":1}`, "false"}, []string{string(again.Output()), string(again.Input()), fmt.Sprint(again.IsError())}); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", fields, diff)
		}
		if string(got.Output()) != `""` || string(got.Input()) != `{"n":1}` || got.IsError() {
			t.Errorf("%s: spans moved wrongly: %s %s %v", fields, got.Output(), got.Input(), got.IsError())
		}
		if want := strings.NewReplacer(`"long enough"`, `""`, "true", "false").Replace(string(post.JSON())); want != string(got.JSON()) {
			t.Errorf("envelope %s, want %s", got.JSON(), want)
		}
	}
}

func TestARequestIsReadInFull(t *testing.T) {
	r := request(t, `{"event":"post_tool_use","hook_schema":1,"workspace":"/r\u00e9po","agent_id":"a\"1","tool_call_id":"","tool_name":"mcp__x","input":null,"output":{"a":1},"is_error":false}`)
	got := []string{r.Event().String(), r.Workspace(), r.AgentID(), r.ToolCallID(), r.ToolName(), string(r.Input()), string(r.Output()), fmt.Sprint(r.IsError())}
	want := []string{"post_tool_use", "/répo", `a"1`, "", "mcp__x", "null", `{"a":1}`, "false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestOutcomesAreWrittenByteForByte(t *testing.T) {
	for _, tc := range []struct {
		o    Outcome
		want string
	}{
		{Outcome{Decision: Allow}, `{"decision":"allow"}`},
		{Outcome{Decision: Deny, Reason: "<b> & \"x\"\n\x1b\u2028"}, `{"decision":"deny","reason":"<b> & \"x\"\n\u001b` + "\u2028" + `"}`},
		{Outcome{Decision: Deny, Reason: "bad \xff byte"}, `{"decision":"deny","reason":"bad ` + "\ufffd" + ` byte"}`},
		{Outcome{Decision: Modify, Input: json.RawMessage(`{"id":1e400}`), Reason: "hook 'a'"}, `{"decision":"modify","input":{"id":1e400},"reason":"hook 'a'"}`},
		{Outcome{Decision: Replace, Output: json.RawMessage(`null`), IsError: yes()}, `{"decision":"replace","output":null,"is_error":true}`},
		{Outcome{Decision: Replace, Output: json.RawMessage(`""`), IsError: no()}, `{"decision":"replace","output":"","is_error":false}`},
		{Outcome{Decision: Replace, Output: json.RawMessage(`""`)}, `{"decision":"replace","output":""}`},
		{Outcome{Decision: Decision(99), Input: json.RawMessage(`{}`)}, `{"decision":"deny"}`},
	} {
		if diff := cmp.Diff(tc.want, string(tc.o.AppendJSON(nil))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestValuesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1,"x"]}`: "",
		` null `:        "",
		`"\ud83d"`:      "",
		``:              "no JSON value",
		`{"a":1,"a":2}`: `duplicate object member name "a"`,
		`{"a":`:         "the JSON text is cut short",
		"\"\xff\"":      "invalid UTF-8 at byte 1",
		`1 2`:           "invalid character '2' after top-level value after offset 2",
		`{} }`:          `invalid character '}' after top-level value after offset 3`,
	} {
		got := ""
		if err := CheckValue([]byte(text)); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestScalarsAreReadOrRefused(t *testing.T) {
	for value, want := range map[string]string{`"a\u00e9"`: "aé", `"\ud83d"`: "\ufffd", `""`: ""} {
		if got, ok := ReadString(json.RawMessage(value)); got != want || !ok {
			t.Errorf("%s reads as %q, %v", value, got, ok)
		}
	}
	for _, value := range []string{``, `null`, `1`, `{}`} {
		if got, ok := ReadString(json.RawMessage(value)); ok {
			t.Errorf("%q reads as the string %q", value, got)
		}
		if got, ok := ReadBool(json.RawMessage(value)); ok {
			t.Errorf("%q reads as the boolean %v", value, got)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{preText, postText, envelope(`{"id":9007199254740993}`, `"Event":1,`), `{"input":{},"input":1}`, "\ufeff{}", `{"a":"\ud83d"}`, preText + "x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseRequest(text)
		if err != nil {
			return
		}
		var std map[string]json.RawMessage
		if err := json.Unmarshal(text, &std); err != nil {
			t.Fatalf("encoding/json cannot read what we accepted: %v", err)
		}
		if !bytes.Equal(std["input"], r.Input()) {
			t.Fatalf("input %s, encoding/json reads %s", r.Input(), std["input"])
		}
		next := r.WithInput(json.RawMessage(`{"rewritten":true}`))
		again, err := ParseRequest(next.JSON())
		if err != nil {
			t.Fatalf("a rewrite broke the envelope: %v", err)
		}
		if again.ToolName() != r.ToolName() || again.Event() != r.Event() || string(again.Input()) != `{"rewritten":true}` {
			t.Fatalf("a rewrite changed more than the input: %s", next.JSON())
		}
		if line, err := ParseRequest(r.Line()); err != nil || line.ToolCallID() != r.ToolCallID() {
			t.Fatalf("the line reads otherwise: %v", err)
		}
	})
}

func TestAnInnerObjectIsReadAsAWholeOne(t *testing.T) {
	for _, text := range []string{`{}`, `{"a":{"b":[1]},"\u0063":"\ud800"}`, ` {"a" : 1e400 } `, `[]`, `1`, ``, `{"a":1`, `{"a":1}x`} {
		list := func(read func([]byte, func([]byte, json.RawMessage, int) error) error) (all []string, failed bool) {
			err := read([]byte(text), func(name []byte, value json.RawMessage, at int) error {
				all = append(all, fmt.Sprintf("%s %s %d", name, value, at))
				return nil
			})
			return all, err != nil
		}
		want, wantFailed := list(ReadObject)
		got, failed := list(ReadInnerObject)
		if diff := cmp.Diff(want, got); diff != "" || failed != wantFailed {
			t.Errorf("%s: failed %v, members (-want +got):\n%s", text, failed, diff)
		}
	}
}
