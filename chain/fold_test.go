package chain

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// says is a binding that always gives the same answer.
type says Answer

func (s says) Ask(context.Context, Call) Answer { return Answer(s) }

// asks is a binding made of a function.
type asks func(ctx context.Context, call Call) Answer

func (f asks) Ask(ctx context.Context, call Call) Answer { return f(ctx, call) }

// hangs is a binding that answers only when its time is up or the caller hung
// up.
func hangs() Binding {
	return asks(func(ctx context.Context, call Call) Answer {
		select {
		case <-ctx.Done():
			return Fail(Internal, "read by nobody", "")
		case <-time.After(time.Until(call.Deadline)):
			return call.Expired("")
		}
	})
}

func allow() Binding             { return says{Outcome: Outcome{Decision: Allow}} }
func deny(reason string) Binding { return says{Outcome: Outcome{Decision: Deny, Reason: reason}} }
func breaks(cause Cause) Binding { return says(Fail(cause, "broke", "")) }
func modify(input, why string) says {
	return says{Outcome: Outcome{Decision: Modify, Input: json.RawMessage(input), Reason: why}}
}

func replace(output string, isError *bool) says {
	return says{Outcome: Outcome{Decision: Replace, Output: json.RawMessage(output), IsError: isError}}
}

// hook is a participant as a hooks file would declare it, changed by edits.
func hook(name string, b Binding, edits ...func(*Participant)) *Participant {
	p := &Participant{Name: name, Binding: b, Events: Events(), Timeout: time.Second}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func mayFail(p *Participant)     { p.OnFailure = AllowOnFailure }
func guard(p *Participant)       { p.Guard = true }
func shadow(p *Participant)      { p.Mode, p.Shadows = Shadow, NewShadowBound(64) }
func interceptor(p *Participant) { p.Kind = Interceptor }
func only(e Event) func(*Participant) {
	return func(p *Participant) { p.Events = []Event{e} }
}

func onTools(tools ...string) func(*Participant) {
	return func(p *Participant) { p.Tools = tools }
}

func seenBy(o ParticipantObserver) func(*Participant) {
	return func(p *Participant) { p.Observer = o }
}

func when(f func(*Request) bool) func(*Participant) {
	return func(p *Participant) { p.When = func(r *Request, _ time.Time) bool { return f(r) } }
}

func chainOf(tb testing.TB, participants ...*Participant) *Chain {
	tb.Helper()
	return newChain(tb, Options{Name: "test", Participants: participants, Budget: 20 * time.Second})
}

func newChain(tb testing.TB, o Options) *Chain {
	tb.Helper()
	c, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

const (
	preText  = `{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"agent-1","tool_call_id":"call-1","tool_name":"shell","input":{"command":"ls"}}`
	postText = `{"hook_schema":1,"event":"post_tool_use","workspace":"/repo","agent_id":"agent-1","tool_call_id":"call-1","tool_name":"shell","input":{"command":"ls"},"output":"TOKEN","is_error":true}`
)

func request(tb testing.TB, text string) *Request {
	tb.Helper()
	r, err := ParseRequest([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

// witness records what a participant's observer was told.
type witness struct {
	mu       sync.Mutex
	answers  []Answer
	opened   []Cause
	flips    []string
	verdicts []Verdict
}

func (w *witness) Answered(_ Event, a Answer, _ time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, a)
}

func (w *witness) FailedOpen(c Cause) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened = append(w.opened, c)
}

func (w *witness) Flipped(from, to Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flips = append(w.flips, from.String()+"→"+to.String())
}

func (w *witness) Decided(_ *Request, v *Verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.verdicts = append(w.verdicts, *v)
}

func TestOutcomesReadAsProductText(t *testing.T) {
	for name, tc := range map[string]struct {
		text         string
		participants []*Participant
		want         Outcome
		cause        Cause
	}{
		"C1 the first deny ends the chain": {
			preText,
			[]*Participant{hook("guard", deny("not here")), hook("late", deny("too late"))},
			Outcome{Decision: Deny, Reason: "denied by hook 'guard': not here"},
			NoCause,
		},
		"C5 a deny without a reason names its hand alone": {
			preText,
			[]*Participant{hook("guard", deny(""))},
			Outcome{Decision: Deny, Reason: "denied by hook 'guard'"},
			NoCause,
		},
		"C2 C5 rewrites compose and name every hand in order": {
			preText,
			[]*Participant{
				hook("first", modify(`{"n":1}`, ""), interceptor), hook("quiet", allow()), hook("second", modify(`{"n":2}`, "narrowed")),
			},
			Outcome{Decision: Modify, Input: json.RawMessage(`{"n":2}`), Reason: "interceptor 'first'; hook 'second': narrowed"},
			NoCause,
		},
		"C2 a rewrite outlives a participant that allows": {
			preText,
			[]*Participant{hook("first", modify(`{"n":1}`, "")), hook("last", allow())},
			Outcome{Decision: Modify, Input: json.RawMessage(`{"n":1}`), Reason: "hook 'first'"},
			NoCause,
		},
		"C2 a later one can still deny a rewrite": {
			preText,
			[]*Participant{hook("first", modify(`{"n":1}`, "")), hook("last", deny("no"))},
			Outcome{Decision: Deny, Reason: "denied by hook 'last': no"},
			NoCause,
		},
		"C3 a modify to something other than an object is a failure": {
			preText,
			[]*Participant{hook("first", modify(`"rm -rf /"`, ""))},
			Outcome{Decision: Deny, Reason: "hook 'first' could not answer and denies on failure: answered modify with an input that is not a JSON object"},
			UnusableRewrite,
		},
		"C3 a modify without an input is a failure": {
			preText,
			[]*Participant{hook("first", modify(``, ""))},
			Outcome{Decision: Deny, Reason: "hook 'first' could not answer and denies on failure: answered modify with an input that is not a JSON object"},
			UnusableRewrite,
		},
		"C3 an unusable rewrite that may fail open leaves the call as it was": {
			preText,
			[]*Participant{hook("first", modify(`{"n":1}`, "")), hook("second", modify(`[]`, ""), mayFail)},
			Outcome{Decision: Modify, Input: json.RawMessage(`{"n":1}`), Reason: "hook 'first'; hook 'second' could not answer and allows on failure: answered modify with an input that is not a JSON object"},
			NoCause,
		},
		"C6 a failure denies and says who and why": {
			preText,
			[]*Participant{hook("guard", says(Fail(Status, "answered with status 503", "at http://127.0.0.1:1/")))},
			Outcome{Decision: Deny, Reason: "hook 'guard' could not answer and denies on failure: answered with status 503"},
			Status,
		},
		"C6 an interceptor's failure denies": {
			preText,
			[]*Participant{hook("vault", says(Fail(Error, "sealed", "")), interceptor)},
			Outcome{Decision: Deny, Reason: "interceptor 'vault' could not answer and denies on failure: sealed"},
			Error,
		},
		"C6 a failure that opens is said in the answer": {
			preText,
			[]*Participant{hook("dlp", breaks(Timeout), mayFail), hook("other", breaks(Connect), mayFail)},
			Outcome{Decision: Allow, Reason: "hook 'dlp' could not answer and allows on failure: broke; hook 'other' could not answer and allows on failure: broke"},
			NoCause,
		},
		"C6 a failure that opens is said beside a rewrite": {
			preText,
			[]*Participant{hook("dlp", breaks(Timeout), mayFail), hook("m", modify(`{"n":1}`, "narrowed"))},
			Outcome{Decision: Modify, Input: json.RawMessage(`{"n":1}`), Reason: "hook 'm': narrowed; hook 'dlp' could not answer and allows on failure: broke"},
			NoCause,
		},
		"a wrong decision at pre is a failure": {
			preText,
			[]*Participant{hook("guard", replace(`"x"`, nil))},
			Outcome{Decision: Deny, Reason: "hook 'guard' could not answer and denies on failure: answered replace, which is not allowed at pre_tool_use"},
			WrongDecision,
		},
		"a wrong decision at post is a failure": {
			postText,
			[]*Participant{hook("guard", modify(`{}`, ""))},
			Outcome{Decision: Deny, Reason: "hook 'guard' could not answer and denies on failure: answered modify, which is not allowed at post_tool_use"},
			WrongDecision,
		},
		"C16 the zero outcome of a participant is a failure": {
			preText,
			[]*Participant{hook("guard", says{})},
			Outcome{Decision: Deny, Reason: "hook 'guard' could not answer and denies on failure: answered without a decision"},
			WrongDecision,
		},
		"C7 after the call a deny carries the reason to show": {
			postText,
			[]*Participant{hook("dlp", deny("a card number"))},
			Outcome{Decision: Deny, Reason: "denied by hook 'dlp': a card number"},
			NoCause,
		},
		"C8 a replace that says nothing of is_error keeps the claim": {
			postText,
			[]*Participant{hook("dlp", replace(`"[redacted]"`, nil))},
			Outcome{Decision: Replace, Output: json.RawMessage(`"[redacted]"`), IsError: yes(), Reason: "hook 'dlp'"},
			NoCause,
		},
		"C8 a claim once changed is carried by a later replace": {
			postText,
			[]*Participant{hook("a", replace(`1`, no())), hook("b", replace(`null`, nil))},
			Outcome{Decision: Replace, Output: json.RawMessage(`null`), IsError: no(), Reason: "hook 'a'; hook 'b'"},
			NoCause,
		},
		"a replace without an output is a failure": {
			postText,
			[]*Participant{hook("dlp", replace(``, nil))},
			Outcome{Decision: Deny, Reason: "hook 'dlp' could not answer and denies on failure: answered replace without an output"},
			Malformed,
		},
		"C13 a guard that rewrites has failed": {
			preText,
			[]*Participant{hook("guard", modify(`{}`, ""), guard)},
			Outcome{Decision: Deny, Reason: "hook 'guard' could not answer and denies on failure: answered modify, but a guard may only allow or deny"},
			WrongDecision,
		},
		"an unset coverage denies": {
			preText,
			[]*Participant{hook("other", allow(), onTools("write_file"))},
			Outcome{Decision: Deny, Reason: "denied: no participant of chain 'test' applies to tool 'shell' at pre_tool_use"},
			Uncovered,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := chainOf(t, tc.participants...).Decide(t.Context(), request(t, tc.text), 0)
			if diff := cmp.Diff(tc.want, got.Outcome); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if got.Cause != tc.cause {
				t.Errorf("cause %v, want %v", got.Cause, tc.cause)
			}
			if denied := got.Outcome.Decision == Deny && got.Cause != Uncovered; denied != (got.By != nil) {
				t.Errorf("decided %v by %v", got.Outcome.Decision, got.By)
			}
		})
	}
}

func TestC1_NobodyAfterADenyIsAsked(t *testing.T) {
	for _, guards := range []bool{false, true} {
		asked := &witness{}
		late := hook("late", asks(func(context.Context, Call) Answer {
			asked.Answered(PreToolUse, Answer{}, 0)
			return Answer{Outcome: Outcome{Decision: Allow}}
		}))
		first := hook("guard", deny("no"))
		first.Guard = guards
		shadowed := hook("shadow", late.Binding, shadow)
		c := chainOf(t, first, late, shadowed)
		v := c.Decide(t.Context(), request(t, preText), 0)
		c.Wait()
		if len(v.Steps) != 1 || v.Steps[0].Participant != first || len(asked.answers) != 0 {
			t.Errorf("guards %v: %d steps, %d asked behind the deny", guards, len(v.Steps), len(asked.answers))
		}
	}
}

func TestC2_EachParticipantIsAskedAboutTheCallAsItStands(t *testing.T) {
	var saw []string
	look := asks(func(_ context.Context, call Call) Answer {
		saw = append(saw, string(call.Request.Input())+string(call.Request.Output()))
		return Answer{Outcome: Outcome{Decision: Allow}}
	})
	chainOf(t, hook("a", look), hook("m", modify(`{"n":1}`, "")), hook("b", look)).Decide(t.Context(), request(t, preText), 0)
	chainOf(t, hook("a", look), hook("r", replace(`"x"`, nil)), hook("b", look)).Decide(t.Context(), request(t, postText), 0)
	want := []string{`{"command":"ls"}`, `{"n":1}`, `{"command":"ls"}"TOKEN"`, `{"command":"ls"}"x"`}
	if diff := cmp.Diff(want, saw); diff != "" {
		t.Errorf("calls as seen (-want +got):\n%s", diff)
	}
}

func TestC4_WhoAppliesIsDecidedByEventAndTool(t *testing.T) {
	for name, tc := range map[string]struct {
		p    *Participant
		want bool
	}{
		"every tool":            {hook("h", allow()), true},
		"exact name":            {hook("h", allow(), onTools("read_file", "shell")), true},
		"another case":          {hook("h", allow(), onTools("Shell")), false},
		"a longer name":         {hook("h", allow(), onTools("shell2")), false},
		"glob":                  {hook("h", allow(), onTools("sh*")), true},
		"another event":         {hook("h", allow(), only(PostToolUse)), false},
		"event of the call":     {hook("h", allow(), only(PreToolUse)), true},
		"a shadow alone":        {hook("h", allow(), shadow), false},
		"condition not holding": {hook("h", deny(""), when(func(*Request) bool { return false })), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChain(t, Options{Name: "test", Participants: []*Participant{tc.p}, Budget: time.Second, OnUncovered: AllowUncovered})
			v := c.Decide(t.Context(), request(t, preText), 0)
			c.Wait()
			if v.Outcome.Decision != Allow {
				t.Errorf("decided %v", v.Outcome.Decision)
			}
			if covered := v.Cause != Uncovered; covered != tc.want {
				t.Errorf("covered %v, want %v", covered, tc.want)
			}
		})
	}
}

func TestC4_AToolIsAskedAboutUnderItsNameAndItsAlias(t *testing.T) {
	aliased := func(name, alias string) string {
		return strings.Replace(preText, `"tool_name":"shell"`, `"tool_name":"`+name+`","tool_alias":"`+alias+`"`, 1)
	}
	for name, tc := range map[string]struct {
		text string
		want string
	}{
		"by its name":                {aliased("Bash", "x"), "denied by hook 'Bash': by name"},
		"by its alias":               {aliased("Execute", "shell"), "denied by hook 'shell': by alias"},
		"by both, in order":          {aliased("Bash", "shell"), "denied by hook 'Bash': by name"},
		"by a glob":                  {aliased("@git/push", "mcp__git__push"), "denied by hook 'mcp': by glob"},
		"an alias hides no name":     {aliased("Bash", "harmless"), "denied by hook 'Bash': by name"},
		"an empty alias is none":     {aliased("harmless", ""), "denied: no participant of chain 'test' applies to tool 'harmless' at pre_tool_use"},
		"an alias that nobody names": {aliased("harmless", "too"), "denied: no participant of chain 'test' applies to tool 'harmless' at pre_tool_use"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChain(t, Options{Name: "test", Budget: time.Second, OnUncovered: DenyUncovered, Participants: []*Participant{
				hook("Bash", deny("by name"), onTools("Bash")), hook("shell", deny("by alias"), onTools("shell")), hook("mcp", deny("by glob"), onTools("mcp__*")),
			}})
			if v := c.Decide(t.Context(), request(t, tc.text), 0); v.Outcome.Decision != Deny || v.Outcome.Reason != tc.want {
				t.Errorf("outcome %+v, want a deny: %s", v.Outcome, tc.want)
			}
		})
	}
}

