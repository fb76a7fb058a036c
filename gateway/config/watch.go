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

// WatchOptions say what is watched and who is told.
type WatchOptions struct {
	// Dirs are the directories to watch, as [Set.Dirs] returns them. It is
	// asked again after every report, so that a configuration that was
	// accepted brings its own.
	Dirs func() []string
	// Changed is told that something may have changed. It is not called while
	// it runs. Whether something has is for the caller to find out: load, and
	// compare the sums.
	Changed func()
	// Debounce is how long nothing has to happen before Changed is called;
	// 0 is 100 ms.
	Debounce time.Duration
	// Poll is how often Changed is called at least, whatever is noticed;
	// 0 is 10 s.
	Poll time.Duration
	// Logger is told where watching is not possible; nil is nobody.
	Logger *slog.Logger
}

// notifier tells what happens in directories. It is fsnotify's watcher.
type notifier interface {
	Add(dir string) error
	Remove(dir string) error
	WatchList() []string
	Close() error
}

// Watch calls Changed whenever something happened in the directories and has
// settled, and every Poll regardless. It calls it once at the beginning, so
// that nothing is missed that happened since the caller loaded. It returns when
// ctx ends, and has then left nothing behind.
//
// A directory is watched as a whole and every event in it counts: how a file
// is replaced is the business of whoever replaces it. Where the system cannot
// watch, the poll is what remains; that is logged once.
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

// watch is the state of [Watch].
type watch struct {
	WatchOptions
	notifier notifier // nil where nothing is watched any more
	// stirred holds one token while something has happened that was not looked
	// at yet.
	stirred chan struct{}
	// ended is closed when the notifier has nothing more to say.
	ended chan struct{}
	// refused are the directories that could not be watched when last tried.
	refused map[string]bool
}

func newWatch(o WatchOptions) *watch {
	return &watch{WatchOptions: o, stirred: make(chan struct{}, 1), refused: map[string]bool{}}
}

// listen begins to hear what a notifier says. It is heard at all times: a
// notifier that waits to be heard can hold what adding a directory waits for.
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
			// An error counts like an event: an overflow is events that were
			// lost.
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
	// The poll does not wait for the quiet that the debounce waits for.
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

// report tells of a change. The directories are followed before, since one may
// have been replaced, and after, since what was loaded may have brought others;
// what happened in those before they were watched is reported once more.
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

// follow makes the watched directories those that are asked for, and reports
// whether there is a new one.
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
			_ = w.notifier.Remove(dir) // it is gone already, then
		}
	}
	for dir := range wanted {
		// A directory that is watched already is added again: another one may
		// have its name by now.
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
