package agentproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/internal/output"
)

// Options configures a turn.
type Options struct {
	Profile Profile
	// Sink receives the turn's events.
	Sink Sink
	// Decider answers permission requests. It is required if the profile has
	// permission.
	Decider Decider
	// Started is called once the agent runs, before any event. It may be nil.
	Started func()
	// Log receives ignored lines. It may be nil.
	Log *slog.Logger
	// MaxLineBytes limits a line of the agent. Zero means 8 MiB.
	MaxLineBytes int
	// MaxOpenRequests limits the permission requests of the turn that are open at
	// the same time. Excess requests are denied. Zero means 128.
	MaxOpenRequests int
}

// Result is how a turn ended. The zero Result has not succeeded.
type Result struct {
	// Succeeded says whether the turn succeeded.
	Succeeded bool
	// Failure is why the turn failed, or nil if it succeeded. Its Text continues a
	// sentence that begins with the agent's name. Its Detail has the end of the
	// agent's stderr.
	Failure *chain.Failure
	// ExitCode is 124 for a timeout, else 1 for an error event, else the process's
	// own (A8). For a signal it is 128 plus the signal's number. It is 126 or 127
	// if the process could not be started.
	ExitCode int
	// Text is the text of the result event, or empty. If partials were forwarded
	// they are the reply, and Text may repeat it.
	Text string
	// ErrorMessage is the unchanged message of the error event, which may be empty.
	// Failure omits it if it contains a secret.
	ErrorMessage string
	// SessionID is the agent's session id, or empty.
	SessionID string
	// Usage is the usage object of the result or error event, unchanged.
	Usage json.RawMessage
	// Partials counts the forwarded partials, and Ignored the lines that were not
	// events.
	Partials, Ignored int
}

// The exit codes that are not a process's own.
const (
	exitError   = 1
	exitTimeout = 124
	exitSignal  = 128 // plus the signal's number
)

const (
	defaultMaxLine = 8 << 20
	defaultMaxOpen = 128
	// lastDelivery is the time for the sink to receive the remaining events after
	// the turn's timeout and grace.
	lastDelivery = 2 * time.Second
)

// errTimeout is why a turn ends at its profile's timeout.
var errTimeout = errors.New("the turn's time ran out")

// check applies the defaults, or returns what is missing.
func (o *Options) check() error {
	errs := []error{o.Profile.Check()}
	if o.Sink == nil {
		errs = append(errs, errors.New("sink: is missing"))
	}
	if o.Profile.Permission && o.Decider == nil {
		errs = append(errs, errors.New("permission: there is no decider for requests"))
	}
	if o.MaxLineBytes < 0 || o.MaxOpenRequests < 0 {
		errs = append(errs, errors.New("a limit is negative"))
	}
	if o.MaxLineBytes == 0 {
		o.MaxLineBytes = defaultMaxLine
	}
	if o.MaxOpenRequests == 0 {
		o.MaxOpenRequests = defaultMaxOpen
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("agent %q: %w", o.Profile.Name, err)
	}
	return nil
}

// Run gives the turn to an agent and returns once the agent has ended. The
// Result says how it ended. An error means that the turn was not started, and
// it wraps [ErrTurn] if that is the caller's mistake; or that ctx was done or
// the sink failed, in which case the agent was killed.
func Run(ctx context.Context, turn Turn, o Options) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	turn.Permission = o.Profile.Permission
	if err := turn.check(); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrTurn, err)
	}
	l, err := o.Profile.launch(turn)
	if err != nil {
		return Result{}, fmt.Errorf("agent %q: %w", o.Profile.Name, err)
	}
	if ctx.Err() != nil {
		return Result{}, hungUp(ctx)
	}
	p, err := start(l)
	if err != nil {
		text, code := l.spawnFailure(err)
		return Result{ExitCode: code, Failure: &chain.Failure{Cause: chain.Spawn, Text: text, Detail: err.Error()}}, nil
	}
	if o.Started != nil {
		o.Started()
	}
	return converse(ctx, turn, &o, l, p)
}

func hungUp(ctx context.Context) error {
	return fmt.Errorf("the caller stopped waiting: %w", context.Cause(ctx))
}

