package agentproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// Options say how a turn is run.
type Options struct {
	Profile Profile
	// Sink takes the turn's events.
	Sink Sink
	// Decider answers permission requests. Needed where the profile has
	// permission.
	Decider Decider
	// Started is called once the agent runs, before any event. May be nil.
	Started func()
	// Log is told of lines that mean nothing. May be nil.
	Log *slog.Logger
	// MaxLineBytes bounds a line of the agent. Zero means 8 MiB.
	MaxLineBytes int
	// MaxOpenRequests bounds the requests of the turn that are decided at the
	// same time; one more is denied. Zero means 128.
	MaxOpenRequests int
}

// Result is how a turn ended. The zero Result has not succeeded.
type Result struct {
	// Succeeded is whether the agent ended well.
	Succeeded bool
	// Failure is why it did not; nil where it did. Its Text reads on after the
	// agent's name, its Detail has the end of what it wrote to standard error.
	Failure *chain.Failure
	// ExitCode is 124 for a time-out, else 1 for an error event, else the
	// process's own, which for a signal is 128 and its number (A8). A process
	// that could not be started has 126 or 127.
	ExitCode int
	// Text is that of the result event, empty where there was none. Where
	// partials were passed on they are the reply and this may repeat it.
	Text string
	// ErrorMessage is that of the error event, which may be without words.
	ErrorMessage string
	// SessionID is what the agent called its session; empty where it did not.
	SessionID string
	// Usage is the object that the result or error event carried, as it came.
	Usage json.RawMessage
	// Partials is how many were passed on, Ignored how many lines meant
	// nothing.
	Partials, Ignored int
}

// The exit codes that are not a process's own.
const (
	exitError   = 1
	exitTimeout = 124
	exitSignal  = 128 // and the signal's number
)

const (
	defaultMaxLine = 8 << 20
	defaultMaxOpen = 128
	// maxStderr is how much of an agent's standard error is kept.
	maxStderr = 2 << 10
	// lastDelivery is how long the sink has for what is left once the turn's
	// time and grace are over.
	lastDelivery = 2 * time.Second
)

// errTimeout is why a turn ends at its profile's time-out.
var errTimeout = errors.New("the turn's time ran out")

// check fills in the defaults, or says what is missing.
func (o *Options) check() error {
	errs := []error{o.Profile.Check()}
	if o.Sink == nil {
		errs = append(errs, errors.New("nobody takes the turn's events"))
	}
	if o.Profile.Permission && o.Decider == nil {
		errs = append(errs, errors.New("permission: nobody decides the requests"))
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

// Run gives the turn to an agent and returns once the agent has ended. How it
// ended is the Result's to say. An error means that the turn was not given,
// wrapping [ErrTurn] where that is the caller's mistake, or that nobody was left
// to take its events: ctx ended, or the sink failed. Then the agent was ended.
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
	return converse(ctx, turn, &o, l.dir, p)
}

func hungUp(ctx context.Context) error {
	return fmt.Errorf("the caller stopped waiting: %w", context.Cause(ctx))
}

// converse speaks with a running agent until it has ended.
func converse(ctx context.Context, turn Turn, o *Options, dir string, p *process) (Result, error) {
	profile := &o.Profile
	runCtx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	runCtx, cancel := context.WithTimeoutCause(runCtx, profile.Timeout, errTimeout)
	defer cancel()
	// The sink is served through the grace and a moment more.
	sinkCtx, cancelSink := context.WithTimeoutCause(ctx, profile.Timeout+profile.KillGrace+lastDelivery, errTimeout)
	defer cancelSink()

	c := &conversation{
		profile: profile, dir: dir, maxLine: o.MaxLineBytes, maxOpen: o.MaxOpenRequests, decider: o.Decider, log: o.Log,
		abort: abort, delivery: newDelivery(o.Sink), asks: map[string]*ask{},
	}
	c.outbox = newOutbox(p.stdin, c.last, c.delivery.place)
	stderr := &tail{max: maxStderr}

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
	streams.Go(func() { stderr.drain(p.stderr) })

	stopped := p.supervise(runCtx, profile.KillGrace, c.deny)
	c.silence(errEnded)
	c.outbox.close()
	_ = p.stdin.Close() // lets the writer go that a full pipe holds
	streams.Wait()
	c.asking.Wait()
	c.delivery.close()
	sinkErr := <-delivered
	p.close()

	result := c.said.outcome(stopped, p.status, profile)
	if result.Failure != nil && len(stderr.text) > 0 {
		result.Failure.Detail = fmt.Sprintf("standard error ends with %q", stderr.text)
	}
	switch {
	case ctx.Err() != nil:
		return result, hungUp(ctx)
	case sinkErr != nil:
		return result, fmt.Errorf("the turn's events could not be delivered: %w", sinkErr)
	}
	return result, nil
}

// supervise waits for the process to end, and ends it once ctx does: first
// asking, after the grace by force. It returns why it had to, nil where the
// process ended by itself. Before anything else stopping is told.
func (p *process) supervise(ctx context.Context, grace time.Duration, stopping func(error)) error {
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-p.exited: // at the same moment: then nobody ended it
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

// outcome is how the turn ended: because of stopped if that is not nil, else
// with the process's status.
func (s *said) outcome(stopped error, status syscall.WaitStatus, profile *Profile) Result {
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
		fail(exitTimeout, chain.Timeout, fmt.Sprintf("timed out after %v", profile.Timeout))
	case errors.Is(stopped, errTooMany):
		fail(exitError, chain.Oversize, stopped.Error())
	case s.failure != nil && s.failure.text == "":
		fail(exitError, chain.Error, "reported an error without words")
	case s.failure != nil:
		fail(exitError, chain.Error, "reported an error: "+s.failure.text)
	case stopped != nil:
		fail(exitSignal+int(syscall.SIGTERM), chain.Signal, "was ended: "+stopped.Error())
	case status.Signaled():
		fail(exitSignal+int(status.Signal()), chain.Signal, fmt.Sprintf("was ended by signal %v", status.Signal()))
	case status.ExitStatus() != 0:
		fail(status.ExitStatus(), chain.Exit, fmt.Sprintf("exited with status %d", status.ExitStatus()))
	case s.oversize:
		fail(exitError, chain.Oversize, "gave a result on a line over the limit")
	default:
		r.Succeeded = true
	}
	return r
}
