package approval

import (
	"context"
	"errors"
	"maps"
	"time"
)

// follower is somebody who follows, with what he has not looked at yet. Its
// fields are the desk's, who has the lock.
type follower struct {
	woken   chan struct{}
	changed map[string]struct{} // the approvals that did
	missed  bool                // others may have, too
}

// maxUnread is how many changes are remembered for who is slow to look. One who
// has missed more looks at all there is.
const maxUnread = 1000

// hears is called with the desk's lock held. The empty id is every approval.
func (f *follower) hears(id string) {
	if id == "" || len(f.changed) == maxUnread {
		f.missed = true
	}
	if f.missed {
		clear(f.changed)
	} else {
		f.changed[id] = struct{}{}
	}
	nudge(f.woken)
}

// news takes what a follower has not looked at yet.
func (d *Desk) news(f *follower) (changed map[string]struct{}, missed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed, missed = f.changed, f.missed
	f.changed, f.missed = map[string]struct{}{}, false
	return changed, missed
}

// Following is what somebody follows.
type Following struct {
	// Filter says what he sees; it is asked each time he looks, and its State does
	// not matter.
	Filter func() Filter
	// Changed is called with each pending approval, those that are there first,
	// again where nobody waits for it any more or somebody does again, and again
	// once it is settled. An error of it ends the following.
	Changed func(*Approval) error
	// Idle is called every so often, and may end the following as well.
	Idle  func() error
	Every time.Duration
}

// Follow tells somebody of approvals until ctx or the desk ends, or he does.
func (d *Desk) Follow(ctx context.Context, what Following) error {
	f := &follower{woken: make(chan struct{}, 1), changed: map[string]struct{}{}}
	d.mu.Lock()
	d.followers[f] = struct{}{}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.followers, f)
		d.mu.Unlock()
	}()
	sweep, beat := time.NewTimer(0), time.NewTicker(what.Every)
	defer sweep.Stop()
	defer beat.Stop()
	told := told{}
	for {
		all := false
		select {
		case <-ctx.Done():
			return nil
		case <-d.stopping:
			return nil
		case <-beat.C:
			if err := what.Idle(); err != nil {
				return err
			}
			continue
		case <-sweep.C:
			all = true
		case <-f.woken:
		}
		changed, missed := d.news(f)
		var reached bool
		var err error
		if all || missed {
			reached, err = d.sweep(ctx, what, told)
			sweep.Reset(d.o.Sweep)
		} else {
			reached, err = d.lookAt(ctx, changed, what, told)
		}
		if err != nil {
			return err
		}
		if !reached {
			sweep.Reset(d.o.Poll) // what could not be looked at is among all there is
		}
	}
}

// told are the pending approvals that a follower was told of, and whether as
// deserted.
type told map[string]bool

// tell tells of an approval what is not told yet.
func (t told) tell(a *Approval, changed func(*Approval) error) error {
	deserted, before := t[a.ID]
	switch {
	case a.State == Pending && before && deserted == a.Deserted, a.State != Pending && !before:
		return nil
	case a.State == Pending:
		t[a.ID] = a.Deserted
	default:
		delete(t, a.ID)
	}
	return changed(a)
}

// sweep tells what is new of all there is, and what became of those that are gone.
// It returns whether the store could be reached.
func (d *Desk) sweep(ctx context.Context, what Following, told told) (bool, error) {
	filter := what.Filter()
	filter.State = Pending
	pending, err := d.List(ctx, filter)
	if err != nil {
		return false, nil //nolint:nilerr // a store that cannot be reached is looked at again
	}
	gone := make(map[string]struct{}, len(told))
	for id := range told {
		gone[id] = struct{}{}
	}
	if n := len(pending); n > 0 && n == filter.Limit { // the list ends before those that do
		maps.DeleteFunc(gone, func(id string, _ struct{}) bool { return id > pending[n-1].ID })
	}
	for i := range pending {
		delete(gone, pending[i].ID)
		if err := told.tell(&pending[i], what.Changed); err != nil {
			return true, err
		}
	}
	return d.lookAt(ctx, gone, what, told)
}

// lookAt tells what became of some. It returns whether the store could be reached.
func (d *Desk) lookAt(ctx context.Context, ids map[string]struct{}, what Following, told told) (bool, error) {
	filter := what.Filter()
	filter.State = Unset
	for id := range ids {
		a, err := d.Get(ctx, id)
		switch {
		case errors.Is(err, ErrUnknown):
			delete(told, id) // it is forgotten
			continue
		case err != nil:
			return false, nil //nolint:nilerr // a store that cannot be reached is looked at again
		case !filter.Holds(&a):
			continue
		}
		if err := told.tell(&a, what.Changed); err != nil {
			return true, err
		}
	}
	return true, nil
}