// converse talks to a running agent until it has ended.
func converse(ctx context.Context, turn Turn, o *Options, l launch, p *process) (Result, error) {
	profile := &o.Profile
	runCtx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	runCtx, cancel := context.WithTimeoutCause(runCtx, profile.Timeout, errTimeout)
	defer cancel()
	// The sink outlives the timeout by the grace and lastDelivery.
	sinkCtx, cancelSink := context.WithTimeoutCause(ctx, profile.Timeout+profile.KillGrace+lastDelivery, errTimeout)
	defer cancelSink()

	c := &conversation{
		profile: profile, dir: l.dir, hidden: l.hidden, maxLine: o.MaxLineBytes, maxOpen: o.MaxOpenRequests, decider: o.Decider, log: o.Log,
		abort: abort, delivery: newDelivery(o.Sink), asks: map[string]*ask{},
	}
	c.outbox = newOutbox(p.stdin, c.last, c.delivery.place)
	stderr := &output.Tail{Hidden: l.hidden}

	delivered := make(chan error, 1)
	go func() {
		err := c.delivery.run(sinkCtx)
		if err != nil {
			abort(err)
		}
		delivered <- err
	}()
	var streams sync.WaitGroup
	streams.Go(func() { c.outbox.run(turn.line(), turn.Permission) })
	streams.Go(func() { c.read(runCtx, newLines(p.stdout, o.MaxLineBytes)) })
	streams.Go(func() {
		// io.Copy would allocate a buffer sixteen times as large for each turn.
		_, _ = io.CopyBuffer(stderr, p.stderr, make([]byte, output.Kept))
	})

	stopped := p.supervise(runCtx, profile.KillGrace, c.deny)
	c.silence(errEnded)
	c.outbox.close()
	_ = p.stdin.Close() // unblocks a writer on a full pipe
	streams.Wait()
	c.asking.Wait()
	c.delivery.close()
	sinkErr := <-delivered
	p.close()

	result := c.outcome(stopped, p.status)
	if result.Failure != nil {
		result.Failure.Detail = stderr.Detail()
	}
	switch {
	case ctx.Err() != nil:
		return result, hungUp(ctx)
	case sinkErr != nil:
		return result, fmt.Errorf("the turn's events could not be delivered: %w", sinkErr)
	}
	return result, nil
}

// supervise waits for the process to end. When ctx is done, it calls stopping,
// sends SIGTERM and, after the grace, SIGKILL. It returns why it did so, or nil
// if the process ended by itself.
func (p *process) supervise(ctx context.Context, grace time.Duration, stopping func(error)) error {
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-p.exited: // at the same moment: it ended by itself
		return nil
	default:
	}
	why := context.Cause(ctx)
	stopping(why)
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.signal(syscall.SIGKILL)
		<-p.exited
	}
	return why
}

// outcome is how the turn ended: because of stopped if that is not nil, else by
// the process's status.
func (c *conversation) outcome(stopped error, status syscall.WaitStatus) Result {
	s := &c.said
	r := Result{SessionID: s.sessionID, Usage: s.usage, Partials: s.partials, Ignored: s.ignored}
	if s.result != nil {
		r.Text = s.result.text
	}
	if s.failure != nil {
		r.ErrorMessage = s.failure.text
	}
	fail := func(code int, cause chain.Cause, text string) {
		r.ExitCode, r.Failure = code, &chain.Failure{Cause: cause, Text: text}
	}
	switch {
	case errors.Is(stopped, errTimeout):
		fail(exitTimeout, chain.Timeout, fmt.Sprintf("timed out after %v", c.profile.Timeout))
	case errors.Is(stopped, errTooMany):
		fail(exitError, chain.Oversize, stopped.Error())
	case s.failure != nil && s.failure.text == "":
		fail(exitError, chain.Error, "reported an error without a message")
	case s.failure != nil && c.hidden.In(s.failure.text):
		fail(exitError, chain.Error, "reported an error that "+output.Repeats)
	case s.failure != nil:
		fail(exitError, chain.Error, "reported an error: "+s.failure.text)
	case stopped != nil:
		fail(exitSignal+int(syscall.SIGTERM), chain.Signal, "was ended: "+stopped.Error())
	case status.Signaled():
		fail(exitSignal+int(status.Signal()), chain.Signal, fmt.Sprintf("was ended by signal %v", status.Signal()))
	case status.ExitStatus() != 0:
		fail(status.ExitStatus(), chain.Exit, fmt.Sprintf("exited with status %d", status.ExitStatus()))
	case s.oversize:
		fail(exitError, chain.Oversize, "gave a result on a line that is too long")
	default:
		r.Succeeded = true
	}
	return r
}
