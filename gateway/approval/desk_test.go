package approval_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/approval"
	"github.com/hookgate/hookgate/gateway/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	callText = `{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"agent-1","tool_call_id":"call-1","tool_name":"shell","input":{"command":"ls"}}`
	doneText = `{"hook_schema":1,"event":"post_tool_use","workspace":"/repo","agent_id":"agent-1","tool_call_id":"call-1","tool_name":"shell","input":{"command":"ls"},"output":"x","is_error":false}`
)

func call(t *testing.T, text string) *chain.Request {
	t.Helper()
	r, err := chain.ParseRequest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var errDown = errors.New("the disk is on fire")

// store is a store that can be made to fail, or to hang until the context ends.
type store struct {
	approval.Store
	down, hangs atomic.Bool
	// deaf suppresses change notifications.
	deaf bool
	// deserted makes all approvals appear deserted.
	deserted atomic.Bool
	listed   atomic.Int64 // number of List calls
}

func (s *store) fails(ctx context.Context) error {
	for s.hangs.Load() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
	if s.down.Load() {
		return errDown
	}
	return nil
}

func (s *store) Create(ctx context.Context, q approval.Question, ttl time.Duration) (approval.Approval, error) {
	if err := s.fails(ctx); err != nil {
		return approval.Approval{}, err
	}
	return s.Store.Create(ctx, q, ttl)
}

func (s *store) Get(ctx context.Context, id string) (approval.Approval, error) {
	if err := s.fails(ctx); err != nil {
		return approval.Approval{}, err
	}
	a, err := s.Store.Get(ctx, id)
	a.Deserted = s.deserted.Load() && a.State == approval.Pending
	return a, err
}

func (s *store) List(ctx context.Context, f approval.Filter) ([]approval.Approval, error) {
	s.listed.Add(1)
	if err := s.fails(ctx); err != nil {
		return nil, err
	}
	found, err := s.Store.List(ctx, f)
	for i := range found {
		found[i].Deserted = s.deserted.Load() && found[i].State == approval.Pending
	}
	return found, err
}

func (s *store) Settle(ctx context.Context, id string, to approval.State, with approval.Settlement) (approval.Approval, bool, error) {
	if err := s.fails(ctx); err != nil {
		return approval.Approval{}, false, err
	}
	return s.Store.Settle(ctx, id, to, with)
}

func (s *store) Tidy(ctx context.Context) error {
	if err := s.fails(ctx); err != nil {
		return err
	}
	return s.Store.Tidy(ctx)
}

func (s *store) Watch(ctx context.Context, changed func(string)) {
	if s.deaf {
		<-ctx.Done()
		return
	}
	s.Store.Watch(ctx, changed)
}

// slowToSay is a store that keeps a question but reports an error to its
// caller.
type slowToSay struct{ *store }

func (s slowToSay) Create(ctx context.Context, q approval.Question, ttl time.Duration) (approval.Approval, error) {
	if _, err := s.store.Create(ctx, q, ttl); err != nil {
		return approval.Approval{}, err
	}
	<-ctx.Done()
	return approval.Approval{}, context.Cause(ctx)
}

// desk is a desk with its store.
type desk struct {
	*approval.Desk
	t        *testing.T
	store    *store
	asking   sync.WaitGroup
	mu       sync.Mutex
	outcomes []approval.Outcome
}

func newDesk(t *testing.T, edits ...func(*approval.Options)) *desk {
	t.Helper()
	b, err := state.OpenBolt(state.BoltOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, store: &store{Store: b}}
	var ids atomic.Int64
	o := approval.Options{
		Open: func() (approval.Store, error) { return d.store, nil }, Poll: 20 * time.Millisecond,
		NewID: func() string { return fmt.Sprintf("id-%d", ids.Add(1)) },
		Settled: func(o approval.Outcome) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.outcomes = append(d.outcomes, o)
		},
	}
	for _, edit := range edits {
		edit(&o)
	}
	d.Desk = approval.NewDesk(o)
	t.Cleanup(func() {
		d.Stop()
		d.asking.Wait() // a desk may be closed only when nobody waits at it
		d.Close()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// ask asks in the background.
func (d *desk) ask(ctx context.Context, text string, timeout time.Duration) <-chan chain.Answer {
	d.t.Helper()
	answer := make(chan chain.Answer, 1)
	asking := approval.Asking{Chain: "operator", Asker: "hook 'p'", Request: call(d.t, text), Timeout: timeout, Late: chain.Timeout}
	d.asking.Go(func() { answer <- d.Ask(ctx, asking) })
	return answer
}

// pending waits until n calls are pending, and returns them.
func (d *desk) pending(n int) []approval.Approval {
	d.t.Helper()
	var found []approval.Approval
	eventually(d.t, fmt.Sprintf("%d calls wait", n), func() bool {
		var err error
		found, err = d.List(d.t.Context(), approval.Filter{State: approval.Pending, Limit: 1000})
		return err == nil && len(found) == n
	})
	return found
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// counted waits until exactly these outcomes have been counted.
func (d *desk) counted(want ...approval.Outcome) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.outcomes); diff != "" {
		d.t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func wantAnswer(t *testing.T, want chain.Answer, answer <-chan chain.Answer) {
	t.Helper()
	select {
	case got := <-answer:
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	case <-time.After(20 * time.Second):
		t.Error("no answer came")
	}
}

const long = 10 * time.Minute

func TestWhatAPersonSaysIsTheAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		says    approval.Answer
		want    chain.Answer
		outcome approval.Outcome
		state   approval.State
	}{
		"allow": {approval.Answer{Allow: true, By: "ann"}, chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow}}, approval.OutcomeAllowed, approval.Allowed},
		"allow with another input": {
			approval.Answer{Allow: true, By: "ann", UpdatedInput: []byte(" {\"n\": 9007199254740993, \"h\":\"<>&\"}\n")},
			chain.Answer{Outcome: chain.Outcome{Decision: chain.Modify, Input: []byte(`{"n": 9007199254740993, "h":"<>&"}`), Reason: "the person who allowed it changed the input"}},
			approval.OutcomeAllowed, approval.Allowed,
		},
		"deny":                  {approval.Answer{By: "ann"}, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: "a person denied this call"}}, approval.OutcomeDenied, approval.Denied},
		"deny with a message":   {approval.Answer{By: "ann", Message: "not today"}, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: "not today"}}, approval.OutcomeDenied, approval.Denied},
		"P1 the zero answer":    {approval.Answer{}, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: "a person denied this call"}}, approval.OutcomeDenied, approval.Denied},
		"allow, told by a poll": {approval.Answer{Allow: true}, chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow}}, approval.OutcomeAllowed, approval.Allowed},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.store.deaf = strings.Contains(name, "poll")
			answer := d.ask(t.Context(), callText, long)
			p := d.pending(1)[0]
			if p.Tool != "shell" || p.Agent != "agent-1" || p.Chain != "operator" || p.Asker != "hook 'p'" || string(p.Envelope) != callText {
				t.Errorf("what is shown is %+v", p)
			}
			now, err := d.Answer(t.Context(), p.ID, tc.says)
			if err != nil || now.State != tc.state || now.By != tc.says.By {
				t.Errorf("acknowledged as %+v: %v", now, err)
			}
			wantAnswer(t, tc.want, answer)
			d.counted(tc.outcome)
			if a, err := d.Get(t.Context(), p.ID); err != nil || a.Used != tc.says.Allow {
				t.Errorf("kept as %+v: %v", a, err)
			}
		})
	}
}

