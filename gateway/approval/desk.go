package approval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Outcome is the outcome of a question, for the metrics. The zero Outcome is a
// failure.
type Outcome uint8

// The outcomes.
const (
	// OutcomeFailed is a question that could not be asked or whose answer could
	// not be read.
	OutcomeFailed Outcome = iota
	OutcomeAllowed
	OutcomeDenied
	OutcomeExpired
	OutcomeWithdrawn
)

// Options configure a [Desk].
type Options struct {
	// Open opens the store. It is called on first use, and again after a failure.
	// Nil means that there is no store.
	Open func() (Store, error)
	// Settled is called with the outcome of each question asked here,
	// concurrently; it must not block. May be nil.
	Settled func(Outcome)
	// NewID returns a new question id: a UUID of version 7.
	NewID func() string
	// Logger receives the operator's log. Nil discards it.
	Logger *slog.Logger
	// MaxWaiting limits the questions that wait here at the same time. Default
	// 1000.
	MaxWaiting int
	// Poll is the interval at which a waiting question is polled. Default 2 s.
	Poll time.Duration
	// Sweep is the interval at which a follower lists all approvals, in addition
	// to notifications. Default 10 s.
	Sweep time.Duration
}

// Desk is where questions wait for a person and people answer them. Make it with
// [NewDesk].
type Desk struct {
	o Options

	opening sync.Mutex // held while the store is being opened

	mu        sync.Mutex
	store     Store // nil until opened
	trouble   error // the error of the latest operation; nil after a success
	waiting   map[string]chan struct{}
	followers map[*follower]struct{}
	stopped   bool

	stopping   chan struct{}      // closed by Stop
	life       context.Context    //nolint:containedctx // of the desk, not of a call
	end        context.CancelFunc // ends life
	background sync.WaitGroup
}

// Bounds.
const (
	// MaxCall is the longest envelope that a person is asked about, in bytes.
	MaxCall = 256 << 10
	// MaxMessage is the longest message of a person, in bytes.
	MaxMessage = 4 << 10

	// storePatience is the deadline of an operation of the store.
	storePatience = 5 * time.Second
)

// NewDesk returns a desk. The caller must call Close.
func NewDesk(o Options) *Desk {
	if o.Settled == nil {
		o.Settled = func(Outcome) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxWaiting == 0 {
		o.MaxWaiting = 1000
	}
	if o.Poll == 0 {
		o.Poll = 2 * time.Second
	}
	if o.Sweep == 0 {
		o.Sweep = 10 * time.Second
	}
	d := &Desk{o: o, waiting: map[string]chan struct{}{}, followers: map[*follower]struct{}{}, stopping: make(chan struct{})}
	d.life, d.end = context.WithCancel(context.Background())
	return d
}

// ErrNoStore reports that no store is configured.
var ErrNoStore = errors.New("no approvals store is configured: set HOOKGATE_STATE_DIR, or HOOKGATE_DATABASE_URL for several gateways")

// ErrStopped reports that the desk was stopped.
var ErrStopped = errors.New("the gateway is stopping")

// Open opens the store if it is not open yet.
func (d *Desk) Open() error {
	_, err := d.opened()
	return err
}

// opened returns the store, opening it on first use.
func (d *Desk) opened() (Store, error) {
	d.opening.Lock()
	defer d.opening.Unlock()
	if d.store != nil {
		return d.store, nil
	}
	if d.o.Open == nil {
		return nil, ErrNoStore
	}
	if d.life.Err() != nil {
		return nil, ErrStopped
	}
	store, err := d.o.Open()
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.store = store
	d.mu.Unlock()
	d.background.Go(func() { store.Watch(d.life, d.wake) })
	d.background.Go(func() { d.tidy(store) })
	return store, nil
}

// tidy periodically tidies the store, records which questions wait here, and
// notices whether the store is reachable.
func (d *Desk) tidy(store Store) {
	tick := time.NewTicker(d.o.Poll)
	defer tick.Stop()
	var attended time.Time
	for {
		ctx, cancel := context.WithTimeout(d.life, storePatience)
		err := store.Tidy(ctx)
		if now := time.Now(); err == nil && now.Sub(attended) >= Attention/3 {
			if err = d.attend(ctx, store); err == nil {
				attended = now
			}
		}
		_ = d.met(err) // met logs it
		cancel()
		select {
		case <-d.life.Done():
			return
		case <-tick.C:
		}
	}
}

// attend records in the store which questions wait here (P9).
func (d *Desk) attend(ctx context.Context, store Store) error {
	d.mu.Lock()
	ids := slices.Collect(maps.Keys(d.waiting))
	d.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	return store.Attend(ctx, ids)
}

// met records the result of a store operation and logs a change between working
// and failing. It returns err.
func (d *Desk) met(err error) error {
	if errors.Is(err, context.Canceled) { // canceled by the caller, which says nothing about the store
		return err
	}
	trouble := err
	if errors.Is(err, ErrUnknown) {
		trouble = nil
	}
	d.mu.Lock()
	before := d.trouble
	d.trouble = trouble
	d.mu.Unlock()
	switch {
	case trouble != nil && before == nil:
		d.o.Logger.LogAttrs(d.life, slog.LevelError, "the approvals store is unavailable: every call that needs an approval is denied", slog.Any("error", err))
	case trouble == nil && before != nil:
		d.o.Logger.LogAttrs(d.life, slog.LevelInfo, "the approvals store is available again")
	}
	return err
}

// Trouble returns why the store is unusable at the moment; nil if it works or was
// not needed so far.
func (d *Desk) Trouble() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trouble
}

// Waiting returns the number of questions that wait here.
func (d *Desk) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting)
}

// join registers a question, or reports that the desk is full or stopped. The
// channel receives a token when the question may have been answered.
func (d *Desk) join(id string) (woken chan struct{}, full, stopped bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || len(d.waiting) >= d.o.MaxWaiting {
		return nil, !d.stopped, d.stopped
	}
	woken = make(chan struct{}, 1)
	d.waiting[id] = woken
	return woken, false, false
}

func (d *Desk) leave(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, id)
}

// wake notifies whoever waits for an approval, and all followers. The empty id
// means every approval.
func (d *Desk) wake(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for waiting, woken := range d.waiting {
		if id == "" || id == waiting {
			nudge(woken)
		}
	}
	for f := range d.followers {
		f.hears(id)
	}
}

// nudge puts a token into c unless it is full.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Stop denies the waiting questions, ends the followers, and accepts no more of
// either. It may be called more than once.
func (d *Desk) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped {
		d.stopped = true
		close(d.stopping)
	}
}

// Close stops the desk and returns once the desk no longer uses the store. No
// question may be waiting when it is called.
func (d *Desk) Close() {
	d.Stop()
	d.opening.Lock() // opened starts the goroutines waited for below
	d.end()
	d.opening.Unlock()
	d.background.Wait()
}

// unreachable wraps an error of the store for people.
func unreachable(err error) error {
	return fmt.Errorf("the approvals store is unavailable: %w", err)
}
