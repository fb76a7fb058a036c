package agentproc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bridge is the bridge's side of an agent under test.
type bridge struct {
	in  *io.PipeWriter // what the agent reads
	out *bufio.Reader  // what it writes
}

// agent returns an agent that has read its turn, and its bridge.
func agent(t *testing.T, turn Turn) (*Agent, *bridge) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	t.Cleanup(func() {
		_ = inW.Close()
		_ = outR.Close()
	})
	go func() { _, _ = inW.Write(turn.line()) }()
	a, err := ReadTurn(inR, outW)
	if err != nil {
		t.Fatal(err)
	}
	return a, &bridge{in: inW, out: bufio.NewReader(outR)}
}

func (b *bridge) line(t *testing.T) string {
	t.Helper()
	line, err := b.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (b *bridge) say(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(b.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// written is an agent whose input has ended, and what it writes.
func written(t *testing.T) (*Agent, *strings.Builder) {
	t.Helper()
	var out strings.Builder
	a, err := ReadTurn(strings.NewReader(`{"type":"turn","message":"hi","session_id":"old"}`), &out)
	if err != nil {
		t.Fatal(err)
	}
	return a, &out
}

func TestAnAgentWritesOneEventALine(t *testing.T) {
	a, out := written(t)
	for _, err := range []error{
		a.Partial(Partial{Text: "let me\nsee", Role: RoleThinking}),
		a.SetSession("s-1"),
		a.SetSession("s-1"),
		a.Partial(Partial{Text: "<so> "}),
		a.Result("done", json.RawMessage("{\"n\":\n1e400}")),
		a.Error("too late", nil),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := `{"type":"partial","text":"let me\nsee","role":"thinking"}
{"type":"partial","text":"<so> ","session_id":"s-1"}
{"type":"result","text":"done","usage":{"n": 1e400},"session_id":"s-1"}
{"type":"error","message":"too late","session_id":"s-1"}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestWhatAnAgentWritesABridgeReads(t *testing.T) {
	a, out := written(t)
	if err := errors.Join(a.SetSession("s-1"), a.Partial(Partial{Text: "p", Role: "aside"}), a.Result("r", json.RawMessage(`{}`)), a.Error("e", json.RawMessage(`{"n":1}`))); err != nil {
		t.Fatal(err)
	}
	var got []event
	for line := range strings.Lines(out.String()) {
		e, err := parseEvent([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	want := []event{
		{kind: partialEvent, text: "p", role: "aside", sessionID: "s-1"},
		{kind: resultEvent, text: "r", sessionID: "s-1", usage: json.RawMessage(`{}`)},
		{kind: errorEvent, text: "e", sessionID: "s-1", usage: json.RawMessage(`{"n":1}`)},
	}
	if diff := cmp.Diff(want, got, same()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	r := PermissionRequest{RequestID: "1", ToolName: "Bash", Input: json.RawMessage("{\"a\":\n9007199254740993}"), Description: "d", ToolUseID: "t"}
	e, err := parseEvent(append(appendRequest(nil, r), '}'))
	r.Input = json.RawMessage(`{"a": 9007199254740993}`)
	if diff := cmp.Diff(event{kind: permissionEvent, request: &r}, e, same()); diff != "" || err != nil || e.fault != nil {
		t.Errorf("%v %v, request (-want +got):\n%s", err, e.fault, diff)
	}
}

func TestAnAgentCannotEndItsTurnTwice(t *testing.T) {
	a, _ := written(t)
	if err := a.Result("", nil); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"a second result": a.Result("", nil), "a late partial": a.Partial(Partial{})} {
		if err == nil || err.Error() != "the turn has ended with its result event" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.Error("", nil); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"a second error": a.Error("", nil), "a late partial": a.Partial(Partial{})} {
		if err == nil || err.Error() != "the turn has ended with its error event" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnAgentCannotWriteWhatTheWireRefuses(t *testing.T) {
	a, out := written(t)
	for want, err := range map[string]error{
		`session id "a/b" is not valid: 1 to 256 bytes without / \ or control characters`: a.SetSession("a/b"),
		`session id "" is not valid: 1 to 256 bytes without / \ or control characters`:    a.SetSession(""),
		"usage is not a JSON object": a.Result("", json.RawMessage(`[]`)),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := a.Error("", json.RawMessage(`{"a":1,"a":2}`)); err == nil {
		t.Error("a usage of two meanings was written")
	}
	if err := errors.Join(a.SetSession("s"), a.SetSession("t")); err == nil || err.Error() != `the session is already "s": a bridge keeps the first` {
		t.Errorf("another session: %v", err)
	}
	if out.Len() != 0 {
		t.Errorf("written: %s", out)
	}
}

func TestAnAgentNeedsATurn(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "no turn on the agent's input: EOF",
		"hello\n":                       "the turn line cannot be read: invalid character 'h' at start of value",
		"{\"type\":\"turn\"}\n":         "the turn is empty: it has neither a message nor attachments",
		`{"type":"turn","message":"hi"`: "the turn line cannot be read: the JSON text is cut short",
	} {
		_, err := ReadTurn(strings.NewReader(in), io.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ReadTurn(%.40q) = %v, want %q", in, err, want)
		}
	}
}

func TestA7_AnAgentReadsALineOfABoundedLength(t *testing.T) {
	for in, want := range map[string]string{
		"1234567\n":                         "1234567 <nil>",
		"12345678\n":                        " a line of more than 8 bytes",
		strings.Repeat("x", 100_000) + "\n": " a line of more than 8 bytes",
		"123":                               "123 EOF",
	} {
		line, err := readLine(bufio.NewReader(strings.NewReader(in)), 8)
		if got := fmt.Sprintf("%s %v", line, err); got != want {
			t.Errorf("readLine(%.20q) = %q, want %q", in, got, want)
		}
	}
}

func TestAnAgentThatCannotWriteIsTold(t *testing.T) {
	r, w := io.Pipe()
	_ = r.Close()
	a, err := ReadTurn(strings.NewReader(`{"message":"hi","permission":true}`), w)
	if err != nil {
		t.Fatal(err)
	}
	want := "cannot write to the bridge: io: read/write on closed pipe"
	if err := a.Partial(Partial{}); err == nil || err.Error() != want {
		t.Errorf("Partial = %v", err)
	}
	if _, err := a.Ask(t.Context(), PermissionRequest{ToolName: "Bash", Input: json.RawMessage(`{}`)}); err == nil {
		t.Error("Ask was not told")
	}
}

// asked is the result of an Ask.
type asked struct {
	answer Answer
	err    error
}

func ask1(ctx context.Context, a *Agent, r PermissionRequest) <-chan asked {
	got := make(chan asked, 1)
	go func() {
		answer, err := a.Ask(ctx, r)
		got <- asked{answer, err}
	}()
	return got
}

func bash(id string) PermissionRequest {
	return PermissionRequest{RequestID: id, ToolName: "Bash", Input: json.RawMessage(`{}`)}
}

func TestAnAgentGetsTheAnswerToItsOwnRequest(t *testing.T) {
	a, b := agent(t, Turn{Message: "hi", Permission: true})
	first := ask1(t.Context(), a, bash("x"))
	if got := b.line(t); got != `{"type":"permission_request","request_id":"x","tool_name":"Bash","input":{}}` {
		t.Errorf("asked %s", got)
	}
	second := ask1(t.Context(), a, bash(""))
	if got := b.line(t); !strings.Contains(got, `"request_id":"1"`) {
		t.Errorf("asked %s", got)
	}
	b.say(t, `{"type":"permission_response","request_id":"unknown","behavior":"allow"}`)
	b.say(t, `{"type":"permission_response","request_id":"1","behavior":"deny","message":"no"}`)
	b.say(t, `{"type":"permission_response","request_id":"1","behavior":"allow"}`) // a repeated answer has no effect
	b.say(t, `{"type":"permission_response","request_id":"x","behavior":"allow","updated_input":{"a":1}}`)
	if got := <-second; got.err != nil || verdict(got.answer, nil) != "not run: no" {
		t.Errorf("second %+v", got)
	}
	if got := <-first; got.err != nil || verdict(got.answer, nil) != `ran {"a":1}` {
		t.Errorf("first %+v", got)
	}
	if _, err := a.Ask(t.Context(), bash("x")); err == nil || err.Error() != `request id "x" is already used in this turn, or not valid` {
		t.Errorf("the id again: %v", err)
	}
	third := ask1(t.Context(), a, bash("2"))
	b.line(t)
	b.say(t, `{"type":"permission_response","request_id":"2","behavior":"allow"}`)
	if got := <-third; verdict(got.answer, got.err) != "ran" {
		t.Errorf("third %+v", got)
	}
	fourth := ask1(t.Context(), a, bash("")) // "2" is taken
	if got := b.line(t); !strings.Contains(got, `"request_id":"3"`) {
		t.Errorf("asked %s", got)
	}
	b.say(t, `{"type":"permission_response","request_id":"3","behavior":"deny"}`)
	<-fourth
}

func TestAnAgentNeverTakesWhatItCannotReadForAnAllow(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"two meanings": {
			`{"type":"permission_response","request_id":"1","behavior":"deny","behavior":"allow"}`,
			`request "1" was not answered: a line of the bridge cannot be read: duplicate object member name "behavior"`,
		},
		"another word": {
			`{"type":"permission_response","request_id":"1","behavior":"ok"}`,
			`request "1" was not answered: a line of the bridge cannot be read: behavior "ok" is neither allow nor deny`,
		},
		"the end": {"", `request "1" was not answered: the bridge's input ended: EOF`},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := agent(t, Turn{Message: "hi", Permission: true})
			got := ask1(t.Context(), a, bash(""))
			b.line(t)
			if c.line == "" {
				_ = b.in.Close()
			} else {
				b.say(t, c.line)
			}
			if said := <-got; said.err == nil || !strings.HasPrefix(said.err.Error(), c.want) || said.answer.Behavior != Deny {
				t.Errorf("%+v, want %q", said, c.want)
			}
			if _, err := a.Ask(t.Context(), bash("")); err == nil || !strings.HasPrefix(err.Error(), "permission can no longer be requested: ") {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestAnAgentThatStopsWaitingHasNoPermission(t *testing.T) {
	a, b := agent(t, Turn{Message: "hi", Permission: true})
	ctx, cancel := context.WithCancelCause(t.Context())
	got := ask1(ctx, a, bash(""))
	b.line(t)
	cancel(errors.New("the user pressed stop"))
	if said := <-got; said.err == nil || said.err.Error() != `request "1" was not answered: the user pressed stop` || said.answer.Behavior != Deny {
		t.Errorf("%+v", said)
	}
	// Nobody waits for the answer. However often it is repeated, it must block
	// nobody.
	for range 3 {
		b.say(t, `{"type":"permission_response","request_id":"1","behavior":"allow"}`)
	}
	next := ask1(t.Context(), a, bash(""))
	b.line(t)
	b.say(t, `{"type":"permission_response","request_id":"2","behavior":"deny"}`)
	if said := <-next; said.err != nil || said.answer.Behavior != Deny {
		t.Errorf("the next request got %+v", said)
	}
}

func TestAnAgentCannotAskWhatTheWireRefuses(t *testing.T) {
	a, _ := written(t)
	if _, err := a.Ask(t.Context(), bash("")); err == nil || err.Error() != "this turn offers no permission channel" {
		t.Errorf("without permission: %v", err)
	}
	a, _ = agent(t, Turn{Message: "hi", Permission: true})
	for name, r := range map[string]PermissionRequest{
		"no tool":       {Input: json.RawMessage(`{}`)},
		"no input":      {ToolName: "Bash"},
		"not an object": {ToolName: "Bash", Input: json.RawMessage(`"rm"`)},
		"two meanings":  {ToolName: "Bash", Input: json.RawMessage(`{"a":1,"a":2}`)},
	} {
		if _, err := a.Ask(t.Context(), r); err == nil || err.Error() != "a permission request needs a tool name and an input that is a JSON object" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := a.Ask(t.Context(), bash("a b")); err == nil {
		t.Error("an id with a blank was asked under")
	}
	a.ended = typeResult
	if _, err := a.Ask(t.Context(), bash("")); err == nil || err.Error() != "the turn has ended with its result event" {
		t.Errorf("after the result: %v", err)
	}
}

// Example_agent is an agent that asks before it acts.
func Example_agent() {
	in := strings.NewReader(`{"type":"turn","message":"clean up","session_id":"","protocol_version":"0.4","permission":true}
{"type":"permission_response","request_id":"1","behavior":"deny","message":"denied by hook 'guard': not here"}
`)
	var out strings.Builder // os.Stdin and os.Stdout in a real program
	a, err := ReadTurn(in, &out)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := a.Ask(context.Background(), PermissionRequest{ToolName: "Bash", Input: json.RawMessage(`{"command":"rm -rf build"}`)})
	if err != nil || answer.Behavior != Allow {
		_ = a.Result("I may not: "+answer.Message, nil)
	}
	fmt.Print(out.String())
	// Output:
	// {"type":"permission_request","request_id":"1","tool_name":"Bash","input":{"command":"rm -rf build"}}
	// {"type":"result","text":"I may not: denied by hook 'guard': not here"}
}
