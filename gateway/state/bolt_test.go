package state

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/hookgate/hookgate/gateway/approval"
	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openBolt opens the state in a directory until the test ends.
func openBolt(t *testing.T, o BoltOptions) *Bolt {
	t.Helper()
	b, err := OpenBolt(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeBolt(t, b) })
	return b
}

func closeBolt(t *testing.T, b *Bolt) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestAFileKeepsThePorts(t *testing.T) {
	statetest.Suite(t, func(t *testing.T) statetest.Store {
		t.Helper()
		return openBolt(t, BoltOptions{Dir: t.TempDir()})
	})
}

func TestAFileOfAnotherProcessIsNotOpenedAndSaysWhose(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "er")
	openBolt(t, BoltOptions{Dir: dir})
	_, err := OpenBolt(BoltOptions{Dir: dir})
	want := filepath.Join(dir, "hookgate.db") + " is in use by another process: give each gateway its own state directory, or all of them one database"
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestAFileThatIsNoneOfOursIsAnErrorThatNamesIt(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hookgate.db"), []byte(strings.Repeat("not a database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenBolt(BoltOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), "cannot open "+filepath.Join(dir, "hookgate.db")+": ") {
		t.Errorf("the error is %v", err)
	}
	if _, err := OpenBolt(BoltOptions{Dir: filepath.Join(dir, "hookgate.db")}); err == nil || !strings.Contains(err.Error(), "cannot create the state directory: ") {
		t.Errorf("the error where a file is in the way is %v", err)
	}
}

func TestAFileThatIsTakenAwayKeepsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		does func(path string) error
		want string
	}{
		"removed":  {os.Remove, "no longer where it was opened"},
		"replaced": {func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) }, "another file than the one that was opened"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := openBolt(t, BoltOptions{Dir: dir})
			records := []audit.Record{{Time: time.Now(), Body: []byte(`{}`)}}
			path := filepath.Join(dir, fileName)
			if err := errors.Join(b.Append(t.Context(), records), os.Link(path, path+".kept")); err != nil {
				t.Fatal(err)
			}
			if err := tc.does(path); err != nil {
				t.Fatal(err)
			}
			if err := b.Append(t.Context(), records); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("a record: error %v, want …%s", err, tc.want)
			}
			if _, err := b.Create(t.Context(), statetest.Question("a"), time.Minute); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("a question: error %v, want …%s", err, tc.want)
			}
			if _, err := b.List(t.Context(), approval.Filter{Limit: 1}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("a list: error %v, want …%s", err, tc.want)
			}
			if err := os.Rename(path+".kept", path); err != nil {
				t.Fatal(err)
			}
			if err := b.Append(t.Context(), records); err != nil {
				t.Errorf("once it is back: %v", err)
			}
		})
	}
}

func TestAFileThatIsTruncatedIsNotRead(t *testing.T) {
	dir := t.TempDir()
	b := openBolt(t, BoltOptions{Dir: dir})
	if _, err := b.Create(t.Context(), statetest.Question("a"), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, fileName), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, listed := b.List(t.Context(), approval.Filter{Limit: 1})
		_, created := b.Create(t.Context(), statetest.Question("b"), time.Minute)
		for _, err := range []error{listed, created} {
			if err == nil || !strings.Contains(err.Error(), "was truncated from") {
				t.Errorf("error %v", err)
			}
		}
	}
}

// A page that cannot be read is made by truncating the file behind the back of the
// check for that.
func TestAPageThatCannotBeReadIsAnErrorAndNotTheEndOfTheProcess(t *testing.T) {
	dir := t.TempDir()
	b := openBolt(t, BoltOptions{Dir: dir})
	question := statetest.Question("a")
	question.Envelope = []byte(`"` + strings.Repeat("x", 1<<20) + `"`) // many pages, the last of which are read
	if _, err := b.Create(t.Context(), question, time.Minute); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fileName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 64<<10); err != nil {
		t.Fatal(err)
	}
	b.size.Store(0)
	for range 2 {
		_, read := b.Get(t.Context(), "a")
		_, _, settled := b.Settle(t.Context(), "a", approval.Allowed, approval.Settlement{})
		for _, err := range []error{read, settled} {
			if err == nil || !strings.Contains(err.Error(), path+" cannot be read: ") {
				t.Errorf("error %v", err)
			}
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil { // into the same file
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), "a"); err != nil || got.State != approval.Pending {
		t.Errorf("once it can be read: %v, %v", got.State, err)
	}
}

