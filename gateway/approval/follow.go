package approval

import (
	"context"
	"errors"
	"maps"
	"time"
)

// follower is a subscriber with the changes that it has not processed yet. Its
// fields are guarded by the desk's lock.
type follower struct {
	woken   chan struct{}
	changed map[string]struct{} // ids of changed approvals
	missed  bool                // others may have changed, too
}

// maxUnread is how many changes are remembered for a slow follower. One that has
// missed more lists all approvals instead.
const maxUnread = 1000

// hears records a change. The caller holds the desk's lock. The empty id means
// every approval.
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

// news returns and clears a follower's unprocessed changes.
func (d *Desk) news(f *follower) (changed map[string]struct{}, missed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed, missed = f.changed, f.missed
	f.changed, f.missed = map[string]struct{}{}, false
	return changed, missed
}

// Following is a subscription to approvals.
type Following struct {
	// Filter returns the approvals to follow; it is called before each read, and
	// its State is ignored.
	Filter func() Filter
	// Changed is called with each pending approval, beginning with the existing
	// ones; again when it becomes deserted or is attended again; and again once
	// it is settled. An error ends the subscription.
	Changed func(*Approval) error
	// Idle is called at the interval Every. An error ends the subscription.
	Idle  func() error
	Every time.Duration
}

// Follow reports approvals until ctx ends, the desk stops, or Changed or Idle
// returns an error, which Follow returns.
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
			sweep.Reset(d.o.Poll) // the sweep also covers the changes that could not be read
		}
	}
}

// told holds the pending approvals that a follower was told of, with their
// Deserted.
type told map[string]bool

// tell reports an approval if its state is news to the follower.
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

// sweep lists all pending approvals and reports what is new, and what became of
// those that are gone. It returns whether the store was reachable.
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
	if n := len(pending); n > 0 && n == filter.Limit { // the list is truncated: ids after its end are not gone
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

// lookAt reports the current state of some approvals. It returns whether the
// store was reachable.
func (d *Desk) lookAt(ctx context.Context, ids map[string]struct{}, what Following, told told) (bool, error) {
	filter := what.Filter()
	filter.State = Unset
	for id := range ids {
		a, err := d.Get(ctx, id)
		switch {
		case errors.Is(err, ErrUnknown):
			delete(told, id) // deleted from the store
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