func TestP2_WhoComesSecondIsToldWhoWasFirst(t *testing.T) {
	d := newDesk(t)
	answer := d.ask(t.Context(), callText, long)
	id := d.pending(1)[0].ID
	if _, err := d.Answer(t.Context(), id, approval.Answer{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	<-answer
	_, err := d.Answer(t.Context(), id, approval.Answer{Allow: true, By: "bob"})
	settled, ok := errors.AsType[*approval.SettledError](err)
	if !ok || settled.Approval.By != "ann" || !strings.HasPrefix(settled.Error(), "it was already denied by ann at ") {
		t.Errorf("the error is %v", err)
	}
}

// unsure fails whenever an approval is about to be used.
type unsure struct{ approval.Store }

func (unsure) Redeem(context.Context, string, string) (bool, error) { return false, errDown }

func TestP1_AnApprovalThatCannotBeUsedUpLetsNothingGo(t *testing.T) {
	d := newDesk(t)
	d.store.Store = unsure{d.store.Store}
	answer := d.ask(t.Context(), callText, long)
	if _, err := d.Answer(t.Context(), d.pending(1)[0].ID, approval.Answer{Allow: true}); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, chain.Fail(chain.Error, "the approvals store is unavailable", errDown.Error()), answer)
	d.counted(approval.OutcomeFailed)
}

// swapped returns an approval for another call than the waiting one.
type swapped struct{ approval.Store }

func (s swapped) Create(ctx context.Context, q approval.Question, ttl time.Duration) (approval.Approval, error) {
	q.Envelope = []byte(strings.Replace(callText, "ls", "rm -rf /", 1))
	q.Digest = approval.Digest(q.Envelope)
	return s.Store.Create(ctx, q, ttl)
}

func TestP3_AnApprovalOfAnotherCallLetsNothingGo(t *testing.T) {
	d := newDesk(t)
	d.store.Store = swapped{d.store.Store}
	answer := d.ask(t.Context(), callText, long)
	if _, err := d.Answer(t.Context(), d.pending(1)[0].ID, approval.Answer{Allow: true}); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, chain.Fail(chain.Error, "its approval has already been used, or is for another call", ""), answer)
	d.counted(approval.OutcomeFailed)
}