// The first pages are those that bbolt reads when it begins a transaction.
func TestAFaultOutsideOfAnOperationRefusesAllLaterOnes(t *testing.T) {
	for name, operation := range map[string]func(*Bolt, context.Context) error{
		"reading": func(b *Bolt, ctx context.Context) error {
			_, err := b.List(ctx, approval.Filter{Limit: 1})
			return err
		},
		"writing": func(b *Bolt, ctx context.Context) error {
			_, err := b.Create(ctx, statetest.Question("b"), time.Minute)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b, err := OpenBolt(BoltOptions{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, fileName)
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
			b.size.Store(0)
			for range 2 {
				if err := operation(b, t.Context()); err == nil || !strings.Contains(err.Error(), path+" cannot be read: ") || !strings.HasSuffix(err.Error(), "and restart the gateway") {
					t.Errorf("error %v", err)
				}
			}
			if _, err := b.Get(t.Context(), "a"); err == nil || !strings.HasSuffix(err.Error(), "and restart the gateway") {
				t.Errorf("another operation: error %v", err)
			}
			if err := b.Close(); err == nil {
				t.Error("closing it says that nothing is wrong")
			}
		})
	}
}

func TestAChangeThatFailsDoesNotFailThoseThatAreCommittedWithIt(t *testing.T) {
	b := openBolt(t, BoltOptions{Dir: t.TempDir()})
	refused := errors.New("refused")
	puts := func(key string, err error) *part {
		return &part{done: make(chan error, 1), run: func(tx *bbolt.Tx) error {
			return errors.Join(tx.Bucket([]byte(bucketAudit)).Put([]byte(key), nil), err)
		}}
	}
	batch := []*part{puts("a", nil), puts("b", refused), puts("c", nil)}
	b.commitAll(slices.Clone(batch))
	for i, want := range []error{nil, refused, nil} {
		if err := <-batch[i].done; !errors.Is(err, want) {
			t.Errorf("change %d: error %v, want %v", i, err, want)
		}
	}
	var kept []string
	err := b.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucketAudit)).ForEach(func(key, _ []byte) error {
			kept = append(kept, string(key))
			return nil
		})
	})
	if diff := cmp.Diff([]string{"a", "c"}, kept); err != nil || diff != "" {
		t.Errorf("error %v, kept (-want +got):\n%s", err, diff)
	}
}

