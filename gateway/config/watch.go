package config

import (
	"context"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	defaultDebounce = 100 * time.Millisecond
	defaultPoll     = 10 * time.Second
)

// WatchOptions configure [Watch].
type WatchOptions struct {
	// Dirs returns the directories to watch, as [Set.Dirs] does. It is called
	// again after every report, so that a new configuration can add
	// directories.
	Dirs func() []string
	// Changed is called when something may have changed, never concurrently.
	// The caller must load and compare the sums to find out.
	Changed func()
	// Debounce is how long it must be quiet before Changed is called; 0 means
	// 100 ms.
	Debounce time.Duration
	// Poll is the maximum interval between calls of Changed, even without
	// events; 0 means 10 s.
	Poll time.Duration
	// Logger is told if watching is not possible; may be nil.
	Logger *slog.Logger
}

// notifier reports events in directories. It is fsnotify's watcher.
type notifier interface {
	Add(dir string) error
	Remove(dir string) error
	WatchList() []string
	Close() error
}

// Watch calls Changed whenever something has happened in the directories and
// has settled, and at least every Poll. It also calls it once at the beginning,
// so that a change since the caller's load is not missed. It returns when ctx
// ends, after releasing everything.
//
// A directory is watched as a whole, and every event in it counts, because
// files can be replaced in many ways. If the system cannot watch, only the poll
// remains; that is logged once.
func Watch(ctx context.Context, o WatchOptions) {
	if o.Debounce <= 0 {
		o.Debounce = defaultDebounce
	}
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w := newWatch(o)
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		o.Logger.WarnContext(ctx, "files cannot be watched, so they are polled", "error", err, "every", o.Poll)
	} else {
		w.listen(ctx, watcher, watcher.Events, watcher.Errors)
	}
	w.run(ctx)
}

// watch is the state of a running [Watch].
type watch struct {
	WatchOptions
	notifier notifier // nil once nothing is watched any more
	// stirred holds one token while there are unprocessed events.
	stirred chan struct{}
	// ended is closed when the notifier has stopped.
	ended chan struct{}
	// refused are the directories that could not be watched at the last
	// attempt.
	refused map[string]bool
}

func newWatch(o WatchOptions) *watch {
	return &watch{WatchOptions: o, stirred: make(chan struct{}, 1), refused: map[string]bool{}}
}

// listen receives a notifier's events in a goroutine of its own. They must be
// drained at all times: a notifier that blocks on an event can also block Add.
func (w *watch) listen(ctx context.Context, n notifier, events <-chan fsnotify.Event, failures <-chan error) {
	w.notifier, w.ended = n, make(chan struct{})
	go func() {
		defer close(w.ended)
		logged := map[string]bool{}
		for events != nil || failures != nil {
			select {
			case _, open := <-events:
				if !open {
					events = nil
				}
			case err, open := <-failures:
				if !open {
					failures = nil
				} else if !logged[err.Error()] {
					logged[err.Error()] = true
					w.Logger.WarnContext(ctx, "watching files failed", "error", err)
				}
			}
			// An error counts as an event: an overflow means lost events.
			select {
			case w.stirred <- struct{}{}:
			default:
			}
		}
	}()
}

func (w *watch) run(ctx context.Context) {
	defer w.stop(ctx)
	w.follow(ctx)
	// The poll does not wait for the debounce.
	quiet, poll := time.NewTimer(w.Debounce), time.NewTicker(w.Poll)
	defer quiet.Stop()
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.stirred:
			quiet.Reset(w.Debounce)
		case <-w.ended:
			w.Logger.WarnContext(ctx, "watching files ended, so they are polled from now on", "every", w.Poll)
			w.stop(ctx)
			quiet.Reset(w.Debounce)
		case <-quiet.C:
			w.report(ctx, quiet)
		case <-poll.C:
			w.report(ctx, quiet)
		}
	}
}

// report calls Changed. It updates the watched directories before, because one
// may have been replaced, and after, because the new configuration may have
// added some; in that case it schedules another report for what happened in
// them before they were watched.
func (w *watch) report(ctx context.Context, quiet *time.Timer) {
	w.follow(ctx)
	if ctx.Err() != nil {
		return
	}
	w.Changed()
	if w.follow(ctx) {
		quiet.Reset(w.Debounce)
	}
}

// follow updates the set of watched directories, and returns whether it added
// one.
func (w *watch) follow(ctx context.Context) (grown bool) {
	if w.notifier == nil {
		return false
	}
	wanted := map[string]bool{}
	for _, dir := range w.Dirs() {
		wanted[dir] = true
	}
	watched := map[string]bool{}
	for _, dir := range w.notifier.WatchList() {
		watched[dir] = true
		if !wanted[dir] {
			_ = w.notifier.Remove(dir) // fails if the directory is already gone
		}
	}
	for dir := range wanted {
		// A directory is added again even if it is being watched: its name may
		// refer to a new directory by now.
		err := w.notifier.Add(dir)
		switch {
		case err == nil:
			grown = grown || !watched[dir]
			delete(w.refused, dir)
		case !w.refused[dir]:
			w.refused[dir] = true
			w.Logger.WarnContext(ctx, "a directory cannot be watched, so it is polled", "dir", dir, "error", err, "every", w.Poll)
		}
	}
	return grown
}

// stop releases the notifier. A second stop does nothing.
func (w *watch) stop(ctx context.Context) {
	if w.notifier == nil {
		return
	}
	if err := w.notifier.Close(); err != nil {
		w.Logger.WarnContext(ctx, "the file watcher could not be closed", "error", err)
	} else {
		<-w.ended
	}
	w.notifier, w.ended = nil, nil
}