func TestP4_AnApprovalThatWasUsedLetsNothingGo(t *testing.T) {
	d := newDesk(t)
	d.store.deaf = true
	answer := d.ask(t.Context(), callText, long)
	a := d.pending(1)[0]
	for _, step := range []func() error{
		func() error {
			_, _, err := d.store.Store.Settle(t.Context(), a.ID, approval.Allowed, approval.Settlement{})
			return err
		},
		func() error { _, err := d.store.Redeem(t.Context(), a.ID, a.Digest); return err },
	} {
		d.store.hangs.Store(true) // nothing is polled between the steps
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	d.store.hangs.Store(false)
	wantAnswer(t, chain.Fail(chain.Error, "its approval has already been used, or is for another call", ""), answer)
}

func TestP5_NobodyAnswersInTime(t *testing.T) {
	d := newDesk(t)
	began := time.Now()
	wantAnswer(t, chain.Fail(chain.Timeout, "no person answered within 750ms", ""), d.ask(t.Context(), callText, time.Second))
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("it waited only %v", took)
	}
	d.counted(approval.OutcomeExpired)
	_, err := d.Answer(t.Context(), "id-1", approval.Answer{Allow: true})
	if _, ok := errors.AsType[*approval.SettledError](err); !ok || !strings.HasPrefix(err.Error(), "it expired at ") {
		t.Errorf("an answer too late: %v", err)
	}
}

func TestP7_ACallerThatHangsUpWithdrawsItsQuestion(t *testing.T) {
	for name, slow := range map[string]bool{"while it waits for a person": false, "while its question is being kept": true} {
		t.Run(name, func(t *testing.T) {
			var d *desk
			d = newDesk(t, func(o *approval.Options) {
				if slow {
					o.Open = func() (approval.Store, error) { return slowToSay{d.store}, nil }
				}
			})
			ctx, hangUp := context.WithCancel(t.Context())
			answer := d.ask(ctx, callText, long)
			eventually(t, "it is kept", func() bool { _, err := d.store.Get(t.Context(), "id-1"); return err == nil })
			hangUp()
			<-answer
			eventually(t, "it is withdrawn", func() bool {
				a, err := d.Get(t.Context(), "id-1")
				return err == nil && a.State == approval.Withdrawn
			})
			_, err := d.Answer(t.Context(), "id-1", approval.Answer{Allow: true})
			if err == nil || !strings.HasSuffix(err.Error(), ": the caller stopped waiting") {
				t.Errorf("an answer too late: %v", err)
			}
			d.counted(approval.OutcomeWithdrawn)
		})
	}
}