func TestP1_WhatWaitedWhenAProcessEndedIsExpiredWhenTheNextBegins(t *testing.T) {
	dir := t.TempDir()
	b := openBolt(t, BoltOptions{Dir: dir})
	for _, id := range []string{"1", "2", "3"} {
		if _, err := b.Create(t.Context(), statetest.Question(id), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	allowed, _, err := b.Settle(t.Context(), "3", approval.Allowed, approval.Settlement{By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	closeBolt(t, b)
	b = openBolt(t, BoltOptions{Dir: dir})
	for _, id := range []string{"1", "2"} {
		a, won, err := b.Settle(t.Context(), id, approval.Allowed, approval.Settlement{By: "ann"})
		if err != nil || won || a.State != approval.Expired || a.Message != "the gateway that asked ended before anyone answered" {
			t.Errorf("%s: won: %v, %v: %+v", id, won, err, a)
		}
	}
	if a, err := b.Get(t.Context(), "3"); err != nil || a.State != approval.Allowed || a.By != "ann" || !a.SettledAt.Equal(allowed.SettledAt) {
		t.Errorf("P6 an answer was lost: %+v: %v", a, err)
	}
}

func TestWhatWasSettledIsForgottenAfterADay(t *testing.T) {
	now := time.Now()
	b := openBolt(t, BoltOptions{Dir: t.TempDir(), Now: func() time.Time { return now }})
	for id, ttl := range map[string]time.Duration{"old": time.Hour, "waiting": 100 * time.Hour} {
		if _, err := b.Create(t.Context(), statetest.Question(id), ttl); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := b.Settle(t.Context(), "old", approval.Denied, approval.Settlement{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{24 * time.Hour, 2}, {time.Second, 1}} {
		now = now.Add(step.after)
		if err := b.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := b.List(t.Context(), approval.Filter{Limit: 10})
		if err != nil || len(left) != step.want {
			t.Errorf("after %v more %d are left: %v", step.after, len(left), err)
		}
	}
}

// change modifies the file directly, as another version of the program might.
func change(t *testing.T, b *Bolt, how func(tx *bbolt.Tx) error) {
	t.Helper()
	if err := b.db.Update(how); err != nil {
		t.Fatal(err)
	}
}

func TestTidyingReadsOnlyWhatIsDue(t *testing.T) {
	now := time.Now()
	b := openBolt(t, BoltOptions{Dir: t.TempDir(), Now: func() time.Time { return now }})
	for _, id := range []string{"pending", "settled"} {
		if _, err := b.Create(t.Context(), statetest.Question(id), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := b.Settle(t.Context(), "settled", approval.Allowed, approval.Settlement{}); err != nil {
		t.Fatal(err)
	}
	for bucket, id := range map[string]string{bucketPending: "pending", bucketSettled: "settled"} {
		change(t, b, func(tx *bbolt.Tx) error { return tx.Bucket([]byte(bucket)).Put([]byte(id), []byte("unreadable")) })
	}
	now = now.Add(time.Hour - time.Microsecond)
	if err := b.Tidy(t.Context()); err != nil {
		t.Errorf("it read what is not due: %v", err)
	}
	now = now.Add(time.Microsecond)
	if err := b.Tidy(t.Context()); err == nil {
		t.Error("it did not read what is due")
	}
}

func TestAFileOfAVersionThatHadNoOrderOfWhatIsDueIsTidiedAndLosesNothing(t *testing.T) {
	for name, earlier := range map[string]func(tx *bbolt.Tx) error{
		"by a version before it":                      func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(bucketDue)) },
		"by this one, with such a version in between": func(tx *bbolt.Tx) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir, now := t.TempDir(), time.Now()
			clock := func() time.Time { return now }
			b := openBolt(t, BoltOptions{Dir: dir, Now: clock})
			for _, id := range []string{"allowed", "waiting"} {
				if _, err := b.Create(t.Context(), statetest.Question(id), time.Hour); err != nil {
					t.Fatal(err)
				}
			}
			allowed, _, err := b.Settle(t.Context(), "allowed", approval.Allowed, approval.Settlement{By: "ann", Message: "fine"})
			if err != nil {
				t.Fatal(err)
			}
			change(t, b, earlier)
			late := allowed // as settled by the earlier version
			late.ID, late.SettledAt = "late", late.SettledAt.Add(time.Minute)
			change(t, b, func(tx *bbolt.Tx) error { return put(tx, bucketSettled, &late) })
			closeBolt(t, b)
			b = openBolt(t, BoltOptions{Dir: dir, Now: clock})
			for _, want := range []approval.Approval{allowed, late} {
				if got, err := b.Get(t.Context(), want.ID); err != nil || !cmp.Equal(got, want) {
					t.Errorf("%s: %v:\n%s", want.ID, err, cmp.Diff(want, got))
				}
			}
			for _, step := range []struct {
				after time.Duration
				want  []string
			}{
				{24 * time.Hour, []string{"waiting", "late", "allowed"}},
				{time.Microsecond, []string{"late"}},
				{time.Minute - time.Microsecond, []string{"late"}},
				{time.Microsecond, nil},
			} {
				now = now.Add(step.after)
				if err := b.Tidy(t.Context()); err != nil {
					t.Fatal(err)
				}
				left, err := b.List(t.Context(), approval.Filter{Limit: 10})
				var ids []string
				for _, a := range left {
					ids = append(ids, a.ID)
				}
				if diff := cmp.Diff(step.want, ids); diff != "" || err != nil {
					t.Errorf("after %v more (-want +got), %v:\n%s", step.after, err, diff)
				}
			}
			change(t, b, func(tx *bbolt.Tx) error {
				if key, _ := tx.Bucket([]byte(bucketDue)).Cursor().First(); key != nil {
					t.Errorf("%q is still to be tidied", key)
				}
				return nil
			})
		})
	}
}

func TestAnOperationOnADiskThatHangsEndsWithItsContext(t *testing.T) {
	b := openBolt(t, BoltOptions{Dir: t.TempDir()})
	hung, err := b.db.Begin(true) // a write transaction blocks all other writers
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = b.Create(ctx, statetest.Question("1"), time.Hour)
	if err == nil || !strings.Contains(err.Error(), "the disk did not respond") {
		t.Errorf("the error is %v", err)
	}
	if err := hung.Rollback(); err != nil {
		t.Fatal(err)
	}
}
