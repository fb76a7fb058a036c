package agentproc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// FuzzEvent checks that no line can be read in two ways: idScanner never finds
// another request than the strict reader, and every accepted request forms an
// envelope.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{
		`{"type":"partial","text":"hi","role":"thinking","session_id":"s"}`,
		`{"type":"result","text":"done","usage":{"n":1}}`,
		`{"type":"error","message":"no"}`,
		`{"type":"permission_request","request_id":"1","tool_name":"Bash","input":{"a":[1,"}"]},"description":"d","tool_use_id":"t"}`,
		`{"type":"permission_request","request_id":"1","request_id":"2","tool_name":"Bash","input":{}}`,
		`{"type":"permission_request","request_id":"1","tool_name":"Bash","input":{},"input":{}}`,
		`{"type":"permission_request","request_id":"\u0031","tool_name":"\ud800","input":{"x":{"y":{}}}}{}`,
		"{\"type\":\"permission_request\",\"request_id\":\"1\",\"input\":\"\xff\"}",
		`debug`, ``, `{`, `{"a":"\`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := parseEvent(line)
		var scan idScanner
		scan.write(line)
		found, certain := scan.requestID()
		switch {
		case err != nil && certain:
			t.Fatalf("ignored (%v) although it is request %q", err, found)
		case err != nil:
			return
		case e.kind != permissionEvent:
			if certain {
				t.Fatalf("event %d, scanned as request %q", e.kind, found)
			}
			return
		case !certain || found != e.request.RequestID || !usableRequestID(found):
			t.Fatalf("request %q, scanned as %q, %v", e.request.RequestID, found, certain)
		case e.fault != nil:
			return
		}
		envelope, err := e.request.Envelope("/w", "a")
		if err != nil {
			t.Fatal(err)
		}
		if envelope.ToolName() != e.request.ToolName || string(envelope.Input()) != string(e.request.Input) || envelope.Workspace() != "/w" || envelope.AgentID() != "a" {
			t.Fatalf("envelope %s of %s", envelope.JSON(), line)
		}
	})
}

// FuzzTurn checks that a parsed turn is written on one line and parsed to the
// same turn again.
func FuzzTurn(f *testing.F) {
	for _, seed := range []string{
		`{"type":"turn","message":"hi","session_id":"s","from_user":"u","protocol_version":"0.4","session_name":"n","attachments":[{"kind":"image","url":"https://x","size":3}],"permission":true}`,
		`{"message":"\ud83d\n\u0000"}`, `{"attachments":[{"kind":"x","url":"u","filename":null}]}`, `{}`, `{"type":"turn","type":"turn"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		turn, err := parseTurn(line)
		if err != nil {
			return
		}
		turn.SessionName = turn.sessionName()
		for i := range turn.Attachments {
			turn.Attachments[i].Kind = "file" // any other kind is written as "other"
		}
		text := string(turn.line())
		if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
			t.Fatalf("not one line: %q", text)
		}
		again, err := parseTurn([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(turn, again); diff != "" {
			t.Fatalf("read again (-want +got):\n%s", diff)
		}
	})
}

// FuzzResponse checks that an allow was stated exactly once, and that a parsed
// response is written and parsed to the same response again.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		`{"type":"permission_response","request_id":"1","behavior":"allow","updated_input":{"a":1}}`,
		`{"type":"permission_response","request_id":"1","behavior":"deny","message":"no"}`,
		`{"type":"permission_response","request_id":"1","behavior":"deny","behavior":"allow"}`,
		`{"type":"permission_response","request_id":"1","behavior":"al\u006cow","updated_input":null}`, ``, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		id, answer, err := parseResponse(line)
		if err != nil {
			if answer.Behavior != Deny || id != "" {
				t.Fatalf("%q, %+v with %v", id, answer, err)
			}
			return
		}
		held, usable := answer.held()
		if !usable {
			t.Fatalf("%+v is not usable", answer)
		}
		text := held.response(id)
		again, same, err := parseResponse(text)
		if err != nil || again != id || same.Behavior != answer.Behavior || same.Message != answer.Message ||
			string(same.UpdatedInput) != string(chain.OneLine(answer.UpdatedInput)) {
			t.Fatalf("%s read again as %q, %+v, %v", text, again, same, err)
		}
	})
}

// FuzzTemplate checks that values are never interpreted when a text is filled,
// and that a path stays where the profile puts it.
func FuzzTemplate(f *testing.F) {
	for _, seed := range [][3]string{
		{"work/{{SESSION_ID}}/{{SESSION_NAME}}.d", "s-1", "default"},
		{"{{SESSION_ID}}{{SESSION_NAME}}", ".", "."},
		{"{{PROFILE_DIR}}/x", "{{SESSION_NAME}}", "${HOME}"},
		{"${TOKEN}{{X}}", "-", "/"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, text, id, name string) {
		v := values{
			placeholders: map[string]string{placeholderSessionID: id, placeholderSessionName: name, placeholderProfileDir: "/p"},
			variables:    map[string]string{"TOKEN": "{{SESSION_ID}}"},
		}
		if argument, err := fillArgument(text, v); err == nil && strings.HasPrefix(argument, "-") && !strings.HasPrefix(text, "-") {
			t.Fatalf("%q became the option %q", text, argument)
		}
		path, err := fillPath(text, v)
		if err != nil {
			return
		}
		if got, want := strings.Count(path, "/"), strings.Count(text, "/")+strings.Count(text, "{{PROFILE_DIR}}"); got != want {
			t.Fatalf("%q became %q: %d parts instead of %d", text, path, got, want)
		}
		if strings.Count("/"+path+"/", "/../") > strings.Count("/"+text+"/", "/../") {
			t.Fatalf("%q became %q, which leads up", text, path)
		}
	})
}

// FuzzLines checks that lines of any length are split correctly.
func FuzzLines(f *testing.F) {
	f.Add("a\nbb\n\nccc", uint8(2))
	f.Add(strings.Repeat("x", 100_000)+"\ny\n", uint8(200))
	f.Fuzz(func(t *testing.T, text string, most uint8) {
		in := newLines(strings.NewReader(text), int(most))
		want := strings.Split(text, "\n")
		for _, line := range want[:len(want)-1] {
			got, long, err := in.next()
			if err != nil || (long != nil) != (len(line) > int(most)) || long == nil && string(got) != line {
				t.Fatalf("%q came as %q, %v, %v", line, got, long != nil, err)
			}
		}
		if got, long, err := in.next(); err == nil {
			t.Fatalf("%q, %v after the end", got, long)
		}
	})
}