func TestC4_AConditionSeesTheCallAsItNowStands(t *testing.T) {
	rewritten := when(func(r *Request) bool { return strings.Contains(string(r.Input()), `"n":1`) })
	c := chainOf(t, hook("m", modify(`{"n":1}`, "")), hook("guard", deny("saw it"), rewritten))
	if v := c.Decide(t.Context(), request(t, preText), 0); v.Outcome.Reason != "denied by hook 'guard': saw it" {
		t.Errorf("outcome %+v", v.Outcome)
	}
	c = chainOf(t, hook("guard", deny("saw it"), rewritten), hook("m", modify(`{"n":1}`, "")))
	if v := c.Decide(t.Context(), request(t, preText), 0); v.Outcome.Decision != Modify {
		t.Errorf("outcome %+v", v.Outcome)
	}
}

func TestC4_AConditionThatPanicsMeansThatTheParticipantIsAsked(t *testing.T) {
	c := chainOf(t, hook("guard", deny("asked"), when(func(*Request) bool { panic("bug") })))
	if v := c.Decide(t.Context(), request(t, preText), 0); v.Outcome.Reason != "denied by hook 'guard': asked" {
		t.Errorf("outcome %+v", v.Outcome)
	}
}

func TestC6_AFailureIsReportedAlways(t *testing.T) {
	for _, open := range []bool{false, true} {
		w := &witness{}
		p := hook("dlp", breaks(Connect), seenBy(w))
		if open {
			mayFail(p)
		}
		chainOf(t, p).Decide(t.Context(), request(t, preText), 0)
		if len(w.answers) != 1 || w.answers[0].Failure == nil || w.answers[0].Failure.Cause != Connect {
			t.Errorf("open %v: reported %+v", open, w.answers)
		}
		if (len(w.opened) == 1) != open {
			t.Errorf("open %v: failed open %v", open, w.opened)
		}
	}
}