func TestP1_AStoreThatCannotBeReachedDeniesAndSaysSo(t *testing.T) {
	d := newDesk(t)
	d.store.down.Store(true)
	wantAnswer(t, chain.Fail(chain.Error, "the approvals store is unavailable", errDown.Error()), d.ask(t.Context(), callText, long))
	if d.Trouble() == nil {
		t.Error("it is not in trouble")
	}
	for what, err := range map[string]error{
		"reading":   func() error { _, err := d.Get(t.Context(), "id-1"); return err }(),
		"answering": func() error { _, err := d.Answer(t.Context(), "id-1", approval.Answer{Allow: true}); return err }(),
	} {
		if err == nil || err.Error() != "the approvals store is unavailable: the disk is on fire" {
			t.Errorf("%s: %v", what, err)
		}
	}
	d.store.down.Store(false)
	eventually(t, "the trouble is over", func() bool { return d.Trouble() == nil })
	answer := d.ask(t.Context(), callText, long)
	if _, err := d.Answer(t.Context(), d.pending(1)[0].ID, approval.Answer{Allow: true}); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow}}, answer)
}

func TestAStoreThatComesBackInTimeLetsAPersonAnswerStill(t *testing.T) {
	d := newDesk(t)
	answer := d.ask(t.Context(), callText, long)
	id := d.pending(1)[0].ID
	d.store.down.Store(true)
	eventually(t, "it is noticed", func() bool { return d.Trouble() != nil })
	d.store.down.Store(false)
	if _, err := d.Answer(t.Context(), id, approval.Answer{Allow: true}); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow}}, answer)
}

func TestP8_NobodyWaitsLongerThanItsTimeForAStoreThatHangs(t *testing.T) {
	for _, after := range []bool{false, true} { // after the question was asked
		d := newDesk(t)
		d.store.hangs.Store(!after)
		began := time.Now()
		answer := d.ask(t.Context(), callText, 400*time.Millisecond)
		if after {
			d.pending(1)
			d.store.hangs.Store(true)
		}
		wantAnswer(t, chain.Fail(chain.Error, "the approvals store is unavailable", "context deadline exceeded"), answer)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		d.store.hangs.Store(false)
		d.counted(approval.OutcomeFailed)
	}
}

func TestP1_AGatewayThatStopsDeniesWhatWaits(t *testing.T) {
	d := newDesk(t)
	answer := d.ask(t.Context(), callText, long)
	id := d.pending(1)[0].ID
	d.Stop()
	wantAnswer(t, chain.Fail(chain.Error, "was withdrawn: the gateway is stopping", ""), answer)
	if a, err := d.Get(t.Context(), id); err != nil || a.State != approval.Withdrawn {
		t.Errorf("it stands as %+v: %v", a, err)
	}
	wantAnswer(t, chain.Fail(chain.Error, "the gateway is stopping", ""), d.ask(t.Context(), callText, long))
}

func TestP1_WithoutAPlaceForApprovalsThereIsNobodyToAsk(t *testing.T) {
	d := newDesk(t, func(o *approval.Options) { o.Open = nil })
	if err := d.Open(); !errors.Is(err, approval.ErrNoStore) {
		t.Errorf("opening: %v", err)
	}
	got := <-d.ask(t.Context(), callText, long)
	if got.Failure == nil || got.Failure.Detail != approval.ErrNoStore.Error() {
		t.Errorf("asking: %+v", got)
	}
	if found, err := d.List(t.Context(), approval.Filter{Limit: 1}); err != nil || len(found) != 0 {
		t.Errorf("listing: %v, %v", found, err)
	}
	if _, err := d.Answer(t.Context(), "x", approval.Answer{Allow: true}); !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("answering: %v", err)
	}
}

func TestAPlaceThatCannotBeOpenedIsTriedAgain(t *testing.T) {
	locked := true
	d := newDesk(t)
	open := func() (approval.Store, error) {
		if locked {
			return nil, errDown
		}
		return d.store, nil
	}
	other := approval.NewDesk(approval.Options{Open: open, NewID: func() string { return "other" }})
	defer other.Close()
	if err := other.Open(); !errors.Is(err, errDown) {
		t.Errorf("locked: %v", err)
	}
	locked = false
	if err := other.Open(); err != nil {
		t.Errorf("not locked any more: %v", err)
	}
}

