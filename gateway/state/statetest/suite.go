// Package statetest is the test suite for implementations of the ports of
// packages approval and audit.
package statetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/gateway/approval"
	"github.com/hookgate/hookgate/gateway/audit"
)

// Store combines both ports.
type Store interface {
	approval.Store
	audit.Store
}

// Suite runs every test on a new, empty store from open.
func Suite(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Store){
		"a question is kept byte for byte":                             keepsQuestions,
		"a question asked again is the one that was there":             createsOnce,
		"P2 an approval is settled once":                               settlesOnce,
		"P2 of many who answer at once one wins and all learn who":     settlesOnceAmongMany,
		"P3 P4 an allowed call goes once, and only that call":          redeemsOnce,
		"P5 what is over expires and cannot be answered":               expires,
		"P5 what is over expires where nobody answers":                 tidies,
		"lists are narrowed, ordered and bounded":                      lists,
		"P9 what somebody waits for is not deserted":                   attends,
		"a watcher is told of what is created and settled":             watches,
		"an unknown id is unknown":                                     unknown,
		"an operation ends with its context":                           ends,
		"L2 the trail is read in the order in which it was written":    reads,
		"L2 who reads along while many write misses nothing":           readsAlong,
		"a record is kept byte for byte, and nothing is no error":      keepsRecords,
		"a settlement that expires carries neither words nor a person": expiresSilently,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// hostile is an envelope with content that a database could alter or refuse.
const hostile = `{"hook_schema":1, "event":"pre_tool_use","workspace":"/r","agent_id":"a\u0000b","tool_call_id":"c","tool_name":"t\u0000😀",` +
	"\n" + `"input":{"n":9007199254740993,"x":1e400,"h":"<>&","s":"\ud83d","z":"\u0000"}}`

// Question returns a question with the given id.
func Question(id string) approval.Question {
	return approval.Question{
		ID: id, Chain: "operator", Asker: "person", DecisionID: "d-" + id, Envelope: []byte(hostile),
		Digest: approval.Digest([]byte(hostile)), Tool: "t\x00😀", Agent: "a\x00b",
	}
}

// id returns ids that sort by n.
func id(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

func create(t *testing.T, s Store, q approval.Question, ttl time.Duration) approval.Approval {
	t.Helper()
	a, err := s.Create(t.Context(), q, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func get(t *testing.T, s Store, id string) approval.Approval {
	t.Helper()
	a, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func settle(t *testing.T, s Store, id string, to approval.State, with approval.Settlement) (approval.Approval, bool) {
	t.Helper()
	a, won, err := s.Settle(t.Context(), id, to, with)
	if err != nil {
		t.Fatal(err)
	}
	return a, won
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func keepsQuestions(t *testing.T, s Store) {
	made := create(t, s, Question(id(1)), time.Minute)
	if made.State != approval.Pending || made.ExpiresAt.Sub(made.CreatedAt) != time.Minute || !made.SettledAt.IsZero() {
		t.Errorf("it begins as %+v", made)
	}
	if age := time.Since(made.CreatedAt); age < -time.Minute || age > time.Minute {
		t.Errorf("it was made %v ago", age)
	}
	same(t, "the question", Question(id(1)), made.Question)
	same(t, "the approval read again", made, get(t, s, id(1)))
}

func createsOnce(t *testing.T, s Store) {
	first := create(t, s, Question(id(1)), time.Minute)
	other := Question(id(1))
	other.Chain, other.Digest = "another", "another"
	same(t, "the second", first, create(t, s, other, time.Hour))
	denied, _ := settle(t, s, id(1), approval.Denied, approval.Settlement{By: "ann"})
	same(t, "the third", denied, create(t, s, other, time.Hour))
}

func settlesOnce(t *testing.T, s Store) {
	create(t, s, Question(id(1)), time.Minute)
	with := approval.Settlement{By: "ann\x00", Message: "fine \x00<>&", UpdatedInput: []byte(`{ "n":9007199254740993,"h":"<>&" }`)}
	a, won := settle(t, s, id(1), approval.Allowed, with)
	if !won || a.State != approval.Allowed || a.SettledAt.Before(a.CreatedAt) || a.Used {
		t.Errorf("won: %v, it stands as %+v", won, a)
	}
	same(t, "the settlement", with, a.Settlement)
	for _, to := range approval.States()[1:] {
		second, won := settle(t, s, id(1), to, approval.Settlement{By: "bob"})
		if won {
			t.Errorf("it was settled again, as %s", to)
		}
		same(t, "what the second is told", a, second)
	}
	same(t, "the approval read again", a, get(t, s, id(1)))
}

func settlesOnceAmongMany(t *testing.T, s Store) {
	create(t, s, Question(id(1)), time.Minute)
	const people = 16
	var wg sync.WaitGroup
	var mu sync.Mutex
	var winners, told []string
	for n := range people {
		wg.Go(func() {
			me := fmt.Sprintf("person %d", n)
			to := []approval.State{approval.Allowed, approval.Denied}[n%2]
			a, won, err := s.Settle(t.Context(), id(1), to, approval.Settlement{By: me})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if won {
				winners = append(winners, me)
			}
			told = append(told, a.By)
		})
	}
	wg.Wait()
	if len(winners) != 1 {
		t.Fatalf("the winners are %q", winners)
	}
	for _, who := range told {
		if who != winners[0] {
			t.Errorf("somebody was told that %q won, and it was %q", who, winners[0])
		}
	}
}

func redeemsOnce(t *testing.T, s Store) {
	digest := Question(id(1)).Digest
	redeem := func(id, digest string) bool {
		t.Helper()
		ok, err := s.Redeem(t.Context(), id, digest)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	create(t, s, Question(id(1)), time.Minute)
	if redeem(id(1), digest) {
		t.Error("a pending approval let a call go")
	}
	settle(t, s, id(1), approval.Allowed, approval.Settlement{By: "ann"})
	if redeem(id(1), approval.Digest([]byte("another"))) {
		t.Error("it let another call go")
	}
	if !redeem(id(1), digest) {
		t.Error("it let its own call not go")
	}
	if redeem(id(1), digest) {
		t.Error("it let its call go twice")
	}
	if a := get(t, s, id(1)); !a.Used || a.By != "ann" {
		t.Errorf("used, it stands as %+v", a)
	}
	for n, to := range []approval.State{approval.Denied, approval.Expired, approval.Withdrawn} {
		create(t, s, Question(id(2+n)), time.Minute)
		settle(t, s, id(2+n), to, approval.Settlement{})
		if redeem(id(2+n), digest) {
			t.Errorf("an approval that is %s let a call go", to)
		}
	}
}

// over creates a question that expires at once.
func over(t *testing.T, s Store, n int) {
	t.Helper()
	create(t, s, Question(id(n)), 0)
}

func expires(t *testing.T, s Store) {
	over(t, s, 1)
	a, won := settle(t, s, id(1), approval.Allowed, approval.Settlement{By: "ann", UpdatedInput: []byte(`{}`)})
	if won || a.State != approval.Expired {
		t.Errorf("won: %v, it stands as %+v", won, a)
	}
	over(t, s, 2)
	if a, won := settle(t, s, id(2), approval.Expired, approval.Settlement{}); !won || a.State != approval.Expired {
		t.Errorf("who notices first: won: %v, it stands as %+v", won, a)
	}
}

func expiresSilently(t *testing.T, s Store) {
	over(t, s, 1)
	a, _ := settle(t, s, id(1), approval.Denied, approval.Settlement{By: "ann", Message: "no"})
	same(t, "the settlement", approval.Settlement{}, a.Settlement)
}

func tidies(t *testing.T, s Store) {
	over(t, s, 1)
	create(t, s, Question(id(2)), time.Minute)
	for range 2 {
		if err := s.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if a := get(t, s, id(1)); a.State != approval.Expired || a.SettledAt.IsZero() {
		t.Errorf("what is over stands as %+v", a)
	}
	if a := get(t, s, id(2)); a.State != approval.Pending {
		t.Errorf("what is not over stands as %+v", a)
	}
}

func lists(t *testing.T, s Store) {
	for n := 1; n <= 6; n++ {
		q := Question(id(n))
		q.Chain = []string{"a", "b"}[n%2]
		q.Tool = fmt.Sprintf("tool\x00%d", n%3)
		q.Agent = fmt.Sprintf("agent\x00%d", n/4)
		create(t, s, q, time.Minute)
	}
	settle(t, s, id(2), approval.Allowed, approval.Settlement{})
	settle(t, s, id(5), approval.Denied, approval.Settlement{})
	for _, tc := range []struct {
		filter approval.Filter
		want   []int
	}{
		{approval.Filter{State: approval.Pending, Limit: 10}, []int{1, 3, 4, 6}},
		{approval.Filter{State: approval.Pending, Limit: 2}, []int{1, 3}},
		{approval.Filter{Limit: 10}, []int{6, 5, 4, 3, 2, 1}},
		{approval.Filter{Limit: 3}, []int{6, 5, 4}},
		{approval.Filter{State: approval.Denied, Limit: 10}, []int{5}},
		{approval.Filter{State: approval.Withdrawn, Limit: 10}, []int{}},
		{approval.Filter{Chain: "b", Limit: 10}, []int{5, 3, 1}},
		{approval.Filter{Tool: "tool\x001", Limit: 10}, []int{4, 1}},
		{approval.Filter{Agent: "agent\x001", State: approval.Pending, Limit: 10}, []int{4, 6}},
		{approval.Filter{Chains: []string{"b"}, State: approval.Pending, Limit: 1}, []int{1}},
		{approval.Filter{Chains: []string{"a"}, State: approval.Pending, Limit: 1}, []int{4}},
		{approval.Filter{Chains: []string{"a"}, Limit: 2}, []int{6, 4}},
		{approval.Filter{Chains: []string{"a", "b", "c"}, Limit: 10}, []int{6, 5, 4, 3, 2, 1}},
		{approval.Filter{Chains: []string{"*"}, Chain: "b", Limit: 10}, []int{5, 3, 1}},
		{approval.Filter{Chains: []string{"b*", "*x"}, Limit: 10}, []int{5, 3, 1}},
		{approval.Filter{Chains: []string{"a"}, Chain: "b", Limit: 10}, []int{}},
		{approval.Filter{Chains: []string{"%", "_", `\*`, "[ab]", "A", ""}, Limit: 10}, []int{}},
		{approval.Filter{Chains: []string{}, Limit: 10}, []int{}},
		{approval.Filter{Agent: "agent\x001", Chain: "a", Tool: "tool\x000", State: approval.Pending, Limit: 10}, []int{6}},
	} {
		found, err := s.List(t.Context(), tc.filter)
		if err != nil {
			t.Fatal(err)
		}
		got, want := []string{}, []string{}
		for i := range found {
			got = append(got, found[i].ID)
			if diff := cmp.Diff(get(t, s, found[i].ID), found[i]); diff != "" {
				t.Errorf("as listed and as read (-read +listed):\n%s", diff)
			}
		}
		for _, n := range tc.want {
			want = append(want, id(n))
		}
		same(t, fmt.Sprintf("%+v", tc.filter), want, got)
	}
}

func attends(t *testing.T, s Store) {
	create(t, s, Question(id(1)), time.Minute)
	create(t, s, Question(id(2)), time.Minute)
	settle(t, s, id(2), approval.Denied, approval.Settlement{})
	before := get(t, s, id(2))
	for _, ids := range [][]string{{id(1), id(2), id(3), "nonsense"}, {}, nil} {
		if err := s.Attend(t.Context(), ids); err != nil {
			t.Errorf("%q: %v", ids, err)
		}
	}
	if a := get(t, s, id(1)); a.State != approval.Pending || a.Deserted {
		t.Errorf("what somebody waits for stands as %+v", a)
	}
	same(t, "what is settled", before, get(t, s, id(2)))
}

func watches(t *testing.T, s Store) {
	ctx, cancel := context.WithCancel(t.Context())
	ids := make(chan string, 64)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Watch(ctx, func(id string) { ids <- id })
	}()
	// Watch reports only what happens after it has subscribed. That is known
	// only once a first change was reported.
	next := 1
	heard := func(want string) bool {
		for {
			select {
			case got := <-ids:
				if got == want {
					return true
				}
			case <-time.After(200 * time.Millisecond):
				return false
			}
		}
	}
	for deadline := time.Now().Add(20 * time.Second); ; next++ {
		create(t, s, Question(id(next)), time.Minute)
		if heard(id(next)) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("never told of a question that was created")
		}
	}
	settle(t, s, id(next), approval.Denied, approval.Settlement{})
	select {
	case got := <-ids:
		same(t, "told of what was settled", id(next), got)
	case <-time.After(20 * time.Second):
		t.Fatal("never told of what was settled")
	}
	cancel()
	<-ended
}

func unknown(t *testing.T, s Store) {
	if _, err := s.Get(t.Context(), id(9)); !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("reading: %v", err)
	}
	if _, won, err := s.Settle(t.Context(), id(9), approval.Allowed, approval.Settlement{}); won || !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("settling: %v, won: %v", err, won)
	}
	if ok, err := s.Redeem(t.Context(), id(9), ""); ok || !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("redeeming: %v, %v", ok, err)
	}
}

func ends(t *testing.T, s Store) {
	create(t, s, Question(id(1)), time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Create(ctx, Question(id(2)), time.Minute)
	_, _, settled := s.Settle(ctx, id(1), approval.Denied, approval.Settlement{})
	for what, err := range map[string]error{"creating": err, "settling": settled, "adding": s.Append(ctx, []audit.Record{{Body: []byte(`{}`)}})} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that ended: %v", what, err)
		}
	}
}

func read(t *testing.T, s Store, after uint64, limit int) []audit.Record {
	t.Helper()
	records, err := s.Read(t.Context(), after, limit)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func appended(t *testing.T, s Store, bodies ...string) {
	t.Helper()
	var records []audit.Record
	for _, b := range bodies {
		records = append(records, audit.Record{Time: time.Now(), Body: []byte(b)})
	}
	if err := s.Append(t.Context(), records); err != nil {
		t.Fatal(err)
	}
}

func bodies(records []audit.Record) []string {
	all := []string{}
	for _, r := range records {
		all = append(all, string(r.Body))
	}
	return all
}

func reads(t *testing.T, s Store) {
	same(t, "an empty trail", []audit.Record{}, read(t, s, 0, 10))
	appended(t, s, "1", "2", "3")
	appended(t, s, "4")
	first := read(t, s, 0, 3)
	same(t, "the first", []string{"1", "2", "3"}, bodies(first))
	same(t, "behind them", []string{"4"}, bodies(read(t, s, first[2].Offset, 10)))
	last := read(t, s, first[2].Offset, 10)[0]
	same(t, "behind the last", []audit.Record{}, read(t, s, last.Offset, 10))
	if first[0].Offset < 1 || last.Offset <= first[2].Offset {
		t.Errorf("the offsets are %d and %d", first[0].Offset, last.Offset)
	}
}

func readsAlong(t *testing.T, s Store) {
	const writers, each = 8, 20
	var wg sync.WaitGroup
	var want []string
	for w := range writers {
		for n := range each {
			want = append(want, fmt.Sprintf("%d/%02d", w, n))
		}
		wg.Go(func() {
			for n := range each {
				if err := s.Append(t.Context(), []audit.Record{{Time: time.Now(), Body: fmt.Appendf(nil, "%d/%02d", w, n)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { wg.Wait(); close(written) }()
	var got []string
	var after uint64
	for done := false; ; {
		records := read(t, s, after, 7)
		got = append(got, bodies(records)...)
		if len(records) > 0 {
			after = records[len(records)-1].Offset
			continue
		}
		if done {
			break
		}
		select {
		case <-written:
			done = true
		default:
		}
	}
	slices.Sort(got)
	same(t, "what a reader saw", want, got)
}

func keepsRecords(t *testing.T, s Store) {
	if err := s.Append(t.Context(), nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.FixedZone("", 3600))
	if err := s.Append(t.Context(), []audit.Record{{Offset: 77, Time: at, Body: []byte(hostile)}}); err != nil {
		t.Fatal(err)
	}
	got := read(t, s, 0, 10)
	if len(got) != 1 {
		t.Fatalf("%d records", len(got))
	}
	same(t, "the record", audit.Record{Offset: got[0].Offset, Time: at.UTC().Truncate(time.Microsecond), Body: []byte(hostile)}, got[0])
	if got[0].Offset == 77 {
		t.Error("the offset is the writer's")
	}
}
