package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// fakeNotifier is a notifier whose events the test sends.
type fakeNotifier struct {
	events   chan fsnotify.Event
	failures chan error
	refuse   map[string]error

	mu      sync.Mutex
	watched map[string]bool
	close   func()
}

func newFakeNotifier() *fakeNotifier {
	f := &fakeNotifier{
		events: make(chan fsnotify.Event), failures: make(chan error),
		refuse: map[string]error{}, watched: map[string]bool{},
	}
	f.close = sync.OnceFunc(func() { close(f.events); close(f.failures) })
	return f
}

func (f *fakeNotifier) Add(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refuse[dir]; err != nil {
		return err
	}
	f.watched[dir] = true
	return nil
}

func (f *fakeNotifier) Remove(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watched, dir)
	return nil
}

func (f *fakeNotifier) WatchList() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.watched))
}

func (f *fakeNotifier) Close() error { f.close(); return nil }

// watching is a watch with a fake notifier in a synctest bubble, with its
// reports.
type watching struct {
	*fakeNotifier
	began   time.Time
	reports []time.Duration // since the beginning; read only after stop
	dirs    atomic.Pointer[[]string]
	loads   []string // the directories after the next report; nil means unchanged
	log     *strings.Builder
	stop    func()
}

func (w *watching) follows(dirs ...string) { w.dirs.Store(&dirs) }

// startWatch watches a directory named dir with a poll of 10 s and a debounce
// of 100 ms. loads are the directories after a report.
func startWatch(t *testing.T, n *fakeNotifier, loads ...string) *watching {
	t.Helper()
	w := &watching{fakeNotifier: n, loads: loads, began: time.Now(), log: &strings.Builder{}}
	w.follows("dir")
	inner := newWatch(WatchOptions{
		Dirs: func() []string { return *w.dirs.Load() }, Debounce: defaultDebounce, Poll: defaultPoll,
		Changed: func() {
			w.reports = append(w.reports, time.Since(w.began))
			if w.loads != nil {
				w.follows(w.loads...)
			}
		},
		Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})),
	})
	ctx, cancel := context.WithCancel(t.Context())
	if n != nil {
		inner.listen(ctx, n, n.events, n.failures)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		inner.run(ctx)
	}()
	w.stop = func() { cancel(); <-done }
	return w
}

func (w *watching) wait(d time.Duration) {
	time.Sleep(d) // in the bubble this advances the fake clock
	synctest.Wait()
}

func (w *watching) event() { w.events <- fsnotify.Event{Name: "dir/..2026", Op: fsnotify.Chmod} }

func TestF10_AChangeIsReportedOnceItHasSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatch(t, newFakeNotifier())
		w.wait(time.Second)
		for range 5 { // the last one after 200 ms
			w.event()
			w.wait(50 * time.Millisecond)
		}
		w.wait(time.Second)
		w.event()
		w.wait(time.Second)
		w.stop()
		same(t, "reports", []time.Duration{
			100 * time.Millisecond, // the initial report
			1300 * time.Millisecond,
			2350 * time.Millisecond,
		}, w.reports)
	})
}

func TestF10_ThePollReportsWithoutFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatch(t, newFakeNotifier())
		for range 500 { // not quiet for 25 s
			w.event()
			w.wait(50 * time.Millisecond)
		}
		w.stop()
		same(t, "reports", []time.Duration{10 * time.Second, 20 * time.Second}, w.reports)
	})
}

func TestF10_WhereNothingCanBeWatchedThePollRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatch(t, nil)
		w.wait(25 * time.Second)
		w.stop()
		same(t, "reports", []time.Duration{100 * time.Millisecond, 10 * time.Second, 20 * time.Second}, w.reports)
	})
}

func TestF10_AnOverflowCountsAsAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatch(t, newFakeNotifier())
		w.wait(time.Second)
		w.failures <- fsnotify.ErrEventOverflow
		w.wait(time.Second)
		w.failures <- fsnotify.ErrEventOverflow
		w.wait(time.Second)
		w.stop()
		same(t, "reports", []time.Duration{100 * time.Millisecond, 1100 * time.Millisecond, 2100 * time.Millisecond}, w.reports)
		same(t, "log", "level=WARN msg=\"watching files failed\" error=\"fsnotify: queue or buffer overflow\"\n", w.log.String())
	})
}

