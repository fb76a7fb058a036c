package agentproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func requestLine(id, rest string) string {
	return fmt.Sprintf(`{"type":"permission_request","request_id":"%s","tool_name":"Bash","input":{}%s}`, id, rest)
}

// permitted is a profile with permission.
func permitted(p Profile) Profile {
	p.Permission = true
	return p
}

func TestAnAgentRunsWhatItIsAllowedAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		answer Answer
		want   string
		told   Answer
	}{
		"allow":                   {Answer{Behavior: Allow, DecisionID: "d-1"}, "ran", Answer{Behavior: Allow, DecisionID: "d-1"}},
		"allow with other input":  {Answer{Behavior: Allow, UpdatedInput: json.RawMessage("{\"command\":\n\"true\"}")}, `ran {"command": "true"}`, Answer{Behavior: Allow, UpdatedInput: json.RawMessage("{\"command\":\n\"true\"}")}},
		"deny":                    {Answer{Message: "denied by hook 'guard': not here", DecisionID: "d-2"}, "not run: denied by hook 'guard': not here", Answer{Message: "denied by hook 'guard': not here", DecisionID: "d-2"}},
		"nothing":                 {Answer{}, "not run: ", Answer{}},
		"an input of no use":      {Answer{Behavior: Allow, UpdatedInput: json.RawMessage(`"x"`)}, "not run: denied: the updated input is not a JSON object", Answer{Message: "denied: the updated input is not a JSON object"}},
		"a behavior of no wire":   {Answer{Behavior: 7}, "not run: ", Answer{}},
		"a deny with other input": {Answer{UpdatedInput: json.RawMessage(`{}`)}, "not run: ", Answer{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := permitted(profile(t, "asks"))
			var envelope string
			d := deciderFunc(func(_ context.Context, r *PermissionRequest, e *chain.Request) Answer {
				envelope = string(e.JSON())
				return c.answer
			})
			sink := &recorder{}
			result := run(t, &p, sink, d)
			if result.Text != c.want || !result.Succeeded {
				t.Errorf("the agent says %q, want %q (%+v)", result.Text, c.want, result)
			}
			want := `{"hook_schema":1,"event":"pre_tool_use","workspace":"` + p.Dir + `","agent_id":"tester","tool_call_id":"1","tool_name":"Bash","input":{"command":"ls"},"request_id":"1"}`
			if diff := cmp.Diff(want, envelope); diff != "" {
				t.Errorf("envelope (-want +got):\n%s", diff)
			}
			told := Response{RequestID: "1", ToolName: "Bash", Answer: c.told}
			if name == "an input of no use" {
				told.Cause = chain.UnusableRewrite
			}
			if diff := cmp.Diff([]Response{told}, sink.responses); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestA5_WithoutPermissionNothingComesBehindTheTurnLine(t *testing.T) {
	p := profile(t, "says-what-it-got")
	result := run(t, &p, &recorder{}, nil)
	if !strings.Contains(result.Text, `"more":"\"\" EOF"`) {
		t.Errorf("the agent got %s", result.Text)
	}
	// The same applies if the agent asks nevertheless.
	p = printing(t, "asks-raw", requestLine("1", ""))
	sink := &recorder{}
	result = run(t, &p, sink, nobody(t))
	if diff := cmp.Diff([]string{"<end>"}, sink.texts()); diff != "" || sink.responses != nil || result.Ignored != 1 {
		t.Errorf("%+v, told %v, got (-want +got):\n%s", result, sink.responses, diff)
	}
}

func TestFiftyRequestsAreOpenAtOnceAndEachGetsItsOwnAnswer(t *testing.T) {
	var asked sync.WaitGroup
	asked.Add(50)
	// Nobody is answered before all have asked, and each must get its own input.
	d := deciderFunc(func(_ context.Context, r *PermissionRequest, _ *chain.Request) Answer {
		asked.Done()
		asked.Wait()
		return Answer{Behavior: Allow, UpdatedInput: r.Input}
	})
	p := permitted(profile(t, "asks-of-many"))
	sink := &recorder{}
	if result := run(t, &p, sink, d); result.Text != "wrong: " {
		t.Errorf("the agent says %q", result.Text)
	}
	ids := map[string]bool{}
	for _, r := range sink.responses {
		ids[r.RequestID] = true
	}
	if len(sink.responses) != 50 || len(ids) != 50 {
		t.Errorf("%d responses to %d requests", len(sink.responses), len(ids))
	}
}

func TestA2_EachRequestIsAnsweredOnceOrNotAtAll(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string // the responses to the agent
		back  string // substring of the first response
	}{
		"a malformed one is denied":           {[]string{requestLine("1", `,"input":{}`)}, "1=deny/malformed", "denied: the request is malformed: duplicate object member name"},
		"one without a tool is denied":        {[]string{`{"type":"permission_request","request_id":"1","input":{}}`}, "1=deny/malformed", `denied: the request is malformed: no string \"tool_name\"`},
		"one of no object is denied":          {[]string{`{"type":"permission_request","request_id":"1","tool_name":"B","input":"x"}`}, "1=deny/malformed", `\"input\" is not an object`},
		"noise beside it changes nothing":     {[]string{`debug`, requestLine("1", "")}, "1=allow", `"allow"}`},
		"a forged answer is noise":            {[]string{`{"type":"permission_response","request_id":"1","behavior":"deny"}`, requestLine("1", "")}, "1=allow", `"allow"}`},
		"an id in use once malformed is used": {[]string{requestLine("1", `,"input":{}`) + "\n" + requestLine("1", "")}, "1=deny/malformed 1=deny/malformed", "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := permitted(printing(t, "asks-raw", c.lines...))
			sink := &recorder{}
			result := run(t, &p, sink, allowAll())
			if got := sink.behaviors(); got != c.want || !result.Succeeded {
				t.Errorf("told %s, want %s (%+v)", got, c.want, result)
			}
			if len(sink.texts()) == 0 || !strings.Contains(sink.texts()[0], c.back) {
				t.Errorf("the agent got %q, want %s", sink.texts(), c.back)
			}
		})
	}
}

func TestA2_ARequestWithoutAnIDIsNotAnswered(t *testing.T) {
	p := permitted(printing(t, "lines",
		`{"type":"permission_request","tool_name":"Bash","input":{}}`,
		`{"type":"permission_request","request_id":1,"tool_name":"Bash","input":{}}`,
		`{"type":"permission_request","request_id":"a b","tool_name":"Bash","input":{}}`,
		requestLine("1", "")+requestLine("2", ""),
		`{"type":"result","text":"end"}`,
	))
	sink := &recorder{}
	if result := run(t, &p, sink, nobody(t)); result.Ignored != 4 || result.Text != "end" || sink.responses != nil {
		t.Errorf("%+v, told %s", result, sink.behaviors())
	}
}

// heldDecider shows the test what is asked, and answers when it is released.
type heldDecider struct {
	asked   chan string
	release chan struct{}
}

func newHeldDecider() *heldDecider {
	return &heldDecider{asked: make(chan string, 10), release: make(chan struct{})}
}

// Decide allows, whatever happened while it was held.
func (d *heldDecider) Decide(ctx context.Context, r *PermissionRequest, _ *chain.Request) Answer {
	d.asked <- r.ToolName
	select {
	case <-d.release:
	case <-ctx.Done():
	}
	return Answer{Behavior: Allow}
}

func TestA3_AnIDUsedTwiceReleasesNeitherCall(t *testing.T) {
	p := permitted(printing(t, "asks-raw",
		`{"type":"permission_request","request_id":"1","tool_name":"Read","input":{}}`,
		`{"type":"permission_request","request_id":"1","tool_name":"Bash","input":{"command":"rm -rf /"}}`,
	))
	d := newHeldDecider()
	sink := &recorder{}
	result := run(t, &p, sink, d)
	if got := sink.behaviors(); got != "1=deny/malformed 1=deny/malformed" || !result.Succeeded {
		t.Errorf("told %s (%+v)", got, result)
	}
	if tool := <-d.asked; tool != "Read" || len(d.asked) != 0 {
		t.Errorf("the decider was asked about %s and %d more", tool, len(d.asked))
	}
	want := `{"type":"permission_response","request_id":"1","behavior":"deny","message":"denied: its request_id is used twice in this turn"}`
	if diff := cmp.Diff([]string{want, want}, sink.texts()); diff != "" {
		t.Errorf("the agent got (-want +got):\n%s", diff)
	}
}

func TestA3_AnIDThatWasAnsweredIsNotAnsweredAgain(t *testing.T) {
	c, out := talk(t, allowAll())
	c.takeLine(t.Context(), []byte(requestLine("1", "")), nil)
	if got := <-out.lines; got != `{"type":"permission_response","request_id":"1","behavior":"allow"}`+"\n" {
		t.Errorf("first answer %s", got)
	}
	c.takeLine(t.Context(), []byte(requestLine("1", "")), nil)
	if got := <-out.lines; !strings.Contains(got, `"behavior":"deny","message":"denied: its request_id is used twice`) {
		t.Errorf("second answer %s", got)
	}
}

// pipe is an agent's input that a test reads line by line.
type pipe struct {
	lines chan string
	told  chan Response
	err   error
}

func (p *pipe) Write(line []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	p.lines <- string(line)
	return len(line), nil
}

func (p *pipe) Close() error { return nil }

// talk is a conversation without a process.
func talk(t *testing.T, d Decider) (*conversation, *pipe) {
	t.Helper()
	p := permitted(profile(t, "none"))
	out := &pipe{lines: make(chan string, 100), told: make(chan Response, 100)}
	c := &conversation{
		profile: &p, dir: p.Dir, maxLine: 100, maxOpen: 2, decider: d, log: discard(), abort: func(error) {},
		delivery: newDelivery(&recorder{}), asks: map[string]*ask{},
	}
	c.outbox = newOutbox(out, c.last, func() func(*Response) {
		return func(r *Response) {
			if r != nil {
				out.told <- *r
			}
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.outbox.run([]byte("turn\n"), true)
	}()
	if got := <-out.lines; got != "turn\n" {
		t.Errorf("the turn line is %q", got)
	}
	t.Cleanup(func() {
		c.silence(errEnded)
		c.outbox.close()
		c.asking.Wait()
		<-done
	})
	return c, out
}

func TestA3_WhatIsDecidedWhileTheIDTurnsAmbiguousIsDenied(t *testing.T) {
	d := newHeldDecider()
	c, out := talk(t, d)
	// A decider that allows although its context is cancelled is overruled when
	// the response is written.
	c.takeLine(t.Context(), []byte(requestLine("1", "")), nil)
	<-d.asked
	c.takeLine(t.Context(), []byte(requestLine("1", `,"input":{}`)), nil)
	for range 2 {
		if got, told := <-out.lines, <-out.told; !strings.Contains(got, `"deny"`) || told.Cause != chain.Malformed {
			t.Errorf("the agent got %s, told %+v", got, told)
		}
	}
}

func TestA4_NothingIsAnsweredAfterAnError(t *testing.T) {
	d := newHeldDecider()
	c, out := talk(t, d)
	c.takeLine(t.Context(), []byte(requestLine("1", "")), nil)
	<-d.asked
	c.takeLine(t.Context(), []byte(`{"type":"error"}`), nil)
	c.takeLine(t.Context(), []byte(requestLine("2", "")), nil)
	c.takeLine(t.Context(), []byte(requestLine("1", "")), nil)
	c.asking.Wait()
	if len(out.lines) != 0 || len(d.asked) != 0 {
		t.Errorf("%d lines written, %d more asked", len(out.lines), len(d.asked))
	}
	// Not even a response that was queued already.
	c.outbox.write(frame{response: Response{RequestID: "3"}})
	if len(out.lines) != 0 {
		t.Errorf("written: %s", <-out.lines)
	}
}

func TestNobodyIsAskedForAnAgentThatHasEnded(t *testing.T) {
	c, out := talk(t, nobody(t))
	c.silence(errEnded)
	c.takeLine(t.Context(), []byte(requestLine("1", "")), nil)
	c.asking.Wait()
	if len(out.lines) != 0 {
		t.Errorf("written: %s", <-out.lines)
	}
}

func TestA7_OneRequestTooManyIsDenied(t *testing.T) {
	d := newHeldDecider()
	c, out := talk(t, d)
	for _, id := range []string{"1", "2", "3"} {
		c.takeLine(t.Context(), []byte(requestLine(id, "")), nil)
	}
	want := `{"type":"permission_response","request_id":"3","behavior":"deny","message":"denied: 2 requests of this turn are already open"}` + "\n"
	if got, told := <-out.lines, <-out.told; got != want || told.Cause != chain.Saturated {
		t.Errorf("the third got %s, told %+v", got, told)
	}
	close(d.release)
	for range 2 {
		if got := <-out.lines; !strings.Contains(got, `"allow"`) {
			t.Errorf("the agent got %s", got)
		}
	}
	c.asking.Wait() // both slots are free again
	c.takeLine(t.Context(), []byte(requestLine("4", "")), nil)
	if got := <-out.lines; !strings.Contains(got, `"request_id":"4","behavior":"allow"`) {
		t.Errorf("the fourth got %s", got)
	}
}

func TestADeciderThatPanicsOrLeavesHasDenied(t *testing.T) {
	for name, d := range map[string]deciderFunc{
		"panics": func(context.Context, *PermissionRequest, *chain.Request) Answer { panic("no such store") },
		"leaves": func(context.Context, *PermissionRequest, *chain.Request) Answer {
			leave()
			return Answer{Behavior: Allow}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, out := talk(t, d)
			c.takeLine(t.Context(), []byte(requestLine("1", "")), nil)
			got, told := <-out.lines, <-out.told
			if !strings.Contains(got, `"deny","message":"denied: the gateway could not decide: internal fault"`) || told.Cause != chain.Panic {
				t.Errorf("the agent got %s, told %+v", got, told)
			}
		})
	}
}

func TestOneDeciderThatIsSlowKeepsNobodyElseWaiting(t *testing.T) {
	d := newHeldDecider()
	c, out := talk(t, deciderFunc(func(ctx context.Context, r *PermissionRequest, e *chain.Request) Answer {
		if r.RequestID == "slow" {
			return d.Decide(ctx, r, e)
		}
		return Answer{Behavior: Allow}
	}))
	c.takeLine(t.Context(), []byte(requestLine("slow", "")), nil)
	<-d.asked
	c.takeLine(t.Context(), []byte(requestLine("quick", "")), nil)
	if got := <-out.lines; !strings.Contains(got, `"request_id":"quick","behavior":"allow"`) {
		t.Errorf("first answered %s", got)
	}
	close(d.release)
	if got := <-out.lines; !strings.Contains(got, `"request_id":"slow","behavior":"allow"`) {
		t.Errorf("then answered %s", got)
	}
}

func TestAResponseThatCouldNotBeWrittenIsReportedAsSuch(t *testing.T) {
	c, out := talk(t, allowAll())
	out.err = errors.New("broken pipe")
	c.outbox.write(frame{response: Response{RequestID: "1", Answer: Answer{Behavior: Allow}}})
	if told := <-out.told; told.RequestID != "1" || told.Answer.Behavior != Allow || !errors.Is(told.Undelivered, out.err) {
		t.Errorf("told %+v", told)
	}
}

func TestAResponseToAnAgentThatHasEndedIsNotReported(t *testing.T) {
	c, out := talk(t, allowAll())
	out.err = os.ErrClosed
	c.outbox.write(frame{response: Response{RequestID: "1"}})
	c.outbox.close()
	done := make(chan struct{})
	c.outbox.send(frame{response: Response{RequestID: "2"}, done: done})
	<-done
	if len(out.told) != 0 {
		t.Errorf("told %+v", <-out.told)
	}
}

func TestA2_ADecisionThatNoLongerCountsKeepsItsName(t *testing.T) {
	c, out := talk(t, allowAll())
	c.deny(errTimeout)
	c.outbox.send(frame{ask: &ask{}, response: Response{RequestID: "1", Answer: Answer{Behavior: Allow, DecisionID: "d-1"}}})
	if got, told := <-out.lines, <-out.told; !strings.Contains(got, `"deny"`) || told.Answer.DecisionID != "d-1" || told.Cause != chain.Timeout {
		t.Errorf("the agent got %s, told %+v", got, told)
	}
}

func TestWhatIsWrongWithARequestIsToldInAFewWords(t *testing.T) {
	c, out := talk(t, nobody(t))
	deep := strings.Repeat(`{"`+strings.Repeat("k", 100)+`":`, 20_000)
	c.takeLine(t.Context(), []byte(`{"type":"permission_request","request_id":"1","input":`+deep+"1"+strings.Repeat("}", 20_001)), nil)
	if got := <-out.lines; len(got) > 400 || !strings.Contains(got, "exceeded max depth") {
		t.Errorf("the agent got %.500s", got)
	}
}

func TestA7_ALineOverTheBoundIsDroppedAndDeniedIfItAsked(t *testing.T) {
	long := strings.Repeat("x", 70<<10)
	for name, c := range map[string]struct {
		line string
		told string
		want Result
	}{
		"noise":                      {long, "", Result{Succeeded: true, Text: "end", Ignored: 1}},
		"a partial":                  {`{"type":"partial","text":"` + long + `"}`, "", Result{Succeeded: true, Text: "end", Ignored: 1}},
		"a request":                  {requestLine("7", `,"description":"`+long+`"`), "7=deny/oversize", Result{Succeeded: true, Text: "end"}},
		"a request, its id at last":  {`{"input":{"c":"` + long + `"},"type":"permission_request","request_id":"7"}`, "7=deny/oversize", Result{Succeeded: true, Text: "end"}},
		"a request of two ids":       {requestLine("7", `,"description":"`+long+`","request_id":"8"`), "", Result{Succeeded: true, Text: "end", Ignored: 1}},
		"a request without an id":    {`{"type":"permission_request","input":{"c":"` + long + `"}}`, "", Result{Succeeded: true, Text: "end", Ignored: 1}},
		"an error still is one":      {`{"type":"error","message":"` + long + `"}`, "", Result{ExitCode: 1, Failure: &chain.Failure{Cause: chain.Error, Text: "reported an error: the line is longer than 65536 bytes"}, ErrorMessage: "the line is longer than 65536 bytes", Ignored: 1}},
		"a result that is lost":      {`{"type":"result","text":"` + long + `"}`, "", Result{ExitCode: 1, Failure: &chain.Failure{Cause: chain.Oversize, Text: "gave a result on a line that is too long"}, Text: "end", Ignored: 1}},
		"a second result":            {`{"type":"result","text":"1st"}` + "\n" + `{"type":"result","text":"` + long + `"}`, "", Result{Succeeded: true, Text: "1st", Ignored: 2}},
		"a line of exactly the most": {`{"type":"partial","text":"` + long[:65536-28] + `"}`, "", Result{Succeeded: true, Text: "end", Partials: 1}},
		"a line of one byte more":    {`{"type":"partial","text":"` + long[:65536-27] + `"}`, "", Result{Succeeded: true, Text: "end", Ignored: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := permitted(printing(t, "lines", c.line, `{"type":"result","text":"end"}`))
			sink := &recorder{}
			got, err := Run(t.Context(), Turn{Message: "hi"}, Options{Profile: p, Sink: sink, Decider: nobody(t), MaxLineBytes: 64 << 10})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			// The agent does not wait for the response, so it may have ended before it.
			if told := sink.behaviors(); told != c.told && told != "" {
				t.Errorf("told %q, want %q", told, c.told)
			}
		})
	}
}

func TestA7_ARequestOverTheBoundIsDenied(t *testing.T) {
	p := permitted(printing(t, "asks-raw", requestLine("7", `,"description":"`+strings.Repeat("x", 70<<10)+`"`)))
	sink := &recorder{}
	result, err := Run(t.Context(), Turn{Message: "hi"}, Options{Profile: p, Sink: sink, Decider: nobody(t), MaxLineBytes: 64 << 10})
	want := `{"type":"permission_response","request_id":"7","behavior":"deny","message":"denied: the line is longer than 65536 bytes"}`
	if diff := cmp.Diff([]string{want}, sink.texts()); diff != "" || err != nil || !result.Succeeded {
		t.Errorf("%+v, %v, the agent got (-want +got):\n%s", result, err, diff)
	}
}

func TestA11_ASinkThatBlocksKeepsNoAnswerBack(t *testing.T) {
	answered := make(chan struct{})
	sink := &recorder{}
	// The sink is blocked in the partial until the request after it has been
	// decided.
	sink.onPartial = func(ctx context.Context, _ Partial) error {
		select {
		case <-answered:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	d := deciderFunc(func(context.Context, *PermissionRequest, *chain.Request) Answer {
		close(answered)
		return Answer{Behavior: Allow}
	})
	p := permitted(profile(t, "asks"))
	if result := run(t, &p, sink, d); result.Text != "ran" || sink.behaviors() != "1=allow" {
		t.Errorf("%+v, told %s", result, sink.behaviors())
	}
}

func TestA11_WhatWaitsForASlowSinkIsBoundedAndNothingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		took := make(chan struct{})
		sink.onPartial = func(context.Context, Partial) error { <-took; return nil }
		d := newDelivery(sink)
		delivered := make(chan error)
		go func() { delivered <- d.run(t.Context()) }()
		piece := strings.Repeat("p", maxWaiting/4)
		given := 0
		go func() {
			for range 20 {
				d.partial(Partial{Text: piece})
				given++
			}
			d.close()
		}()
		synctest.Wait() // one is with the sink, and four are queued
		d.place()(&Response{RequestID: "1"})
		if given != 5 {
			t.Errorf("%d pieces are on their way", given)
		}
		close(took)
		if err := <-delivered; err != nil || given != 20 || len(sink.partials) != 20 || len(sink.responses) != 1 {
			t.Errorf("%v, given %d, taken %d and %d", err, given, len(sink.partials), len(sink.responses))
		}
	})
}

func TestA11_PartialsWithoutATextAreBoundedTooWhileTheSinkIsSlow(t *testing.T) {
	for name, p := range map[string]Partial{"empty": {}, "a role alone": {Role: strings.Repeat("r", maxWaiting/16)}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const all = maxWaiting / 16
				sink, taken := &recorder{}, 0
				took := make(chan struct{})
				sink.onPartial = func(context.Context, Partial) error { taken++; <-took; return nil }
				d := newDelivery(sink)
				delivered := make(chan error)
				go func() { delivered <- d.run(t.Context()) }()
				given := 0
				go func() {
					for range all {
						d.partial(p)
						given++
					}
					d.close()
				}()
				synctest.Wait()
				if most := maxWaiting/p.size() + 2; given > most { // one is with the sink
					t.Errorf("%d partials are on their way, want at most %d", given, most)
				}
				close(took)
				if err := <-delivered; err != nil || taken != all {
					t.Errorf("%v, taken %d", err, taken)
				}
			})
		})
	}
}

