package state

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"go.etcd.io/bbolt"
)

// The file is mapped into memory, where a page that cannot be read would end the
// process. An operation that meets such a page fails instead. bbolt reads pages
// when it begins and ends a transaction too, and then keeps its locks, so that a
// fault there makes the file unusable until the gateway is restarted.

// survive makes an error of every panic and fault in f, which is part of a
// transaction.
func (b *Bolt) survive(f func() error) error {
	return caught(f, func(cause any) error {
		return fmt.Errorf("%s cannot be read: %v: check the disk, and restore the file if it is damaged", b.path, cause)
	})
}

// transact runs f, which is a whole transaction. After a panic or a fault in it no
// other is begun.
func (b *Bolt) transact(f func() error) error {
	if broken := b.broken.Load(); broken != nil {
		return *broken
	}
	return caught(f, func(cause any) error {
		err := fmt.Errorf("%s cannot be read: %v: check the disk, restore the file if it is damaged, and restart the gateway", b.path, cause)
		b.broken.CompareAndSwap(nil, &err)
		return err
	})
}

// caught returns the error of f, or what a panic or a fault in it means.
func caught(f func() error, means func(cause any) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = means(cause)
		}
	}()
	return f()
}

// writer batches concurrent changes: those that arrive during a commit are
// committed together, by one of their callers. bbolt's own Batch commits in a
// goroutine in which a fault cannot be caught.
type writer struct {
	busy chan struct{} // holds a token during a commit

	mu      sync.Mutex
	waiting []*part
}

// part is one caller's part of a commit.
type part struct {
	run  func(*bbolt.Tx) error
	done chan error // receives its result
}

// write changes the file and returns once the change is synced. run may run more
// than once.
func (b *Bolt) write(run func(*bbolt.Tx) error) error {
	c := &part{run: run, done: make(chan error, 1)}
	w := &b.writer
	w.mu.Lock()
	w.waiting = append(w.waiting, c)
	w.mu.Unlock()
	select {
	case err := <-c.done:
		return err
	case w.busy <- struct{}{}:
	}
	w.mu.Lock()
	batch := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	if len(batch) > 0 { // otherwise the previous commit took c with it
		b.commitAll(batch)
	}
	<-w.busy
	return <-c.done
}

// commitAll commits changes together. One that fails undoes the others' part of the
// transaction, so it is set aside and then run alone.
func (b *Bolt) commitAll(batch []*part) {
	var alone []*part
	failed, err := b.commit(batch)
	for ; failed >= 0 && len(batch) > 1; failed, err = b.commit(batch) {
		alone = append(alone, batch[failed])
		batch = slices.Delete(batch, failed, failed+1)
	}
	for _, c := range batch {
		c.done <- err
	}
	for _, c := range alone {
		_, err := b.commit([]*part{c})
		c.done <- err
	}
}

// commit runs changes in one transaction. failed is the index of the change that
// failed, negative if none did.
func (b *Bolt) commit(batch []*part) (failed int, err error) {
	failed = -1
	err = b.transact(func() error {
		return b.db.Update(func(tx *bbolt.Tx) error {
			for i, c := range batch {
				if err := b.survive(func() error { return c.run(tx) }); err != nil {
					failed = i
					return err
				}
			}
			return nil
		})
	})
	return failed, err
}