func TestOneMoreThanMayWaitIsRefused(t *testing.T) {
	d := newDesk(t, func(o *approval.Options) { o.MaxWaiting = 2 })
	first, second := d.ask(t.Context(), callText, long), d.ask(t.Context(), callText, long)
	waiting := d.pending(2)
	wantAnswer(t, chain.Fail(chain.Saturated, "was not asked: 2 calls already wait for a person", ""), d.ask(t.Context(), callText, long))
	for _, a := range waiting {
		if _, err := d.Answer(t.Context(), a.ID, approval.Answer{}); err != nil {
			t.Fatal(err)
		}
	}
	<-first
	<-second
	if n := d.Waiting(); n != 0 {
		t.Errorf("%d wait still", n)
	}
}

func TestACallThatIsTooLongToBeShownIsDenied(t *testing.T) {
	d := newDesk(t)
	text := strings.Replace(callText, "ls", strings.Repeat("x", approval.MaxCall), 1)
	want := fmt.Sprintf("the call has %d bytes, and at most 262144 can be shown to a person", len(text))
	wantAnswer(t, chain.Fail(chain.Error, want, ""), d.ask(t.Context(), text, long))
}

func TestAnAnswerThatCannotBeOneChangesNothing(t *testing.T) {
	d := newDesk(t)
	d.ask(t.Context(), callText, long)
	before := d.pending(1)[0]
	d.ask(t.Context(), doneText, long)
	var after approval.Approval
	for _, a := range d.pending(2) {
		if a.ID != before.ID {
			after = a
		}
	}
	for _, tc := range []struct {
		id   string
		says approval.Answer
		want string
	}{
		{before.ID, approval.Answer{UpdatedInput: []byte(`{}`)}, "updated_input is only for allow: a denied call does not run"},
		{before.ID, approval.Answer{Allow: true, UpdatedInput: []byte(`[]`)}, "updated_input cannot be used: it is not a JSON object"},
		{before.ID, approval.Answer{Allow: true, UpdatedInput: []byte(`{"a":1,"a":2}`)}, "updated_input cannot be used: "},
		{before.ID, approval.Answer{Allow: true, UpdatedInput: []byte{}}, "updated_input cannot be used: no JSON value"},
		{before.ID, approval.Answer{Allow: true, Digest: "other"}, "digest belongs to another call: the digest of this call is " + before.Digest},
		{before.ID, approval.Answer{Message: strings.Repeat("x", approval.MaxMessage+1)}, "message has 4097 bytes, and the limit is 4096"},
		{before.ID, approval.Answer{Message: "\xff"}, "message is not UTF-8"},
		{after.ID, approval.Answer{Allow: true, UpdatedInput: []byte(`{}`)}, "updated_input cannot be used: the call has run: its input can no longer be changed"},
	} {
		_, err := d.Answer(t.Context(), tc.id, tc.says)
		if _, ok := errors.AsType[*approval.UnusableError](err); !ok || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %s", tc.says, err, tc.want)
		}
	}
	d.pending(2)
	d.Stop()
}

// follow starts a follower, which ends when leave is called.
func (d *desk) follow(changed func(*approval.Approval)) (leave func()) {
	ctx, stop := context.WithCancel(d.t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- d.Follow(ctx, approval.Following{
			Filter: func() approval.Filter { return approval.Filter{Limit: 10} }, Every: time.Millisecond,
			Changed: func(a *approval.Approval) error { changed(a); return nil },
			Idle:    func() error { return nil },
		})
	}()
	return func() {
		d.t.Helper()
		stop()
		if err := <-ended; err != nil {
			d.t.Error(err)
		}
	}
}