func TestC6_APanicIsAFailureAtBothEvents(t *testing.T) {
	for _, text := range []string{preText, postText} {
		for _, guards := range []bool{false, true} {
			p := hook("vault", asks(func(context.Context, Call) Answer { panic("no key") }))
			other := hook("other", allow())
			p.Guard, other.Guard = guards, guards
			v := chainOf(t, p, other).Decide(t.Context(), request(t, text), 0)
			want := Outcome{Decision: Deny, Reason: "hook 'vault' could not answer and denies on failure: panicked: no key"}
			if diff := cmp.Diff(want, v.Outcome); diff != "" || v.Cause != Panic {
				t.Errorf("cause %v, outcome (-want +got):\n%s", v.Cause, diff)
			}
		}
	}
}

func TestC6_AGuardWhoseGoroutineExitsIsAFailure(t *testing.T) {
	gone := hook("gone", asks(func(context.Context, Call) Answer { runtime.Goexit(); return Answer{} }), guard)
	v := chainOf(t, gone, hook("other", allow(), guard)).Decide(t.Context(), request(t, preText), 0)
	if v.Cause != Panic || v.By != gone {
		t.Errorf("cause %v by %v", v.Cause, v.By)
	}
}

func TestC9_ACallerThatHungUpEndsTheChainAndCountsAgainstNobody(t *testing.T) {
	for _, guards := range []bool{false, true} {
		w := &witness{}
		ctx, hangUp := context.WithCancelCause(t.Context())
		leaves := hook("slow", asks(func(ctx context.Context, _ Call) Answer {
			hangUp(errors.New("connection closed"))
			<-ctx.Done()
			return Answer{Outcome: Outcome{Decision: Allow}}
		}), mayFail, seenBy(w))
		after := hook("after", allow(), seenBy(w))
		leaves.Guard, after.Guard = guards, guards
		c := newChain(t, Options{Name: "test", Participants: []*Participant{leaves, after, hook("s", allow(), shadow, seenBy(w))}, Budget: time.Second, Observer: w})
		v := c.Decide(ctx, request(t, preText), 0)
		c.Wait()
		want := Outcome{Decision: Deny, Reason: "the caller stopped waiting: connection closed"}
		if diff := cmp.Diff(want, v.Outcome); diff != "" || !v.Abandoned {
			t.Errorf("guards %v: abandoned %v, outcome (-want +got):\n%s", guards, v.Abandoned, diff)
		}
		if len(w.answers)+len(w.opened)+len(w.verdicts) != 0 {
			t.Errorf("guards %v: counted %d answers, %d opened, %d verdicts", guards, len(w.answers), len(w.opened), len(w.verdicts))
		}
	}
}

