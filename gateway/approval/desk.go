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

// Outcome is what became of a question, as it is counted. The zero Outcome is a
// failure.
type Outcome uint8

// The outcomes.
const (
	// OutcomeFailed is of a question that could not be asked, or whose answer
	// could not be had.
	OutcomeFailed Outcome = iota
	OutcomeAllowed
	OutcomeDenied
	OutcomeExpired
	OutcomeWithdrawn
)

// Options configure a [Desk].
type Options struct {
	// Open opens the store. It is called when something first needs it, and again
	// where it failed. Nil is that there is none.
	Open func() (Store, error)
	// Settled is told of the outcome of each question that was asked here. It is
	// called from many goroutines and must not block. May be nil.
	Settled func(Outcome)
	// NewID returns the names of questions: UUIDs of version 7.
	NewID func() string
	// Logger takes what operators want to know. Nil discards it.
	Logger *slog.Logger
	// MaxWaiting bounds the questions that wait here at once. Default 1000.
	MaxWaiting int
	// Poll is how often who waits looks by himself. Default 2 s.
	Poll time.Duration
	// Sweep is how often who follows looks at all there is, beside what he is told
	// of. Default 10 s.
	Sweep time.Duration
}

// Desk is where questions wait for a person, and where people answer them. Make
// it with [NewDesk].
type Desk struct {
	o Options

	opening sync.Mutex // held by who opens the store

	mu        sync.Mutex
	store     Store // nil until it is opened
	trouble   error // of the latest operation; nil where it went well
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
	// MaxCall is the longest envelope that is put to a person, in bytes.
	MaxCall = 256 << 10
	// MaxMessage is the longest message of a person, in bytes.
	MaxMessage = 4 << 10

	// storePatience is how long an operation of the store may take.
	storePatience = 5 * time.Second
)

// NewDesk returns a desk. It must be closed.
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

// ErrNoStore says that there is no place where approvals are kept.
var ErrNoStore = errors.New("approvals have no place where they are kept: set HOOKGATE_STATE_DIR, or HOOKGATE_DATABASE_URL for several gateways")

// ErrStopped says that the desk was closed.
var ErrStopped = errors.New("the gateway is stopping")

// Open opens the store if that did not happen yet.
func (d *Desk) Open() error {
	_, err := d.opened()
	return err
}

// opened returns the store, which is opened by who needs it first.
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

// tidy keeps the store tidy, says who waits, and finds out whether the store can
// be reached.
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
		_ = d.met(err) // which says it
		cancel()
		select {
		case <-d.life.Done():
			return
		case <-tick.C:
		}
	}
}

// attend says who waits here (P9).
func (d *Desk) attend(ctx context.Context, store Store) error {
	d.mu.Lock()
	ids := slices.Collect(maps.Keys(d.waiting))
	d.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	return store.Attend(ctx, ids)
}

// met remembers how an operation of the store went, and says so where that
// changed. It returns the error.
func (d *Desk) met(err error) error {
	if errors.Is(err, context.Canceled) { // who asked went away, which says nothing of the store
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
		d.o.Logger.LogAttrs(d.life, slog.LevelError, "approvals cannot be kept: whatever needs one is denied", slog.Any("error", err))
	case trouble == nil && before != nil:
		d.o.Logger.LogAttrs(d.life, slog.LevelInfo, "approvals can be kept again")
	}
	return err
}

// Trouble is why the store cannot be used at the moment; nil where it can, and
// where nothing needed it so far.
func (d *Desk) Trouble() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trouble
}

// Waiting is how many questions wait here.
func (d *Desk) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting)
}

// join makes room for a question, or says why there is none. The channel holds a
// token once the question may have been answered.
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

// wake has who waits for an approval look at it, and followers too. The empty id
// is every approval.
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

// nudge leaves a token, unless there is one.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Stop denies what waits, ends who follows, and lets nobody else begin to. It
// may be called more than once.
func (d *Desk) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped {
		d.stopped = true
		close(d.stopping)
	}
}

// Close is Stop, and returns once the desk uses the store no more. Nobody may be
// waiting any longer.
func (d *Desk) Close() {
	d.Stop()
	d.opening.Lock() // who opens the store has begun what is waited for
	d.end()
	d.opening.Unlock()
	d.background.Wait()
}

// unreachable says for people that an operation did not work.
func unreachable(err error) error {
	return fmt.Errorf("the store of approvals cannot be reached: %w", err)
}