func TestF10_AfterTheWatcherEndedByItselfThePollRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatch(t, newFakeNotifier())
		w.wait(time.Second)
		w.close()
		w.wait(24 * time.Second)
		w.stop()
		same(t, "reports", []time.Duration{
			100 * time.Millisecond, 1100 * time.Millisecond, 10 * time.Second, 20 * time.Second,
		}, w.reports)
		same(t, "log", "level=WARN msg=\"watching files ended, so they are polled from now on\" every=10s\n", w.log.String())
	})
}

func TestF10_ADirectoryThatCannotBeWatchedIsSaidOnceAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newFakeNotifier()
		n.refuse["dir"] = errors.New("no space left on device")
		w := startWatch(t, n)
		w.wait(15 * time.Second)
		same(t, "log", "level=WARN msg=\"a directory cannot be watched, so it is polled\" dir=dir error=\"no space left on device\" every=10s\n", w.log.String())
		n.mu.Lock()
		delete(n.refuse, "dir")
		n.mu.Unlock()
		w.wait(10 * time.Second)
		same(t, "watched", []string{"dir"}, n.WatchList())
		w.stop()
		// What happened before it could be watched is reported again.
		same(t, "reports", []time.Duration{100 * time.Millisecond, 10 * time.Second, 20 * time.Second}, w.reports)
	})
}

func TestF10_TheDirectoriesFollowWhatWasLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatch(t, newFakeNotifier())
		w.wait(time.Second)
		w.follows("dir", "secrets")
		w.wait(10 * time.Second)
		same(t, "watched", []string{"dir", "secrets"}, w.WatchList())
		w.follows("secrets")
		w.wait(10 * time.Second)
		same(t, "watched", []string{"secrets"}, w.WatchList())
		w.stop()
	})
}

func TestF10_ADirectoryThatALoadBroughtIsReportedOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWatch(t, newFakeNotifier(), "dir", "secrets")
		w.wait(time.Second)
		same(t, "watched", []string{"dir", "secrets"}, w.WatchList())
		w.stop()
		same(t, "reports", []time.Duration{100 * time.Millisecond, 200 * time.Millisecond}, w.reports)
	})
}

// live watches a volume on the real file system, and loads as the gateway does.
type live struct {
	sets chan *Set // each set that was valid
	stop func()
}

func startLive(t *testing.T, o Options) *live {
	t.Helper()
	current := loaded(t, o)
	l := &live{sets: make(chan *Set, 1000)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Watch(ctx, WatchOptions{
			Dirs: func() []string { return current.Dirs() },
			// The poll is disabled, because these tests are about events.
			Debounce: 5 * time.Millisecond, Poll: time.Hour,
			Changed: func() {
				next, err := current.Next()
				if err == nil && next.Sum != current.Sum {
					current = next
					l.sets <- next
				}
			},
		})
	}()
	l.stop = func() { cancel(); <-done }
	t.Cleanup(l.stop)
	return l
}