func TestC11_AFaultOfTheGatewayDenies(t *testing.T) {
	bug := &panicking{}
	for name, c := range map[string]*Chain{
		"in a participant's observer": chainOf(t, hook("h", allow(), seenBy(bug))),
		"in the chain's observer":     newChain(t, Options{Name: "test", Participants: []*Participant{hook("h", allow())}, Budget: time.Second, Observer: bug}),
		"in both": newChain(t, Options{
			Name: "test", Participants: []*Participant{hook("h", allow(), seenBy(bug))}, Budget: time.Second, Observer: bug,
		}),
	} {
		t.Run(name, func(t *testing.T) {
			v := c.Decide(t.Context(), request(t, preText), 0)
			want := Outcome{Decision: Deny, Reason: "the gateway could not decide: internal fault"}
			if diff := cmp.Diff(want, v.Outcome); diff != "" || v.Cause != Internal {
				t.Errorf("cause %v, outcome (-want +got):\n%s", v.Cause, diff)
			}
			if !strings.Contains(v.Detail, "observer bug") {
				t.Errorf("detail %.80q does not say what broke", v.Detail)
			}
		})
	}
}

// panicking is an observer that panics.
type panicking struct{}

func (*panicking) Answered(Event, Answer, time.Duration) { panic("observer bug") }
func (*panicking) FailedOpen(Cause)                      { panic("observer bug") }
func (*panicking) Flipped(Decision, Decision)            { panic("observer bug") }
func (*panicking) Decided(*Request, *Verdict)            { panic("observer bug") }

func TestC12_HangingHooksThatMayFailOpenStillEndInsideTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChain(t, Options{Name: "test", Budget: 4 * time.Second, Participants: []*Participant{
			hook("a", hangs(), mayFail, lasting(1500*time.Millisecond)),
			hook("b", hangs(), mayFail, lasting(1500*time.Millisecond)),
			hook("c", hangs(), mayFail, lasting(1500*time.Millisecond)),
		}})
		began := time.Now()
		v := c.Decide(t.Context(), request(t, preText), 0)
		if took := time.Since(began); took >= 4*time.Second {
			t.Errorf("took %v, which is not inside the budget", took)
		}
		want := Outcome{Decision: Deny, Reason: "hook 'c' could not answer within the chain's budget of 4000 ms: timed out after 950 ms"}
		if diff := cmp.Diff(want, v.Outcome); diff != "" || v.Cause != Budget {
			t.Errorf("cause %v, outcome (-want +got):\n%s", v.Cause, diff)
		}
		if got := v.Steps[0].Answer.Failure; got.Cause != Timeout || got.Text != "timed out after 1500 ms" {
			t.Errorf("first failure %+v", got)
		}
	})
}

