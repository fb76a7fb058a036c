package approval

import (
	"context"
	"time"
)

// Follow calls changed with each pending approval that the filter lets through,
// those that are there first, and again with each of them once it is settled,
// until ctx or the desk ends or changed returns an error. idle is called where
// there was nothing to tell for that long. The filter's state does not matter.
func (d *Desk) Follow(ctx context.Context, f Filter, every time.Duration, changed func(*Approval) error, idle func() error) error {
	f.State = Pending
	woken := make(chan struct{}, 1)
	d.mu.Lock()
	d.followers[woken] = struct{}{}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.followers, woken)
		d.mu.Unlock()
	}()
	look, beat := time.NewTicker(d.o.Poll), time.NewTicker(every)
	defer look.Stop()
	defer beat.Stop()
	told := map[string]struct{}{}
	for {
		// A store that cannot be reached is looked at again.
		if pending, err := d.List(ctx, f); err == nil {
			if err := d.tell(ctx, told, pending, changed); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-d.stopping:
			return nil
		case <-woken:
		case <-look.C:
		case <-beat.C:
			if err := idle(); err != nil {
				return err
			}
		}
	}
}

// tell tells what is new, and what became of those that are gone.
func (d *Desk) tell(ctx context.Context, told map[string]struct{}, pending []Approval, changed func(*Approval) error) error {
	still := make(map[string]struct{}, len(pending))
	for i := range pending {
		id := pending[i].ID
		still[id] = struct{}{}
		if _, before := told[id]; before {
			continue
		}
		if err := changed(&pending[i]); err != nil {
			return err
		}
		told[id] = struct{}{}
	}
	for id := range told {
		if _, there := still[id]; there {
			continue
		}
		now, err := d.Get(ctx, id)
		if err != nil || now.State == Pending {
			continue // the next look finds it
		}
		if err := changed(&now); err != nil {
			return err
		}
		delete(told, id)
	}
	return nil
}
