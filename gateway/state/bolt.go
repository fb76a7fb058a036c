package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/hookgate/hookgate/gateway/approval"
)

// remembered is how long settled approvals are kept.
const remembered = 24 * time.Hour

// lockPatience is how long to wait for another process to release the file; one
// that is being replaced releases it within moments.
const lockPatience = 2 * time.Second

// fileName is the name of the file in the state directory.
const fileName = "hookgate.db"

// Buckets of the file.
const (
	bucketPending = "approvals.pending" // by id
	bucketSettled = "approvals.settled" // by id
	bucketDue     = "approvals.due"     // by when they are due, and id
	bucketAudit   = "audit"             // by offset, big-endian
)

// BoltOptions configure a [Bolt].
type BoltOptions struct {
	// Dir is the directory of the file. It is created if it is missing.
	Dir string
	// Now returns the current time. Nil means time.Now.
	Now func() time.Time
}

// Bolt keeps state in a file that only one process at a time can open. Every
// change is synced to disk before it is acknowledged.
type Bolt struct {
	db  *bbolt.DB
	now func() time.Time
	// path is the path under which the file was opened, and file identifies it.
	path string
	file os.FileInfo
	// size is the largest size seen. The file never shrinks.
	size atomic.Int64
	// broken is why no transaction can begin any more; nil if it can.
	broken atomic.Pointer[error]
	writer writer

	mu       sync.Mutex
	watchers map[int]func(string)
	next     int
}

// OpenBolt opens the file, or returns an error that explains who may be using
// it. It expires approvals that are pending, because their callers ended with
// the previous process.
func OpenBolt(o BoltOptions) (*Bolt, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the state directory: %w", err)
	}
	path := filepath.Join(o.Dir, fileName)
	var file os.FileInfo
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: lockPatience, FreelistType: bbolt.FreelistMapType,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := os.OpenFile(name, flag, mode) //nolint:gosec // the operator's own
			if err == nil {
				file, err = f.Stat()
			}
			return f, err
		},
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%s is in use by another process: give each gateway its own state directory, or all of them one database", path)
	case err != nil:
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	b := &Bolt{db: db, now: o.Now, path: path, file: file, watchers: map[int]func(string){}, writer: writer{busy: make(chan struct{}, 1)}}
	if err := errors.Join(b.prepare(), syncDir(o.Dir)); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot prepare %s: %w", path, err), db.Close())
	}
	return b, nil
}