func TestC12_WhoHadTheWholeTimeIsLateOnItsOwnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The timeout equals the budget. If the failure counted as the budget's, a
		// breaker would never count an endpoint that hangs.
		for _, edit := range []func(*Participant){mayFail, guard} {
			p := hook("dead", hangs(), edit, lasting(time.Hour))
			c := newChain(t, Options{Name: "test", Budget: 500 * time.Millisecond, Participants: []*Participant{p}})
			began := time.Now()
			v := c.Decide(t.Context(), request(t, preText), 0)
			if took := time.Since(began); took >= 500*time.Millisecond {
				t.Errorf("took %v", took)
			}
			if f := v.Steps[0].Answer.Failure; f.Cause != Timeout || f.Text != "timed out after 440 ms" {
				t.Errorf("failure %+v", f)
			}
			if want := p.OnFailure.String(); v.Outcome.Decision.String() != want {
				t.Errorf("decided %v, want %s", v.Outcome.Decision, want)
			}
		}
	})
}

func TestC12_NobodyIsAskedOnceTheTimeHasRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		oblivious := asks(func(context.Context, Call) Answer {
			time.Sleep(2 * time.Second) // ignores its deadline
			return Fail(Timeout, "timed out", "")
		})
		asked := false
		c := newChain(t, Options{Name: "test", Budget: time.Second, Participants: []*Participant{
			hook("a", oblivious, mayFail, lasting(500*time.Millisecond)),
			hook("b", asks(func(context.Context, Call) Answer { asked = true; return Answer{} }), mayFail),
		}})
		v := c.Decide(t.Context(), request(t, preText), 0)
		want := Outcome{Decision: Deny, Reason: "hook 'b' could not answer within the chain's budget of 1000 ms: was not asked: no time was left"}
		if diff := cmp.Diff(want, v.Outcome); diff != "" || asked {
			t.Errorf("asked %v, outcome (-want +got):\n%s", asked, diff)
		}
	})
}

func TestC12_ConditionsThatTakeTheTimeDeny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(took time.Duration) func(*Participant) {
			return when(func(*Request) bool { time.Sleep(took); return false })
		}
		for name, tc := range map[string]struct {
			participants []*Participant
			by           string
		}{
			"the last one":  {[]*Participant{hook("a", allow(), slow(400*time.Millisecond)), hook("b", allow(), mayFail, slow(600*time.Millisecond))}, "b"},
			"one behind it": {[]*Participant{hook("a", allow(), slow(100*time.Millisecond)), hook("b", allow(), slow(time.Hour)), hook("c", allow())}, "b"},
			"a guard":       {[]*Participant{hook("a", allow(), guard, slow(2*time.Second)), hook("b", allow(), guard)}, "a"},
		} {
			c := newChain(t, Options{Name: "test", Budget: time.Second, OnUncovered: AllowUncovered, Participants: tc.participants})
			v := c.Decide(t.Context(), request(t, preText), 0)
			want := Outcome{Decision: Deny, Reason: "hook '" + tc.by + "' could not answer within the chain's budget of 1000 ms: was not asked: no time was left"}
			if diff := cmp.Diff(want, v.Outcome); diff != "" {
				t.Errorf("%s: outcome (-want +got):\n%s", name, diff)
			}
		}
	})
}

func TestC12_WhatReadingTheCallTookCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		time.Sleep(time.Second)
		c := newChain(t, Options{Name: "test", Budget: 3 * time.Second, Participants: []*Participant{hook("a", hangs(), lasting(time.Minute))}})
		v := c.DecideSince(t.Context(), request(t, preText), 0, began)
		want := Outcome{Decision: Deny, Reason: "hook 'a' could not answer within the chain's budget of 3000 ms: timed out after 1950 ms"}
		if diff := cmp.Diff(want, v.Outcome); diff != "" || v.Took != 2950*time.Millisecond {
			t.Errorf("took %v, outcome (-want +got):\n%s", v.Took, diff)
		}
		if v := c.DecideSince(t.Context(), request(t, preText), 0, began); v.Cause != Budget || v.Took != 2950*time.Millisecond {
			t.Errorf("once it is over: cause %v after %v", v.Cause, v.Took)
		}
	})
}

func TestC12_ACallerMayWantItsAnswerSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		v := chainOf(t, hook("a", hangs(), mayFail)).Decide(t.Context(), request(t, preText), 300*time.Millisecond)
		if took := time.Since(began); took >= 300*time.Millisecond || v.Cause != Budget {
			t.Errorf("took %v, cause %v", took, v.Cause)
		}
		began = time.Now()
		v = chainOf(t, hook("a", hangs())).Decide(t.Context(), request(t, preText), time.Hour)
		if took := time.Since(began); took != time.Second || v.Cause != Timeout {
			t.Errorf("a longer wish: took %v, cause %v", took, v.Cause)
		}
	})
}

// person answers after a while.
func person(after time.Duration, a Answer) Binding {
	return asks(func(ctx context.Context, call Call) Answer {
		ctx, cancel := context.WithDeadline(ctx, call.Deadline)
		defer cancel()
		select {
		case <-time.After(after):
			return a
		case <-ctx.Done():
			return call.Expired("")
		}
	})
}

