package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hookgate/hookgate/chain"
)

// CommandOptions configures the binding of a local program.
type CommandOptions struct {
	// Argv is the program and its arguments. It is executed without a shell. A
	// program path with a directory part is relative to Dir; a bare name is looked
	// up in the PATH of Env.
	Argv []string
	// Dir is the working directory. A relative path is resolved against the
	// gateway's working directory when the binding is created.
	Dir string
	// Env is the whole environment as NAME=VALUE; nothing is added. If a name
	// occurs twice, the last value counts.
	Env []string
	// Secrets are values in Env that must not be disclosed: if the program fails
	// and its output repeats one, the output is not shown. Secrets shorter than
	// eight bytes are not searched for, since they match by chance.
	Secrets []string
	// MaxResponseBytes limits the size of an answer. Zero means 1 MiB.
	MaxResponseBytes int64
	// MaxInFlight limits the calls in flight. Zero means 64.
	MaxInFlight int
}

// limits returns the two limits, with their defaults applied.
func (o CommandOptions) limits(defaultInFlight int) (response int64, inFlight int, err error) {
	response, inFlight = o.MaxResponseBytes, o.MaxInFlight
	if response == 0 {
		response = 1 << 20
	}
	if inFlight == 0 {
		inFlight = defaultInFlight
	}
	if response < 0 {
		err = fmt.Errorf("command: max response bytes %d is negative", response)
	}
	if inFlight < 0 {
		err = errors.Join(err, fmt.Errorf("command: max in flight %d is negative", inFlight))
	}
	return response, inFlight, err
}

// Command is the [chain.Binding] of a program that is started for each call. It
// reads one envelope from stdin and writes one decision object to stdout.
type Command struct {
	program     *program
	maxResponse int64
	calls       limit
	gate        gate
	exchanges   sync.WaitGroup // may outlive their calls
}

// NewCommand returns the binding of a program, or an error that lists every
// problem with the options. It does not check that the program exists; each
// call does.
func NewCommand(o CommandOptions) (*Command, error) {
	response, inFlight, err := o.limits(64)
	program, wrong := newProgram(o, 2*inFlight)
	if err := errors.Join(wrong, err); err != nil {
		return nil, err
	}
	return &Command{program: program, maxResponse: response, calls: limit{max: int64(inFlight)}}, nil
}

// Findable returns why the program could not be started now, or nil if no
// reason is known. It starts nothing.
func (c *Command) Findable() error { return c.program.findable() }

// Status is the binding's current state.
func (c *Command) Status() Status { return Status{InFlight: c.calls.inFlight()} }

// Close waits for the calls in flight to end and for their processes to be
// cleaned up. It waits at most 5 s after the last call for a process that hangs
// in the kernel; the clean-up continues in the background.
func (c *Command) Close() {
	c.gate.close()
	cleared(&c.exchanges)
}

// Ask runs the program and reads its answer.
//
// The exchange runs in its own goroutine: starting a program or cleaning up
// after it can hang in the kernel, and must not delay the call past its
// deadline.
func (c *Command) Ask(ctx context.Context, call chain.Call) chain.Answer {
	if !c.calls.enter() {
		return c.calls.full()
	}
	defer c.calls.leave()
	if !c.gate.enter() {
		return shut()
	}
	defer c.gate.leave()
	bounded, cancel := context.WithDeadline(ctx, call.Deadline)
	defer cancel() // the exchange must not cancel: its answer would race with the end of the context
	x := execution{command: c, call: call, done: make(chan said, 1)}
	c.exchanges.Go(func() { x.done <- x.run(bounded) })
	select {
	case s := <-x.done:
		if s.failure != nil {
			return chain.Answer{Failure: s.failure}
		}
		a := readAnswer(s.text, call.Request.Event())
		c.program.hidden.Unshown(a.Failure, s.text)
		a.Outcome.Reason = c.program.hidden.ShownReason(a.Outcome.Reason)
		if a.Failure != nil {
			a.Failure.Detail = addDetail(a.Failure.Detail, s.stderr)
		}
		return a
	case <-bounded.Done():
		return x.late()
	}
}

func addDetail(detail, more string) string {
	if detail == "" || more == "" {
		return detail + more
	}
	return detail + "; " + more
}

// said is the result of an exchange.
type said struct {
	text    []byte // all of stdout
	stderr  string // for the operator
	failure *chain.Failure
}

func failed(a chain.Answer) said { return said{failure: a.Failure} }

// execution is one call to a command.
type execution struct {
	command *Command
	call    chain.Call
	process atomic.Pointer[process] // nil until it is started
	done    chan said
}

// late is the failure of an exchange that missed the deadline.
func (x *execution) late() chain.Answer {
	p := x.process.Load()
	if p == nil {
		return x.call.Expired("its program had not been started yet")
	}
	why := "its program was still running"
	if isClosed(p.exited) {
		why = "its program had exited, but a process that it started still held its stdout open"
	}
	return x.call.Expired(addDetail(why, p.stderr.Detail()))
}

// run checks the deadline before anything else, since a program that it killed
// may have written anything. An answer over the size limit fails at once,
// because the program might never stop writing. Otherwise run checks how the
// program exited, and then its answer.
func (x *execution) run(bounded context.Context) said {
	c := x.command
	if bounded.Err() != nil {
		return failed(x.late())
	}
	p, err := c.program.start(bounded)
	if err != nil {
		return failed(c.program.notStarted(err))
	}
	x.process.Store(p)
	written := make(chan struct{})
	defer func() {
		p.close()
		<-written
	}()
	defer context.AfterFunc(bounded, p.interrupt)()
	go func() {
		defer close(written)
		// A program need not read its stdin, so a write error means nothing.
		_, _ = p.in.Write(x.call.Request.JSON())
		closeAll(p.in)
	}()

	// Only EOF on stdout proves that there is no second object.
	text, err := readStdout(p.out, c.maxResponse)
	switch {
	case bounded.Err() != nil:
		return failed(x.late())
	case errors.Is(err, errOversize):
		return failed(oversize(c.maxResponse, p.stderr.Detail()))
	case err != nil:
		return failed(chain.Fail(chain.Internal, "sent an answer that could not be read", err.Error()))
	}
	select {
	case <-p.exited:
	case <-bounded.Done():
		return failed(x.late())
	}
	p.end()
	<-p.gone // immediate, since the process has exited
	p.settle(x.call.Deadline)
	if bounded.Err() != nil {
		return failed(x.late())
	}
	if cause, text := p.fate(); cause != chain.NoCause {
		return failed(chain.Fail(cause, p.stderr.After(text), ""))
	}
	return said{text: text, stderr: p.stderr.Detail()}
}

var errOversize = errors.New("over the limit")

// oversize is the failure of an answer of more than limit bytes.
func oversize(limit int64, detail string) chain.Answer {
	return chain.Fail(chain.Oversize, fmt.Sprintf("answered with more than %d bytes", limit), detail)
}

// readStdout reads until EOF. It returns errOversize as soon as there are more
// than limit bytes.
func readStdout(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, err
	}
	switch n, err := r.Read(make([]byte, 1)); {
	case n > 0:
		return nil, errOversize
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return text, nil
}