// syncDir makes a new file in a directory survive a crash.
func syncDir(path string) error {
	dir, err := os.Open(path) //nolint:gosec // the operator's own directory
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// prepare creates the buckets and expires approvals that nobody waits for.
func (b *Bolt) prepare() error {
	return b.write(func(tx *bbolt.Tx) error {
		for _, name := range []string{bucketPending, bucketSettled, bucketDue, bucketAudit} {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		left, err := all(tx.Bucket([]byte(bucketPending)))
		if err != nil {
			return err
		}
		for _, a := range left {
			s := approval.Settlement{Message: "the gateway that asked ended before anyone answered"}
			if err := settle(tx, &a, approval.Expired, s, b.time()); err != nil {
				return err
			}
		}
		return scheduleAll(tx)
	})
}

// Close releases the file. After a fault that left it locked the end of the process
// does so, and Close returns what is wrong.
func (b *Bolt) Close() error {
	if broken := b.broken.Load(); broken != nil {
		return *broken
	}
	return b.db.Close()
}

// time returns the current time with the precision that both stores keep.
func (b *Bolt) time() time.Time { return b.now().UTC().Truncate(time.Microsecond) }

// do waits for an operation until ctx ends. Disk I/O cannot be canceled, so an
// abandoned operation continues in the background.
func do[T any](ctx context.Context, operation func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := operation()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("the disk did not respond: %w", context.Cause(ctx))
	}
}

// inPlace checks that the path still names the open file. Changes to a removed or
// replaced file are synced, but lost when the process ends. A truncated file must
// not be read: it is mapped into memory, and reading behind its end would end the
// process.
func (b *Bolt) inPlace() error {
	seen := b.size.Load()
	there, err := os.Stat(b.path)
	switch {
	case err != nil:
		return fmt.Errorf("the file is no longer where it was opened: %w", err)
	case !os.SameFile(there, b.file):
		return fmt.Errorf("%s is another file than the one that was opened: restart the gateway to use it", b.path)
	case there.Size() < seen:
		return fmt.Errorf("%s was truncated from %d to %d bytes: stop the gateway and restore the file", b.path, seen, there.Size())
	}
	for there.Size() > seen && !b.size.CompareAndSwap(seen, there.Size()) {
		seen = b.size.Load()
	}
	return nil
}

// update changes the file, batched with concurrent updates, and returns once the
// change is synced. change may run more than once.
func update[T any](ctx context.Context, b *Bolt, change func(*bbolt.Tx) (T, error)) (T, error) {
	return do(ctx, func() (value T, err error) {
		if err := b.inPlace(); err != nil {
			return value, err
		}
		err = b.write(func(tx *bbolt.Tx) (err error) {
			value, err = change(tx)
			return err
		})
		return value, err
	})
}

func view[T any](ctx context.Context, b *Bolt, look func(*bbolt.Tx) (T, error)) (T, error) {
	return do(ctx, func() (value T, err error) {
		if err := b.inPlace(); err != nil {
			return value, err
		}
		err = b.transact(func() error {
			return b.db.View(func(tx *bbolt.Tx) error {
				return b.survive(func() (err error) {
					value, err = look(tx)
					return err
				})
			})
		})
		return value, err
	})
}

// Create implements [approval.Store].
func (b *Bolt) Create(ctx context.Context, q approval.Question, ttl time.Duration) (approval.Approval, error) {
	a, err := update(ctx, b, func(tx *bbolt.Tx) (approval.Approval, error) {
		if before, err := find(tx, q.ID); !errors.Is(err, approval.ErrUnknown) {
			return before, err
		}
		now := b.time()
		a := approval.Approval{Question: q, State: approval.Pending, CreatedAt: now, ExpiresAt: now.Add(ttl)}
		return a, errors.Join(put(tx, bucketPending, &a), schedule(tx, &a))
	})
	if err == nil {
		b.changed(q.ID)
	}
	return a, err
}

// Get implements [approval.Store].
func (b *Bolt) Get(ctx context.Context, id string) (approval.Approval, error) {
	return view(ctx, b, func(tx *bbolt.Tx) (approval.Approval, error) { return find(tx, id) })
}

// List implements [approval.Store].
func (b *Bolt) List(ctx context.Context, f approval.Filter) ([]approval.Approval, error) {
	return view(ctx, b, func(tx *bbolt.Tx) ([]approval.Approval, error) {
		pending, settled := tx.Bucket([]byte(bucketPending)), tx.Bucket([]byte(bucketSettled))
		if f.State == approval.Pending {
			return oldest(pending, f)
		}
		return newest(f, pending, settled)
	})
}

// Settle implements [approval.Store].
func (b *Bolt) Settle(ctx context.Context, id string, to approval.State, s approval.Settlement) (approval.Approval, bool, error) {
	type result struct {
		approval approval.Approval
		changed  bool
	}
	r, err := update(ctx, b, func(tx *bbolt.Tx) (result, error) {
		a, err := find(tx, id)
		if err != nil || a.State != approval.Pending {
			return result{approval: a}, err
		}
		to, s := to, s
		if now := b.time(); !now.Before(a.ExpiresAt) {
			to, s = approval.Expired, approval.Settlement{}
		}
		err = settle(tx, &a, to, s, b.time())
		return result{a, true}, err
	})
	if err == nil && r.changed {
		b.changed(id)
	}
	return r.approval, r.changed && r.approval.State == to, err
}

// Redeem implements [approval.Store].
func (b *Bolt) Redeem(ctx context.Context, id, digest string) (bool, error) {
	return update(ctx, b, func(tx *bbolt.Tx) (bool, error) {
		a, err := find(tx, id)
		if err != nil || a.State != approval.Allowed || a.Used || a.Digest != digest {
			return false, err
		}
		a.Used = true
		return true, put(tx, bucketSettled, &a)
	})
}

// Attend implements [approval.Store] and does nothing: all callers wait in this
// process, and what was pending in an earlier one was expired by [OpenBolt].
func (b *Bolt) Attend(context.Context, []string) error { return nil }

// Tidy implements [approval.Store].
func (b *Bolt) Tidy(ctx context.Context) error {
	// Usually there is nothing to do, which a read transaction can determine.
	ids, err := view(ctx, b, func(tx *bbolt.Tx) ([]string, error) { return due(tx, b.time()), nil })
	if err != nil || len(ids) == 0 {
		return err
	}
	expired, err := update(ctx, b, func(tx *bbolt.Tx) (expired []string, err error) {
		for _, id := range due(tx, b.time()) {
			a, err := find(tx, id)
			switch {
			case err != nil:
			case a.State == approval.Pending:
				expired = append(expired, id)
				err = settle(tx, &a, approval.Expired, approval.Settlement{}, b.time())
			default:
				err = errors.Join(tx.Bucket([]byte(bucketSettled)).Delete([]byte(id)), unschedule(tx, &a))
			}
			if err != nil {
				return nil, err
			}
		}
		return expired, nil
	})
	if err != nil {
		return err
	}
	for _, id := range expired {
		b.changed(id)
	}
	return nil
}

// schedule records when an approval is to be expired, or deleted once it is
// settled. Tidy then finds what is due without reading the other approvals, each of
// which contains a whole call.
func schedule(tx *bbolt.Tx, a *approval.Approval) error {
	return tx.Bucket([]byte(bucketDue)).Put(dueKey(a), nil)
}

func unschedule(tx *bbolt.Tx, a *approval.Approval) error {
	return tx.Bucket([]byte(bucketDue)).Delete(dueKey(a))
}

// dueKey is the key of an approval in the bucket of what is due. Keys sort by time.
func dueKey(a *approval.Approval) []byte {
	at := a.ExpiresAt.Add(time.Microsecond - 1) // never before it
	if a.State != approval.Pending {
		at = a.SettledAt.Add(remembered + time.Microsecond)
	}
	return append(binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro())), a.ID...)
}

