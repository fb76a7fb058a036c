package agentproc

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// heard is how the bridge reports a turn.
type heard struct {
	Text, Error, Session, Usage string
	Exit                        int
	Cause                       chain.Cause
	Failure                     string
	Partials                    []string
	Ignored                     int
}

func TestA12_TurnsOfManyLinesComeOutAsTheyShould(t *testing.T) {
	const (
		oops     = `{"type":"error","message":"upstream is busy"}`
		hello    = `{"type":"partial","text":"hello "}`
		world    = `{"type":"partial","text":"world"}`
		done     = `{"type":"result","text":"done"}`
		ask      = `{"type":"permission_request","request_id":"1","tool_name":"Bash","input":{}}`
		reported = "reported an error: upstream is busy"
	)
	for name, c := range map[string]struct {
		lines []string
		quiet bool // without streaming
		exit  int
		want  heard
	}{
		"nothing said is a success":                 {want: heard{}},
		"one result":                                {lines: []string{done}, want: heard{Text: "done"}},
		"partials, then a result that repeats them": {lines: []string{hello, world, `{"type":"result","text":"hello world"}`}, want: heard{Text: "hello world", Partials: []string{"hello ", "world"}}},
		"partials alone":                            {lines: []string{hello, world}, want: heard{Partials: []string{"hello ", "world"}}},
		"a result without words":                    {lines: []string{`{"type":"result"}`}, want: heard{}},
		"a partial without words is still one":      {lines: []string{`{"type":"partial"}`, done}, want: heard{Text: "done", Partials: []string{""}}},
		"a result of several lines":                 {lines: []string{`{"type":"result","text":"a\nb\nc"}`}, want: heard{Text: "a\nb\nc"}},
		"without streaming partials are not passed on": {
			lines: []string{hello, `{"type":"partial","text":"x","session_id":"s-1"}`, done}, quiet: true, want: heard{Text: "done", Session: "s-1"},
		},
		"the first session wins": {
			lines: []string{`{"type":"partial","text":"a","session_id":"first"}`, `{"type":"result","text":"b","session_id":"second"}`},
			want:  heard{Text: "b", Session: "first", Partials: []string{"a"}},
		},
		"a session named at the end": {lines: []string{hello, `{"type":"result","text":"","session_id":"late"}`}, want: heard{Session: "late", Partials: []string{"hello "}}},
		"an unusable session is none, and the next one counts": {
			lines: []string{`{"type":"partial","text":"a","session_id":"a/b"}`, `{"type":"partial","text":"b","session_id":""}`, `{"type":"result","session_id":"ok: then"}`},
			want:  heard{Session: "ok: then", Partials: []string{"a", "b"}},
		},
		"an unusable session after a usable one changes nothing": {
			lines: []string{`{"type":"partial","session_id":"s"}`, `{"type":"result","session_id":"x\\y"}`}, want: heard{Session: "s", Partials: []string{""}},
		},
		"the second result is ignored": {
			lines: []string{`{"type":"result","text":"1","usage":{"n":1}}`, `{"type":"result","text":"2","usage":{"n":2}}`}, want: heard{Text: "1", Usage: `{"n":1}`, Ignored: 1},
		},
		"partials after the result are passed on": {lines: []string{done, world}, want: heard{Text: "done", Partials: []string{"world"}}},
		"an error after partials": {
			lines: []string{hello, oops}, want: heard{Error: "upstream is busy", Exit: 1, Cause: chain.Error, Failure: reported, Partials: []string{"hello "}},
		},
		"an error silences what follows": {
			lines: []string{oops, hello, done, ask, `{"type":"error","message":"another"}`, `{"type":"partial","session_id":"s"}`},
			want:  heard{Error: "upstream is busy", Exit: 1, Cause: chain.Error, Failure: reported, Ignored: 5},
		},
		"an error without words fails the turn": {
			lines: []string{`{"type":"error"}`, done}, want: heard{Exit: 1, Cause: chain.Error, Failure: "reported an error without a message", Ignored: 1},
		},
		"an error with a session keeps it": {
			lines: []string{`{"type":"error","message":"upstream is busy","session_id":"s","usage":{"n":1}}`},
			want:  heard{Error: "upstream is busy", Session: "s", Usage: `{"n":1}`, Exit: 1, Cause: chain.Error, Failure: reported},
		},
		"an error after the result still fails the turn": {
			lines: []string{`{"type":"result","text":"done","usage":{"n":1}}`, oops},
			want:  heard{Text: "done", Error: "upstream is busy", Usage: `{"n":1}`, Exit: 1, Cause: chain.Error, Failure: reported},
		},
		"an error counts for more than the status": {lines: []string{oops}, exit: 7, want: heard{Error: "upstream is busy", Exit: 1, Cause: chain.Error, Failure: reported}},
		"a status counts for more than a result":   {lines: []string{done}, exit: 7, want: heard{Text: "done", Exit: 7, Cause: chain.Exit, Failure: "exited with status 7"}},
		"noise is ignored and is no text": {
			lines: []string{"hello", "", "{}", `{"type":"text","text":"old"}`, `{"type":"session","id":"old"}`, done}, want: heard{Text: "done", Ignored: 5},
		},
		"what asks on a turn without permission is ignored": {lines: []string{ask, done}, want: heard{Text: "done", Ignored: 1}},
		"a role is passed on":                               {lines: []string{`{"type":"partial","text":"hm","role":"thinking"}`}, want: heard{Partials: []string{"thinking: hm"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := printing(t, "lines", c.lines...)
			p.Streaming = !c.quiet
			p.Env[agentExit] = strconv.Itoa(c.exit)
			sink := &recorder{}
			r := run(t, &p, sink, nobody(t))
			got := heard{
				Text: r.Text, Error: r.ErrorMessage, Session: r.SessionID, Usage: string(r.Usage), Exit: r.ExitCode, Ignored: r.Ignored,
			}
			if r.Failure != nil {
				got.Cause, got.Failure = r.Failure.Cause, r.Failure.Text
			}
			for _, p := range sink.partials {
				if p.Role != "" {
					p.Text = p.Role + ": " + p.Text
				}
				got.Partials = append(got.Partials, p.Text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("turn (-want +got):\n%s", diff)
			}
			if r.Succeeded != (r.Failure == nil) || r.Partials != len(sink.partials) || sink.responses != nil {
				t.Errorf("result %+v, told %v", r, sink.responses)
			}
		})
	}
}

func TestA1_AnUnfinishedLastLineIsNoEvent(t *testing.T) {
	p := printing(t, "lines")
	p.Env[agentLines] = `["{\"type\":\"partial\",\"text\":\"whole\"}\n", "{\"type\":\"result\",\"text\":\"cut\"}"]`
	sink := &recorder{}
	r := run(t, &p, sink, nil)
	if diff := cmp.Diff([]string{"whole"}, sink.texts()); diff != "" || r.Text != "" || !r.Succeeded {
		t.Errorf("result %+v, partials (-want +got):\n%s", r, diff)
	}
}