func TestAResponseComesBeforeWhatTheAgentSaysToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		d := newDelivery(&recorder{
			onPartial: func(_ context.Context, p Partial) error { told = append(told, p.Text); return nil },
			onAnswer:  func(_ context.Context, r Response) error { told = append(told, r.RequestID); return nil },
		})
		ended := make(chan error)
		go func() { ended <- d.run(t.Context()) }()
		d.partial(Partial{Text: "before"})
		written, givenUp := d.place(), d.place()
		d.partial(Partial{Text: "thanks"}) // read before the writer of the response has returned
		synctest.Wait()
		if diff := cmp.Diff([]string{"before"}, told); diff != "" {
			t.Errorf("while the response is written (-want +got):\n%s", diff)
		}
		givenUp(nil)
		written(&Response{RequestID: "1"})
		d.place() // never settled
		d.partial(Partial{Text: "end"})
		d.close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"before", "1", "thanks", "end"}, told); diff != "" {
			t.Errorf("in the end (-want +got):\n%s", diff)
		}
	})
}

func TestA11_AnAgentThatDoesNotReadIsNotKeptFromWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		d := newDelivery(sink)
		ended := make(chan error)
		go func() { ended <- d.run(t.Context()) }()
		settle := d.place()
		for range 20 {
			d.partial(Partial{Text: strings.Repeat("p", maxWaiting/4)})
		}
		settle(&Response{RequestID: "1"})
		d.close()
		if err := <-ended; err != nil || len(sink.partials) != 20 || len(sink.responses) != 1 {
			t.Errorf("%v, taken %d and %d", err, len(sink.partials), len(sink.responses))
		}
	})
}

func TestWhatComesAfterTheSinkFailedIsNotKept(t *testing.T) {
	d := newDelivery(&recorder{onPartial: func(context.Context, Partial) error { return errors.New("gone") }})
	d.partial(Partial{Text: "a"})
	if err := d.run(t.Context()); err == nil || err.Error() != "gone" {
		t.Errorf("run = %v", err)
	}
	d.partial(Partial{Text: "b"})
	d.place()(&Response{})
	if len(d.queue) != 0 {
		t.Errorf("%d events are kept", len(d.queue))
	}
}