// until waits until the operator's hook has a name, for as long as necessary.
func (l *live) until(t *testing.T, name string) *Set {
	t.Helper()
	for {
		select {
		case set := <-l.sets:
			if set.Operator.Hooks[0].Name == name {
				return set
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s was not loaded", name)
		}
	}
}

func config(n int) map[string]string {
	return map[string]string{"hooks.yaml": fmt.Sprintf("schema: 1\nhooks: [{name: r%d, command: [x]}]\n", n)}
}

func TestF10_EveryWayInWhichAVolumeChangesIsNoticed(t *testing.T) {
	tests := map[string]func(t *testing.T, v *volume, l *live){
		"one update": func(t *testing.T, v *volume, l *live) {
			t.Helper()
			v.mustPut(t, config(1))
			l.until(t, "r1")
		},
		"a second update, when what a watch of the file would see is gone": func(t *testing.T, v *volume, l *live) {
			t.Helper()
			v.mustPut(t, config(1))
			l.until(t, "r1")
			v.mustPut(t, config(2))
			l.until(t, "r2")
		},
		"fifty quick updates end with the last": func(t *testing.T, v *volume, l *live) {
			t.Helper()
			for n := 1; n <= 50; n++ {
				v.mustPut(t, config(n))
			}
			l.until(t, "r50")
		},
		"the key is removed, and comes back": func(t *testing.T, v *volume, l *live) {
			t.Helper()
			v.mustPut(t, map[string]string{"other": ""})
			v.mustPut(t, config(1))
			l.until(t, "r1")
			v.mustPut(t, map[string]string{})
			v.mustPut(t, config(2))
			l.until(t, "r2")
		},
		"a broken file in between": func(t *testing.T, v *volume, l *live) {
			t.Helper()
			v.mustPut(t, map[string]string{"hooks.yaml": "schema: 1\nhooks: [{nam: x}]\n"})
			v.mustPut(t, config(1))
			l.until(t, "r1")
		},
		"the directory is replaced": func(t *testing.T, v *volume, l *live) {
			t.Helper()
			if err := os.Rename(v.dir, v.dir+".old"); err != nil {
				t.Fatal(err)
			}
			v.files, v.revision = nil, 100
			if err := os.Mkdir(v.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			v.mustPut(t, config(1))
			remove(t, v.dir+".old")
			l.until(t, "r1")
			v.mustPut(t, config(2))
			l.until(t, "r2")
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			v := newVolume(t, config(0))
			change(t, v, startLive(t, Options{ConfigFile: v.path("hooks.yaml")}))
		})
	}
}

func TestF10_AHundredSwapsAreFollowedEachToItsEnd(t *testing.T) {
	v := newVolume(t, config(0))
	l := startLive(t, Options{ConfigFile: v.path("hooks.yaml")})
	for n := 1; n <= 100; n++ {
		v.mustPut(t, config(n))
		l.until(t, fmt.Sprintf("r%d", n))
	}
}

func TestF10_AFileThatIsWrittenInPlaceOrRenamedOverIsNoticed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hooks.yaml")
	write(t, dir, config(0))
	l := startLive(t, Options{ConfigFile: path})
	write(t, dir, config(1))
	l.until(t, "r1")
	write(t, dir, map[string]string{".tmp": config(2)["hooks.yaml"]})
	if err := os.Rename(filepath.Join(dir, ".tmp"), path); err != nil {
		t.Fatal(err)
	}
	l.until(t, "r2")
}

func TestF10_TheFilesThatAreReferredToAreWatchedAsWell(t *testing.T) {
	dir, secrets := t.TempDir(), newVolume(t, map[string]string{"token": "one"})
	write(t, dir, map[string]string{"hooks.yaml": "schema: 1\nhooks: [{name: plain, command: [x]}]\n"})
	l := startLive(t, Options{ConfigFile: filepath.Join(dir, "hooks.yaml")})
	// The secret's volume is watched from this reload on.
	write(t, dir, map[string]string{"hooks.yaml": "schema: 1\nhooks: [{name: secret, command: [x], env: {T: \"${file:" + secrets.path("token") + "}\"}}]\n"})
	before := l.until(t, "secret").Operator.Hooks[0]
	secrets.mustPut(t, map[string]string{"token": "two"})
	after := l.until(t, "secret").Operator.Hooks[0]
	same(t, "env", map[string]string{"T": "two"}, after.Command.Env)
	if before.Fingerprint == after.Fingerprint {
		t.Error("the secret changed, and the fingerprint did not")
	}
}

func TestWatch_ItEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan struct{}, 10)
	done := make(chan struct{})
	go func() {
		defer close(done)
		Watch(ctx, WatchOptions{
			Dirs: func() []string { return []string{filepath.Join(t.TempDir(), "none")} }, Debounce: time.Millisecond,
			Changed: func() { called <- struct{}{} },
		})
	}()
	<-called
	cancel()
	<-done
}
