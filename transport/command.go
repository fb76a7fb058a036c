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

// CommandOptions configure a program on this machine.
type CommandOptions struct {
	// Argv is the program and its arguments. No shell reads it. A program with
	// a directory part is relative to Dir; a bare name is looked up in the
	// PATH of Env.
	Argv []string
	// Dir is the working directory. A relative one is taken from where this
	// process stands when the binding is made.
	Dir string
	// Env is the whole environment as NAME=VALUE: nothing is added to it. Of
	// two entries of one name the last counts.
	Env []string
	// Secrets are parts of Env that nobody else may read: where the program fails
	// and has repeated one, what it said is not shown. One of less than eight
	// bytes is in any text by chance, and is not looked for.
	Secrets []string
	// MaxResponseBytes bounds an answer. Zero means 1 MiB.
	MaxResponseBytes int64
	// MaxInFlight bounds the calls under way. Zero means 64.
	MaxInFlight int
}

// limits are the two bounds with their defaults.
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

// Command is the [chain.Binding] of a program that is run once for each call:
// one envelope on its stdin, one decision object on its stdout.
type Command struct {
	program     *program
	maxResponse int64
	calls       limit
	gate        gate
	exchanges   sync.WaitGroup // which can outlast their calls
}

// NewCommand returns the binding of a program, or every reason why the options
// cannot be one. Whether the program is there is seen by each call.
func NewCommand(o CommandOptions) (*Command, error) {
	response, inFlight, err := o.limits(64)
	program, wrong := newProgram(o, 2*inFlight)
	if err := errors.Join(wrong, err); err != nil {
		return nil, err
	}
	return &Command{program: program, maxResponse: response, calls: limit{max: int64(inFlight)}}, nil
}

// Findable says why the program could not be started if it were asked now, and
// nil where nothing speaks against it. It starts nothing.
func (c *Command) Findable() error { return c.program.findable() }

// Status is the binding's present state.
func (c *Command) Status() Status { return Status{InFlight: c.calls.inFlight()} }

// Close lets the calls in flight end and returns when nothing of their
// processes is left. It gives up on what hangs inside the kernel 5 s after the
// last call; should that ever come back, it is still cleared up.
func (c *Command) Close() {
	c.gate.close()
	cleared(&c.exchanges)
}

// Ask runs the program and reads its answer.
//
// The exchange has a goroutine of its own: starting a program can hang inside
// the kernel, and neither that nor clearing up may hold the call.
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
	defer cancel() // not by the exchange: an answer and an ended context would race
	x := execution{command: c, call: call, done: make(chan said, 1)}
	c.exchanges.Go(func() { x.done <- x.run(bounded) })
	select {
	case s := <-x.done:
		if s.failure != nil {
			return chain.Answer{Failure: s.failure}
		}
		a := readAnswer(s.text, call.Request.Event())
		c.program.hidden.unshown(a.Failure, s.text)
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

// said is what came of an exchange.
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
	process atomic.Pointer[process] // nil until it runs
	done    chan said
}

// late is the failure of an exchange whose time is over.
func (x *execution) late() chain.Answer {
	p := x.process.Load()
	if p == nil {
		return x.call.Expired("its program had not been started yet")
	}
	why := "its program was still running"
	if isClosed(p.exited) {
		why = "its program had exited, but something that it started still held stdout"
	}
	return x.call.Expired(addDetail(why, p.stderr.detail()))
}

// run holds the order of the contract: the exit of the program is looked at
// first, then the size of its answer, then the answer. The clock comes before
// all of them, since a program killed by it may have said anything.
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
		// A program need not read its stdin, so an error here says nothing.
		_, _ = p.in.Write(x.call.Request.JSON())
		closeAll(p.in)
	}()

	// Only the end of stdout proves that there is no second object.
	text, err := readStdout(p.out, c.maxResponse)
	switch {
	case bounded.Err() != nil:
		return failed(x.late())
	case errors.Is(err, errOversize):
		return failed(oversize(c.maxResponse, p.stderr.detail()))
	case err != nil:
		return failed(chain.Fail(chain.Internal, "could not be heard", err.Error()))
	}
	select {
	case <-p.exited:
	case <-bounded.Done():
		return failed(x.late())
	}
	p.end()
	<-p.gone // in an instant, since it has exited
	p.settle(x.call.Deadline)
	if bounded.Err() != nil {
		return failed(x.late())
	}
	if cause, text := p.fate(); cause != chain.NoCause {
		return failed(chain.Fail(cause, p.stderr.after(text), ""))
	}
	return said{text: text, stderr: p.stderr.detail()}
}

var errOversize = errors.New("over the limit")

// oversize is the failure of an answer of more than limit bytes.
func oversize(limit int64, detail string) chain.Answer {
	return chain.Fail(chain.Oversize, fmt.Sprintf("answered with more than %d bytes", limit), detail)
}

// readStdout reads everything, or fails as soon as there is more than limit.
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
