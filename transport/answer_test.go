package transport

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func TestT1_ARefusedTextIsQuotedForTheOperatorAlone(t *testing.T) {
	for name, c := range map[string]struct {
		said, detail string
	}{
		"a word":           {"allow\x1b[2J", `invalid character 'a' at start of value in "allow\x1b[2J"`},
		"no decision":      {`{"a":1}`, `no field "decision" in "{\"a\":1}"`},
		"decision of null": {`{"decision":null}`, `field "decision" is not a string in "{\"decision\":null}"`},
		"a long text": {
			`"` + strings.Repeat("x", 600) + `"`,
			`a string instead of an object in "\"` + strings.Repeat("x", 511) + `"… (602 bytes)`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := chain.Fail(chain.Malformed, "did not answer with one decision object", c.detail)
			if diff := cmp.Diff(want, readAnswer([]byte(c.said), chain.PreToolUse)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestT1_AnUnknownDecisionIsQuotedShort(t *testing.T) {
	got := readAnswer([]byte(`{"decision":"`+strings.Repeat("ask", 100)+`"}`), chain.PreToolUse)
	want := chain.Fail(chain.WrongDecision, "answered an unknown decision", `decision "`+strings.Repeat("ask", 21)+`a"`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// FuzzReadAnswer compares readAnswer with encoding/json, which is more lenient:
// it must find everything that readAnswer accepts.
func FuzzReadAnswer(f *testing.F) {
	for _, c := range answers() {
		if len(c.says) < 4096 {
			f.Add([]byte(c.says), c.event == chain.PostToolUse)
		}
	}
	f.Fuzz(func(t *testing.T, said []byte, post bool) {
		event := chain.PreToolUse
		if post {
			event = chain.PostToolUse
		}
		before := bytes.Clone(said)
		a := readAnswer(said, event)
		if !bytes.Equal(said, before) {
			t.Fatal("the reader has changed the text")
		}
		if a.Failure != nil {
			if a.Failure.Cause == chain.NoCause || a.Failure.Text == "" || a.Outcome.Decision != chain.Undecided {
				t.Fatalf("a failure that is none: %+v", a)
			}
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(said, &members); err != nil {
			t.Fatalf("answered %v with what is no object: %v", a.Outcome.Decision, err)
		}
		var word string
		if err := json.Unmarshal(members["decision"], &word); err != nil || word != a.Outcome.Decision.String() {
			t.Fatalf("answered %v where the text says %s", a.Outcome.Decision, members["decision"])
		}
		if a.Outcome.Input != nil && !bytes.Equal(a.Outcome.Input, members["input"]) {
			t.Fatalf("input %s became %s", members["input"], a.Outcome.Input)
		}
		if a.Outcome.Output != nil && !bytes.Equal(a.Outcome.Output, members["output"]) {
			t.Fatalf("output %s became %s", members["output"], a.Outcome.Output)
		}
		fits := a.Outcome.Decision == chain.Modify && !post || a.Outcome.Decision == chain.Replace && post
		rewrite := a.Outcome.Decision == chain.Modify || a.Outcome.Decision == chain.Replace
		if rewrite && !fits {
			return // the chain refuses it
		}
		if diff := cmp.Diff(a, readAnswer(a.Outcome.AppendJSON(nil), event)); diff != "" {
			t.Fatalf("written and read again (-first +second):\n%s", diff)
		}
	})
}
