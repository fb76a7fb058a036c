package agentproc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTurnLineHasItsFieldsInTheirOrder(t *testing.T) {
	for name, c := range map[string]struct {
		turn Turn
		want string
	}{
		"a new session": {
			Turn{Message: "hi", FromUser: "u1"},
			`{"type":"turn","message":"hi","session_id":"","from_user":"u1","protocol_version":"0.4","session_name":"default","attachments":[]}`,
		},
		"permission is there only where it is offered": {
			Turn{Message: "hi", SessionID: "s: 1", SessionName: "feature", Permission: true},
			`{"type":"turn","message":"hi","session_id":"s: 1","from_user":"","protocol_version":"0.4","session_name":"feature","attachments":[],"permission":true}`,
		},
		"attachments say what is known of them": {
			Turn{Attachments: []Attachment{
				{Kind: "image", URL: "https://x/a.png", Filename: "a.png", MIMEType: "image/png", Size: new(uint64(18446744073709551615))},
				{Kind: "hologram", URL: "file:///b"},
				{Kind: "audio", URL: "data:,x", Size: new(uint64(0))},
			}},
			`{"type":"turn","message":"","session_id":"","from_user":"","protocol_version":"0.4","session_name":"default","attachments":[` +
				`{"kind":"image","url":"https://x/a.png","filename":"a.png","mime_type":"image/png","size":18446744073709551615},` +
				`{"kind":"other","url":"file:///b"},{"kind":"audio","url":"data:,x","size":0}]}`,
		},
		"a message with line breaks is still one line": {
			Turn{Message: "a\nb\r\u2028<&>\"\\"},
			`{"type":"turn","message":"a\nb\r` + "\u2028" + `<&>\"\\","session_id":"","from_user":"","protocol_version":"0.4","session_name":"default","attachments":[]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want+"\n", string(c.turn.line())); diff != "" {
				t.Errorf("turn line (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAgentReadsATurnLeniently(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want Turn
	}{
		"what is absent has its default":      {`{}`, Turn{SessionName: "default"}},
		"no type is taken for a turn":         {`{"message":"hi"}`, Turn{Message: "hi", SessionName: "default"}},
		"unknown fields are ignored":          {`{"type":"turn","message":"hi","grease":[{}]}`, Turn{Message: "hi", SessionName: "default"}},
		"any protocol version will do":        {`{"type":"turn","protocol_version":"9.x"}`, Turn{SessionName: "default"}},
		"permission false is no permission":   {`{"permission":false}`, Turn{SessionName: "default"}},
		"blanks around the object are blanks": {" \t{\"message\":\"hi\"} \r", Turn{Message: "hi", SessionName: "default"}},
		"every field": {
			`{"type":"turn","message":"m","session_id":"s","from_user":"u","protocol_version":"0.4","session_name":"n",` +
				`"attachments":[{"kind":"file","url":"https://x","filename":null,"mime_type":null,"size":null,"new":1},{"kind":"k","url":"u","filename":"f","mime_type":"m","size":7}],"permission":true}`,
			Turn{
				Message: "m", SessionID: "s", FromUser: "u", SessionName: "n", Permission: true,
				Attachments: []Attachment{{Kind: "file", URL: "https://x"}, {Kind: "k", URL: "u", Filename: "f", MIMEType: "m", Size: new(uint64(7))}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseTurn([]byte(c.line))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("turn (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATurnLineThatReadsTwoWaysIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		`[]`:                           "an array instead of an object",
		``:                             "no JSON value",
		`{"message":"a","message":"b"`: `duplicate`,
		`{"Message":"a"}`:              `field "Message" at byte 11 field "Message" before byte 11 differs from "message" only by case`,
		`{"type":"trun"}`:              `field "type" at byte 8 is "trun" instead of "turn"`,
		`{"message":1}`:                `field "message" at byte 11 is not a string`,
		`{"session_id":null}`:          `is not a string`,
		`{"protocol_version":0.4}`:     `is not a string`,
		`{"permission":"true"}`:        `is not a boolean`,
		`{"attachments":{}}`:           `is not an array`,
		`{"attachments":null}`:         `is not an array`,
		`{"attachments":[1]}`:          `element 0: a number instead of an object`,
		`{"attachments":[{"kind":"image","url":"u"},{"kind":"image"}]}`: `element 1: has no kind or no url`,
		`{"attachments":[{"kind":1,"url":"u"}]}`:                        `element 0: field "kind" is not a string`,
		`{"attachments":[{"kind":"k","url":"u","Size":1}]}`:             `differs from "size" only by case`,
		`{"attachments":[{"kind":"k","url":"u","size":1.5}]}`:           `field "size" is not a whole number of bytes`,
		"{\"message\":\"\xff\"}":                                        `invalid UTF-8 at byte 12`,
		`{"message":"a"} {"message":"b"}`:                               `after top-level value`,
	} {
		_, err := parseTurn([]byte(line))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseTurn(%s) = %v, want %q", line, err, want)
		}
	}
}

func TestATurnThatNoAgentCanTakeIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		turn Turn
		want string
	}{
		"empty":          {Turn{}, "the turn is empty: it has neither a message nor attachments"},
		"session path":   {Turn{Message: "m", SessionID: "a/b"}, `session_id "a/b" is not valid: at most 256 bytes without / \ or control characters`},
		"session escape": {Turn{Message: "m", SessionID: "a\x1b"}, `session_id "a\x1b" is not valid: at most 256 bytes without / \ or control characters`},
		"session name":   {Turn{Message: "m", SessionName: "a\x00"}, `session_name "a\x00" is not valid: at most 256 bytes without control characters`},
		"script url": {
			Turn{Attachments: []Attachment{{Kind: "file", URL: "https://ok"}, {Kind: "file", URL: "javascript:alert(1)"}}},
			`attachments[1]: url "javascript:alert(1)" is not of the scheme file, http, https or data`,
		},
		"bare scheme":    {Turn{Attachments: []Attachment{{URL: "https://"}}}, `attachments[0]: url "https://" is not of the scheme file, http, https or data`},
		"url with break": {Turn{Attachments: []Attachment{{URL: "https://a\nb"}}}, "attachments[0]: url has a control character"},
		"every mistake": {
			Turn{SessionID: `\`, SessionName: "\n"},
			"the turn is empty: it has neither a message nor attachments\n" +
				`session_id "\\" is not valid: at most 256 bytes without / \ or control characters` + "\n" +
				`session_name "\n" is not valid: at most 256 bytes without control characters`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.turn.check()
			if err == nil {
				t.Fatal("the turn was taken")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("refusal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyIDsThatMeanTheSameToEveryoneAreUsable(t *testing.T) {
	long := strings.Repeat("i", maxIDBytes)
	for id, want := range map[string]struct{ request, session bool }{
		"":                {false, false},
		"1":               {true, true},
		"toolu_01:a-b.c":  {true, true},
		"org:proj thread": {false, true},
		"a/b":             {true, false},
		`a\b`:             {true, false},
		"a\tb":            {false, false},
		"a\nb":            {false, false},
		"a\x7f":           {false, false},
		"a\u0085":         {false, false},
		"a\u2003b":        {false, true},
		"你好":              {true, true},
		"cut\uFFFD":       {false, false},
		"bad\xff":         {false, false},
		long:              {true, true},
		long + "i":        {false, false},
	} {
		if got := usableRequestID(id); got != want.request {
			t.Errorf("usableRequestID(%q) = %v", id, got)
		}
		if got := usableSessionID(id); got != want.session {
			t.Errorf("usableSessionID(%q) = %v", id, got)
		}
	}
}