func TestAFollowerIsToldOfWhatWaitsAndWhatBecomesOfIt(t *testing.T) {
	for name, edit := range map[string]struct {
		deaf  bool
		sweep time.Duration
	}{
		"by the store":                   {false, time.Hour},
		"where the store says nothing":   {true, 20 * time.Millisecond},
		"by the store and his own looks": {false, time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, func(o *approval.Options) { o.Sweep = edit.sweep })
			d.store.deaf = edit.deaf
			answer := d.ask(t.Context(), callText, long)
			first := d.pending(1)[0].ID
			told := make(chan string, 100)
			leave := d.follow(func(a *approval.Approval) { told <- a.ID + " " + a.State.String() })
			wants := func(want string) {
				t.Helper()
				if got := <-told; got != want {
					t.Errorf("told %s, want %s", got, want)
				}
			}
			wants(first + " pending")
			if _, err := d.Answer(t.Context(), first, approval.Answer{By: "ann"}); err != nil {
				t.Fatal(err)
			}
			<-answer
			wants(first + " denied")
			d.ask(t.Context(), callText, long)
			wants("id-2 pending")
			if edit.deaf { // the client ends it; otherwise the desk does
				leave()
				d.Stop()
				return
			}
			d.Stop()
			leave()
		})
	}
}

func TestAFollowerReadsTheListOnceAndThenWhatChanged(t *testing.T) {
	d := newDesk(t, func(o *approval.Options) { o.Sweep = time.Hour })
	told := make(chan string, 100)
	d.ask(t.Context(), callText, long)
	d.pending(1)
	leave := d.follow(func(a *approval.Approval) { told <- a.State.String() })
	<-told
	before := d.store.listed.Load()
	for range 10 {
		answer := d.ask(t.Context(), callText, long)
		if got := <-told; got != "pending" {
			t.Fatalf("told %s", got)
		}
		found, err := d.store.Store.List(t.Context(), approval.Filter{State: approval.Pending, Limit: 10})
		if err != nil || len(found) != 2 {
			t.Fatalf("%d wait: %v", len(found), err)
		}
		if _, err := d.Answer(t.Context(), found[1].ID, approval.Answer{}); err != nil {
			t.Fatal(err)
		}
		<-answer
		if got := <-told; got != "denied" {
			t.Fatalf("told %s", got)
		}
	}
	if n := d.store.listed.Load() - before; n != 0 {
		t.Errorf("the list was read %d times more", n)
	}
	leave()
	d.Stop()
}