func ownTime(p *Participant) { p.OwnTime, p.Timeout = true, time.Minute }

func TestC12_TimeOfOnesOwnIsNotTakenFromTheOthers(t *testing.T) {
	allowed := Answer{Outcome: Outcome{Decision: Allow}}
	for name, tc := range map[string]struct {
		participants []*Participant
		within       time.Duration
		want         Outcome
		cause        Cause
		took         time.Duration
	}{
		"longer than the budget": {
			[]*Participant{hook("a", person(time.Second/2, allowed)), hook("p", person(40*time.Second, allowed), ownTime), hook("b", person(time.Second/4, allowed))},
			0,
			Outcome{Decision: Allow},
			NoCause, 40*time.Second + 3*time.Second/4,
		},
		"the budget goes on counting behind it": {
			[]*Participant{hook("p", person(40*time.Second, allowed), ownTime), hook("b", hangs(), mayFail), hook("c", hangs(), mayFail)},
			0,
			Outcome{Decision: Deny, Reason: "hook 'c' could not answer within the chain's budget of 1000 ms: timed out after 10 ms"},
			Budget, 40*time.Second + 950*time.Millisecond,
		},
		"its own time runs out": {
			[]*Participant{hook("p", person(time.Hour, allowed), ownTime)},
			0,
			Outcome{Decision: Deny, Reason: "hook 'p' could not answer and denies on failure: timed out after 60000 ms"},
			Timeout, time.Minute,
		},
		"the caller does not wait for it": {
			[]*Participant{hook("p", person(time.Hour, allowed), ownTime)},
			10 * time.Second,
			Outcome{Decision: Deny, Reason: "hook 'p' could not answer within the 10000 ms that the caller waits: timed out after 9950 ms"},
			Budget, 9950 * time.Millisecond,
		},
		"the caller waits for it and not for the next": {
			[]*Participant{hook("p", person(9*time.Second, allowed), ownTime), hook("b", hangs())},
			9500 * time.Millisecond,
			Outcome{Decision: Deny, Reason: "hook 'b' could not answer within the chain's budget of 1000 ms: timed out after 450 ms"},
			Budget, 9450 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newChain(t, Options{Name: "test", Budget: time.Second, Participants: tc.participants})
				began := time.Now()
				v := c.Decide(t.Context(), request(t, preText), tc.within)
				if diff := cmp.Diff(tc.want, v.Outcome); diff != "" || v.Cause != tc.cause || time.Since(began) != tc.took {
					t.Errorf("cause %v after %v, want %v after %v; outcome (-want +got):\n%s", v.Cause, time.Since(began), tc.cause, tc.took, diff)
				}
			})
		})
	}
}

func TestC12_WhoHasTimeOfItsOwnIsNotAskedOnceTheTimeHasRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		oblivious := asks(func(context.Context, Call) Answer {
			time.Sleep(2 * time.Second) // ignores its deadline
			return Fail(Timeout, "timed out", "")
		})
		c := newChain(t, Options{Name: "test", Budget: time.Second, Participants: []*Participant{
			hook("a", oblivious, mayFail, lasting(500*time.Millisecond)), hook("p", person(0, Answer{Outcome: Outcome{Decision: Allow}}), ownTime),
		}})
		v := c.Decide(t.Context(), request(t, preText), 0)
		want := Outcome{Decision: Deny, Reason: "hook 'p' could not answer within the chain's budget of 1000 ms: was not asked: no time was left"}
		if diff := cmp.Diff(want, v.Outcome); diff != "" {
			t.Errorf("outcome (-want +got):\n%s", diff)
		}
	})
}

func TestC12_AnAnswerAfterTheDeadlineIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := asks(func(context.Context, Call) Answer {
			time.Sleep(1001 * time.Millisecond)
			return Answer{Outcome: Outcome{Decision: Allow}}
		})
		v := chainOf(t, hook("late", late)).Decide(t.Context(), request(t, preText), 0)
		want := Outcome{Decision: Deny, Reason: "hook 'late' could not answer and denies on failure: timed out after 1000 ms"}
		if diff := cmp.Diff(want, v.Outcome); diff != "" || v.Cause != Timeout {
			t.Errorf("cause %v, outcome (-want +got):\n%s", v.Cause, diff)
		}
	})
}

func TestC12_AParticipantThatHasToStartMayTakeLongerWithinTheBudget(t *testing.T) {
	cold := true
	starting := func(first time.Duration) func(*Participant) {
		return func(p *Participant) { p.FirstTimeout, p.Cold = first, func() bool { return cold } }
	}
	for name, c := range map[string]struct {
		edits []func(*Participant)
		cold  bool
		want  string
	}{
		"cold":                      {[]func(*Participant){starting(5 * time.Second)}, true, "timed out after 5000 ms"},
		"cold, as a guard":          {[]func(*Participant){starting(5 * time.Second), guard}, true, "timed out after 5000 ms"},
		"warm":                      {[]func(*Participant){starting(5 * time.Second)}, false, "timed out after 1000 ms"},
		"cold and out of budget":    {[]func(*Participant){starting(time.Hour)}, true, "timed out after 9940 ms"},
		"cold, but no longer then":  {[]func(*Participant){starting(time.Millisecond)}, true, "timed out after 1000 ms"},
		"nobody knows whether cold": {[]func(*Participant){func(p *Participant) { p.FirstTimeout = time.Hour }}, true, "timed out after 1000 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cold = c.cold
				only := newChain(t, Options{Name: "test", Budget: 10 * time.Second, Participants: []*Participant{hook("a", hangs(), c.edits...)}})
				v := only.Decide(t.Context(), request(t, preText), 0)
				if f := v.Steps[0].Answer.Failure; f.Cause != Timeout || f.Text != c.want {
					t.Errorf("failure %+v, want a timeout: %s", f, c.want)
				}
			})
		})
	}
}