// due returns the ids of the approvals that are due.
func due(tx *bbolt.Tx, now time.Time) []string {
	var ids []string
	cursor := tx.Bucket([]byte(bucketDue)).Cursor()
	for key, _ := cursor.First(); key != nil; key, _ = cursor.Next() {
		if int64(binary.BigEndian.Uint64(key)) > now.UnixMicro() { //nolint:gosec // times of today fit
			break
		}
		ids = append(ids, string(key[8:]))
	}
	return ids
}

// scheduleAll schedules every approval again: the file may have been written by a
// version without this bucket.
func scheduleAll(tx *bbolt.Tx) error {
	if err := tx.DeleteBucket([]byte(bucketDue)); err != nil {
		return err
	}
	if _, err := tx.CreateBucket([]byte(bucketDue)); err != nil {
		return err
	}
	for _, bucket := range []string{bucketPending, bucketSettled} {
		err := tx.Bucket([]byte(bucket)).ForEach(func(_, text []byte) error {
			var a approval.Approval
			if err := json.Unmarshal(text, &a); err != nil {
				return err
			}
			return schedule(tx, &a)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Watch implements [approval.Store].
func (b *Bolt) Watch(ctx context.Context, changed func(id string)) {
	b.mu.Lock()
	n := b.next
	b.next++
	b.watchers[n] = changed
	b.mu.Unlock()
	<-ctx.Done()
	b.mu.Lock()
	delete(b.watchers, n)
	b.mu.Unlock()
}

func (b *Bolt) changed(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, tell := range b.watchers {
		tell(id)
	}
}

// find returns the approval with the given id.
func find(tx *bbolt.Tx, id string) (a approval.Approval, err error) {
	for _, bucket := range []string{bucketPending, bucketSettled} {
		if text := tx.Bucket([]byte(bucket)).Get([]byte(id)); text != nil {
			return a, json.Unmarshal(text, &a)
		}
	}
	return a, approval.ErrUnknown
}

func put(tx *bbolt.Tx, bucket string, a *approval.Approval) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return tx.Bucket([]byte(bucket)).Put([]byte(a.ID), text)
}

// settle moves an approval from the pending to the settled ones.
func settle(tx *bbolt.Tx, a *approval.Approval, to approval.State, s approval.Settlement, now time.Time) error {
	if err := errors.Join(tx.Bucket([]byte(bucketPending)).Delete([]byte(a.ID)), unschedule(tx, a)); err != nil {
		return err
	}
	a.State, a.Settlement, a.SettledAt = to, s, now
	return errors.Join(put(tx, bucketSettled, a), schedule(tx, a))
}

// all returns the approvals of a bucket.
func all(bucket *bbolt.Bucket) ([]approval.Approval, error) {
	var found []approval.Approval
	err := bucket.ForEach(func(_, text []byte) error {
		var a approval.Approval
		if err := json.Unmarshal(text, &a); err != nil {
			return err
		}
		found = append(found, a)
		return nil
	})
	return found, err
}

// oldest returns the first approvals in a bucket that pass the filter.
func oldest(bucket *bbolt.Bucket, f approval.Filter) ([]approval.Approval, error) {
	found := []approval.Approval{}
	cursor := bucket.Cursor()
	for id, text := cursor.First(); id != nil && len(found) < f.Limit; id, text = cursor.Next() {
		if err := gather(&found, text, f); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// newest returns the last approvals of both buckets that pass the filter, newest
// first.
func newest(f approval.Filter, one, other *bbolt.Bucket) ([]approval.Approval, error) {
	found := []approval.Approval{}
	a, b := one.Cursor(), other.Cursor()
	idA, textA := a.Last()
	idB, textB := b.Last()
	for (idA != nil || idB != nil) && len(found) < f.Limit {
		text := textA
		if bytes.Compare(idA, idB) >= 0 {
			idA, textA = a.Prev()
		} else {
			text = textB
			idB, textB = b.Prev()
		}
		if err := gather(&found, text, f); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func gather(found *[]approval.Approval, text []byte, f approval.Filter) error {
	var a approval.Approval
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	if f.Holds(&a) {
		*found = append(*found, a)
	}
	return nil
}