func TestAFollowerIsToldWhatHappenedWhileTheStoreWasGone(t *testing.T) {
	d := newDesk(t, func(o *approval.Options) { o.Sweep = time.Hour })
	told := make(chan string, 100)
	d.ask(t.Context(), callText, long)
	first := d.pending(1)[0].ID
	leave := d.follow(func(a *approval.Approval) { told <- a.ID + " " + a.State.String() })
	<-told
	d.store.down.Store(true)
	for _, id := range []string{first, "id-other"} { // by another gateway
		question := approval.NewQuestion(id, "operator", "hook 'p'", call(t, callText))
		if _, err := d.store.Store.Create(t.Context(), question, long); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := d.store.Store.Settle(t.Context(), first, approval.Denied, approval.Settlement{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is noticed that the store is gone", func() bool { return d.Trouble() != nil })
	d.store.down.Store(false)
	got := map[string]bool{<-told: true, <-told: true}
	if !got[first+" denied"] || !got["id-other pending"] {
		t.Errorf("told %v", got)
	}
	leave()
	d.Stop()
}

func TestAFollowerThatCannotBeToldEnds(t *testing.T) {
	d := newDesk(t)
	gone := errors.New("gone")
	all := func() approval.Filter { return approval.Filter{Limit: 10} }
	err := d.Follow(t.Context(), approval.Following{Filter: all, Every: time.Millisecond, Idle: func() error { return gone }})
	if !errors.Is(err, gone) {
		t.Errorf("idle: %v", err)
	}
	d.ask(t.Context(), callText, long)
	d.pending(1)
	err = d.Follow(t.Context(), approval.Following{Filter: all, Every: time.Hour, Changed: func(*approval.Approval) error { return gone }})
	if !errors.Is(err, gone) {
		t.Errorf("told: %v", err)
	}
	d.Stop()
}

func TestP9_WhatNobodyWaitsForTakesNoAnswerAndIsToldSo(t *testing.T) {
	d := newDesk(t, func(o *approval.Options) { o.Sweep = 20 * time.Millisecond })
	d.ask(t.Context(), callText, long)
	id := d.pending(1)[0].ID
	told := make(chan bool, 100)
	leave := d.follow(func(a *approval.Approval) { told <- a.Deserted })
	if <-told {
		t.Error("at first it is deserted")
	}
	d.store.deserted.Store(true)
	if !<-told {
		t.Error("it is not told that nobody waits")
	}
	for _, allow := range []bool{true, false} {
		_, err := d.Answer(t.Context(), id, approval.Answer{Allow: allow, By: "ann"})
		settled, ok := errors.AsType[*approval.SettledError](err)
		if !ok || settled.Error() != "nobody waits for it any more: the gateway that asked has not responded for 15s" {
			t.Errorf("an answer: %v", err)
		}
	}
	d.store.deserted.Store(false)
	if <-told {
		t.Error("it is not told that somebody waits again")
	}
	if _, err := d.Answer(t.Context(), id, approval.Answer{Allow: true, By: "ann"}); err != nil {
		t.Errorf("an answer to who waits again: %v", err)
	}
	leave()
	d.Stop()
}

// attended is a store with one question that nobody answers.
type attended struct {
	approval.Store
	question approval.Question

	mu   sync.Mutex
	said []time.Time // the times of Attend calls
}

func (a *attended) Create(_ context.Context, q approval.Question, _ time.Duration) (approval.Approval, error) {
	a.question = q
	return approval.Approval{Question: q, State: approval.Pending}, nil
}

func (a *attended) Get(context.Context, string) (approval.Approval, error) {
	return approval.Approval{Question: a.question, State: approval.Pending}, nil
}

func (a *attended) Settle(_ context.Context, _ string, to approval.State, s approval.Settlement) (approval.Approval, bool, error) {
	return approval.Approval{Question: a.question, State: to, Settlement: s}, true, nil
}

func (a *attended) Attend(_ context.Context, ids []string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(ids) != 1 || ids[0] != "id" {
		return fmt.Errorf("attended are %q", ids)
	}
	a.said = append(a.said, time.Now())
	return nil
}

func (*attended) Tidy(context.Context) error { return nil }

func (*attended) Watch(ctx context.Context, _ func(string)) { <-ctx.Done() }

func TestP9_WhoWaitsIsSaidAgainBeforeItIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &attended{}
		d := approval.NewDesk(approval.Options{Open: func() (approval.Store, error) { return s, nil }, NewID: func() string { return "id" }})
		began := time.Now()
		const waits = 5 * time.Minute
		answer := d.Ask(t.Context(), approval.Asking{Request: call(t, callText), Timeout: waits, Late: chain.Timeout})
		if answer.Failure == nil || time.Since(began) > waits {
			t.Errorf("it ended after %v with %+v", time.Since(began), answer)
		}
		s.mu.Lock()
		said := append([]time.Time{began}, s.said...)
		s.mu.Unlock()
		for n := 1; n < len(said); n++ {
			if pause := said[n].Sub(said[n-1]); pause > approval.Attention/2 {
				t.Errorf("it was not said for %v", pause)
			}
		}
		if last := time.Since(said[len(said)-1]); last > approval.Attention/2 {
			t.Errorf("it was not said for the last %v", last)
		}
		<-time.After(time.Minute)
		s.mu.Lock()
		if after := len(s.said); after != len(said)-1 {
			t.Errorf("it was said %d times after it had ended", after-len(said)+1)
		}
		s.mu.Unlock()
		d.Close()
	})
}

func TestAStateIsItsName(t *testing.T) {
	for _, s := range approval.States() {
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again approval.State
		if err := again.UnmarshalText(text); err != nil || again != s {
			t.Errorf("%s is read as %s: %v", text, again, err)
		}
	}
	if s, err := approval.ParseState("unset"); err == nil || s != approval.Unset {
		t.Errorf("unset is read as %v", s)
	}
}