func TestC14_AShadowThatHasToStartMayTakeLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := make(chan time.Duration, 1)
		p := hook("a", asks(func(_ context.Context, c Call) Answer {
			took <- c.Allowed
			return Answer{Outcome: Outcome{Decision: Allow}}
		}), shadow, func(p *Participant) { p.FirstTimeout, p.Cold = time.Hour, func() bool { return true } })
		c := newChain(t, Options{Name: "test", Budget: time.Second, OnUncovered: AllowUncovered, Participants: []*Participant{p}})
		c.Decide(t.Context(), request(t, preText), 0)
		c.Wait()
		if got := <-took; got != time.Hour {
			t.Errorf("it was given %v, want an hour", got)
		}
	})
}

func lasting(d time.Duration) func(*Participant) {
	return func(p *Participant) { p.Timeout = d }
}

func TestC13_GuardsAreAskedAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := asks(func(context.Context, Call) Answer {
			time.Sleep(900 * time.Millisecond)
			return Answer{Outcome: Outcome{Decision: Allow}}
		})
		began := time.Now()
		v := chainOf(t,
			hook("a", slow, guard), hook("elsewhere", slow, guard, onTools("other")), hook("b", slow, guard),
			hook("idle", slow, guard, when(func(*Request) bool { return false })), hook("c", slow, guard),
		).Decide(t.Context(), request(t, preText), 0)
		if took := time.Since(began); took != 900*time.Millisecond || v.Outcome.Decision != Allow || len(v.Steps) != 3 {
			t.Errorf("took %v, decided %v after %d steps", took, v.Outcome.Decision, len(v.Steps))
		}
	})
}

func TestC13_GuardsAreFoldedInFileOrderAndTheRestIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &witness{}
		slowDeny := asks(func(context.Context, Call) Answer {
			time.Sleep(500 * time.Millisecond)
			return Answer{Outcome: Outcome{Decision: Deny, Reason: "first in the file"}}
		})
		cancelled := make(chan error, 1)
		waits := asks(func(ctx context.Context, _ Call) Answer {
			<-ctx.Done()
			cancelled <- ctx.Err()
			return Fail(Internal, "", "")
		})
		v := chainOf(t, hook("slow", slowDeny, guard), hook("fast", deny("first in time"), guard, seenBy(w)), hook("waits", waits, guard, seenBy(w))).
			Decide(t.Context(), request(t, preText), 0)
		if v.Outcome.Reason != "denied by hook 'slow': first in the file" || len(v.Steps) != 1 {
			t.Errorf("outcome %+v after %d steps", v.Outcome, len(v.Steps))
		}
		if err := <-cancelled; !errors.Is(err, context.Canceled) || len(w.answers) != 0 {
			t.Errorf("cancelled by %v, %d counted", err, len(w.answers))
		}
	})
}

func TestC13_AParticipantBetweenGuardsEndsTheirRun(t *testing.T) {
	v := chainOf(t, hook("g1", allow(), guard), hook("m", modify(`{"n":1}`, "")), hook("g2", asks(func(_ context.Context, call Call) Answer {
		return Answer{Outcome: Outcome{Decision: Deny, Reason: string(call.Request.Input())}}
	}), guard)).Decide(t.Context(), request(t, preText), 0)
	if want := `denied by hook 'g2': {"n":1}`; v.Outcome.Reason != want {
		t.Errorf("reason %q, want %q", v.Outcome.Reason, want)
	}
}

func TestC14_AShadowNeverChangesOrDelaysAnOutcome(t *testing.T) {
	for name, tc := range map[string]struct {
		text   string
		others Binding
		shadow Binding
		open   bool
		flips  []string
	}{
		"would deny":                 {preText, allow(), deny("x"), false, []string{"allow→deny"}},
		"would allow":                {preText, allow(), allow(), false, nil},
		"would modify":               {preText, allow(), modify(`{}`, ""), false, []string{"allow→modify"}},
		"would modify a modify":      {preText, modify(`{"n":1}`, ""), modify(`{}`, ""), false, nil},
		"would deny a modify":        {preText, modify(`{"n":1}`, ""), deny(""), false, []string{"modify→deny"}},
		"would deny a replace":       {postText, replace(`1`, nil), deny(""), false, []string{"replace→deny"}},
		"fails closed":               {preText, allow(), breaks(Timeout), false, []string{"allow→deny"}},
		"fails open":                 {preText, allow(), breaks(Timeout), true, nil},
		"panics":                     {preText, allow(), asks(func(context.Context, Call) Answer { panic("x") }), false, []string{"allow→deny"}},
		"would deny what is denied":  {preText, deny("no"), deny(""), false, nil},
		"would allow what is denied": {preText, deny("no"), allow(), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			s := hook("shadow", tc.shadow, shadow, seenBy(w))
			if tc.open {
				mayFail(s)
			}
			with, without := chainOf(t, s, hook("o", tc.others)), chainOf(t, hook("o", tc.others))
			got, want := with.Decide(t.Context(), request(t, tc.text), 0), without.Decide(t.Context(), request(t, tc.text), 0)
			with.Wait()
			if diff := cmp.Diff(want.Outcome, got.Outcome); diff != "" || got.Cause != want.Cause {
				t.Errorf("the shadow changed the outcome (-without +with):\n%s", diff)
			}
			if diff := cmp.Diff(tc.flips, w.flips); diff != "" || len(w.answers) != 1 || len(w.opened) != 0 {
				t.Errorf("%d answers counted, flips (-want +got):\n%s", len(w.answers), diff)
			}
		})
	}
}

func TestC14_AShadowIsAskedOffThePathAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &witness{}
		s := hook("shadow", hangs(), shadow, seenBy(w))
		s.Shadows = NewShadowBound(2)
		unseen := hook("unseen", hangs(), shadow)
		unseen.Shadows = NewShadowBound(1)
		c := newChain(t, Options{Name: "test", Participants: []*Participant{s, unseen}, Budget: time.Second, OnUncovered: AllowUncovered})
		began := time.Now()
		ctx, hangUp := context.WithCancel(t.Context())
		for range 5 {
			if v := c.Decide(ctx, request(t, preText), 0); v.Outcome.Decision != Allow {
				t.Errorf("decided %v", v.Outcome.Decision)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the path waited %v", took)
		}
		hangUp() // shadows are counted whether or not the caller stays
		c.Wait()
		causes := map[Cause]int{}
		for _, a := range w.answers {
			causes[a.Failure.Cause]++
		}
		if diff := cmp.Diff(map[Cause]int{Saturated: 3, Timeout: 2}, causes); diff != "" {
			t.Errorf("causes (-want +got):\n%s", diff)
		}
	})
}

func TestC14_AShadowAmongGuardsIsAskedOnlyBeforeTheOneThatDenies(t *testing.T) {
	before, after := &witness{}, &witness{}
	c := chainOf(t,
		hook("g1", allow(), guard), hook("s1", allow(), shadow, seenBy(before)), hook("g2", deny("no"), guard),
		hook("s2", allow(), shadow, seenBy(after)), hook("g3", allow(), guard),
	)
	c.Decide(t.Context(), request(t, preText), 0)
	c.Wait()
	if len(before.answers) != 1 || len(after.answers) != 0 {
		t.Errorf("asked %d before and %d behind the deny", len(before.answers), len(after.answers))
	}
}

func TestC16_ZeroValuesRefuse(t *testing.T) {
	if got := string(Outcome{}.AppendJSON(nil)); got != `{"decision":"deny"}` {
		t.Errorf("the zero outcome is written as %s", got)
	}
	var onFailure OnFailure
	var coverage Coverage
	if onFailure.String() != "deny" || coverage.String() != "deny" {
		t.Errorf("zero policies are %v and %v", onFailure, coverage)
	}
}

func TestNewNamesEveryMistake(t *testing.T) {
	_, err := New(Options{Name: "team", Participants: []*Participant{
		nil,
		{},
		{Name: "no-binding"},
		{Name: "no-event", Binding: allow()},
		{Name: "no-time", Binding: allow(), Events: Events()},
		{Name: "odd", Binding: allow(), Events: Events(), Timeout: 1, Mode: Shadow},
		{Name: "slow", Binding: allow(), Events: Events(), Timeout: 1, OwnTime: true, Guard: true},
		{Name: "open", Kind: Interceptor, Binding: allow(), Events: Events(), Timeout: 1, OnFailure: AllowOnFailure},
	}})
	want := `chain "team": budget 0s is not positive
chain "team": participant 0: is missing
chain "team": participant 1: has no name
chain "team": participant 2: "no-binding" has no binding
chain "team": participant 3: "no-event" has no event
chain "team": participant 4: "no-time": timeout 0s is not positive
chain "team": participant 5: "odd" is a shadow without a limit of calls in flight (Shadows)
chain "team": participant 6: "slow" has OwnTime, which a shadow or a guard cannot have
chain "team": participant 7: "open" is an interceptor, which always denies on failure`
	if err == nil {
		t.Fatal("New took it")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestC14_AStopGivesUpTheShadowsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &witness{}
		c := chainOf(t, hook("h", allow()), hook("s", hangs(), shadow, seenBy(w), lasting(time.Hour)))
		c.Decide(t.Context(), request(t, preText), 0)
		began := time.Now()
		c.Stop()
		c.Wait()
		if took := time.Since(began); took != 0 || len(w.answers) != 0 {
			t.Errorf("took %v, counted %d answers", took, len(w.answers))
		}
		if v := c.Decide(t.Context(), request(t, preText), 0); v.Outcome.Decision != Allow {
			t.Errorf("decided %v after the stop", v.Outcome.Decision)
		}
		c.Wait()
	})
}

func TestC14_AnObserverThatPanicsLosesAShadowsCountAndNothingElse(t *testing.T) {
	s := hook("s", deny("x"), shadow, seenBy(&panicking{}))
	s.Shadows = NewShadowBound(0)
	asked := hook("asked", deny("x"), shadow, seenBy(&panicking{}))
	c := chainOf(t, s, asked, hook("h", allow()))
	v := c.Decide(t.Context(), request(t, preText), 0)
	c.Wait()
	if v.Outcome.Decision != Allow || v.Cause != NoCause {
		t.Errorf("decided %v, cause %v", v.Outcome.Decision, v.Cause)
	}
}

func TestTheObserverIsToldOfEveryVerdict(t *testing.T) {
	w := &witness{}
	c := newChain(t, Options{Name: "test", Participants: []*Participant{hook("h", deny("no"))}, Budget: time.Second, Observer: w})
	v := c.Decide(t.Context(), request(t, preText), 0)
	if diff := cmp.Diff([]Verdict{*v}, w.verdicts, cmpopts.IgnoreFields(Participant{}, "Binding")); diff != "" {
		t.Errorf("verdicts (-returned +observed):\n%s", diff)
	}
}
