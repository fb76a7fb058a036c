package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/signature"
)

const (
	// partWithin is how long a worker has to exit by itself after its stdin was
	// closed.
	partWithin = time.Second
	// roomKept is the largest buffer that is kept for the next exchange.
	roomKept = 64 << 10
)

// workerProcess is one process of a worker. Whoever took it from the pool has
// exclusive use of it.
//
// Its stderr never becomes part of a failure's text, which the model sees: it
// may belong to another caller's call, written late.
type workerProcess struct {
	*process
	binds bool // answers must repeat the id of their call
	// State with which an interrupted exchange is continued.
	id       string // of the call, if binds is set
	question []byte
	unsent   []byte // rest of the question
	answer   []byte // as received so far

	// owed is the call that was given up before its answer arrived. It is nil if
	// the process is in step.
	owed *chain.Call

	// Learned from the exchanges.
	answered bool
	spoilt   bool   // out of step, or not known to be in step
	why      string // why it is spoilt; empty if its exit says why
	detail   string

	// Guarded by the pool's lock.
	taken, retired bool
	back           chan struct{} // closed once it is retired and not taken
}

func newWorkerProcess(running *process, binds bool) *workerProcess {
	return &workerProcess{process: running, binds: binds, back: make(chan struct{})}
}

// ask writes one request and reads one answer. asked is false if the process
// had died before the request could reach it.
//
// A caller that runs out of time says nothing about the process, whose own time
// limit, patience, begins now. If the caller gives up earlier,
// [workerProcess.settleUp] reads the answer that the process still owes.
func (p *workerProcess) ask(ctx context.Context, call chain.Call, limit int64, patience time.Duration) (answer chain.Answer, asked bool) {
	p.stderr.Reset() // discards the output of earlier calls
	due := time.Now().Add(patience)
	p.grant(call.Deadline)
	given := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(given)
		p.grant(longAgo())
	})
	defer func() {
		if !stop() {
			<-given // otherwise it could cut short what follows
		}
		if p.owed != nil {
			p.grant(due)
		}
	}()

	switch heard, err := readEarly(p.out); {
	case heard:
		return p.unruly(call, "wrote before it was asked"), true
	case errors.Is(err, io.EOF), isClosed(p.exited):
		p.spoilt = true
		return chain.Answer{}, false
	case errors.Is(err, os.ErrDeadlineExceeded): // before anything was written
		return call.Expired(""), true
	case err != nil:
		return p.lost(call), true
	}
	if err := p.pose(call.Request.Line()); err != nil {
		return chain.Fail(chain.Malformed, fmt.Sprintf("was not asked: %v, so its answer could not be told from another's", err), ""), true
	}
	p.unsent, p.answer = p.question, p.answer[:0]
	answer, ended := p.hear(call, limit)
	if !ended {
		owed := call
		owed.Deadline, owed.Allowed, owed.Late = due, patience, chain.Timeout
		p.owed = &owed
		return call.Expired(addDetail(p.heardSoFar(), p.stderr.Detail())), true
	}
	return answer, true
}

// pose makes the line that is written to the process.
func (p *workerProcess) pose(envelope []byte) (err error) {
	p.question = p.question[:0]
	if p.binds {
		p.id = newID()
		p.question, err = appendBound(p.question, envelope, p.id)
	} else {
		p.question = append(p.question, envelope...)
	}
	p.question = append(p.question, '\n')
	return err
}

// heardSoFar says, for the operator, how far an exchange came that ran out of
// time. A program that does not flush its output looks like one that hangs.
func (p *workerProcess) heardSoFar() string {
	switch n := len(p.answer); {
	case len(p.unsent) > 0:
		return "it did not read the whole call"
	case n == 0:
		return "it wrote nothing; a program that buffers its output must flush it after each line"
	default:
		return fmt.Sprintf("it wrote %d bytes, but no line break", n)
	}
}

// grant sets the deadline for writing to and reading from the process.
func (p *workerProcess) grant(until time.Time) {
	_ = p.in.SetWriteDeadline(until) // pipes support deadlines
	_ = p.out.SetReadDeadline(until)
	if isClosed(p.exited) {
		p.abandon() // again, since abandon sets a shorter deadline
	}
}

// settleUp reads the answer of a call that was given up, so that it is not
// taken for another call's. A process that does not answer within its own time,
// or writes more than the answer, has failed as in any call.
func (p *workerProcess) settleUp(limit int64) {
	owed := *p.owed
	p.owed = nil
	if _, ended := p.hear(owed, limit); !ended {
		failure := owed.Expired("").Failure
		p.spoil(failure.Text, p.stderr.Detail())
	}
}

// hear writes the rest of the request and reads the rest of the answer. ended
// is false if the granted time ran out first; hear can then be called again.
func (p *workerProcess) hear(call chain.Call, limit int64) (answer chain.Answer, ended bool) {
	line, more, err := p.exchange(limit)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && !isClosed(p.exited):
		return chain.Answer{}, false
	case errors.Is(err, errOversize):
		answer = oversize(limit, p.lastWords(call.Deadline))
		p.spoil(answer.Failure.Text, answer.Failure.Detail)
		return answer, true
	case err != nil:
		return p.lost(call), true
	case more:
		return p.unruly(call, "wrote more than its answer"), true
	}
	answer = p.bound(readAnswer(line, call.Request.Event()), line)
	p.hidden.Unshown(answer.Failure, line)
	answer.Outcome.Reason = p.hidden.ShownReason(answer.Outcome.Reason)
	// The next exchange overwrites the line's bytes.
	answer.Outcome.Input = bytes.Clone(answer.Outcome.Input)
	answer.Outcome.Output = bytes.Clone(answer.Outcome.Output)
	p.question, p.unsent, p.answer = keepSmall(p.question), nil, keepSmall(p.answer)
	// An unknown decision is still one line in the right format. Any other failure
	// suggests that the next line will be no better.
	if f := answer.Failure; f != nil && f.Cause != chain.WrongDecision {
		f.Detail = addDetail(f.Detail, p.lastWords(call.Deadline))
		p.spoil(f.Text, f.Detail)
		return answer, true
	}
	p.answered = true
	return answer, true
}

// bound is [bound] for a worker. A deny with the id of another call stands, but
// shows that the process is out of step.
func (p *workerProcess) bound(a chain.Answer, line []byte) chain.Answer {
	if !p.binds || a.Failure != nil {
		return a
	}
	switch id := repeatedID(line); {
	case id == p.id:
		return a
	case a.Outcome.Decision == chain.Deny:
		if id != "" {
			p.spoil("answered with the "+signature.FieldID+" of another call", "")
		}
		return a
	case id == "":
		return unbound(errNoID, line)
	default:
		return unbound(errOtherID, line)
	}
}

// exchange writes what is unsent and reads up to the first line break. more
// reports whether anything followed it.
func (p *workerProcess) exchange(limit int64) (line []byte, more bool, err error) {
	if len(p.unsent) > 0 {
		n, err := p.in.Write(p.unsent)
		p.unsent = p.unsent[n:]
		if err != nil {
			return nil, false, err
		}
	}
	return p.readLine(limit)
}

// readLine appends to p.answer up to the first line break.
func (p *workerProcess) readLine(limit int64) (line []byte, more bool, err error) {
	for {
		if len(p.answer) == cap(p.answer) {
			p.answer = slices.Grow(p.answer, max(4<<10, len(p.answer)))
		}
		had := len(p.answer)
		n, err := p.out.Read(p.answer[had:cap(p.answer)])
		if err != nil {
			return nil, false, err
		}
		p.answer = p.answer[:had+n]
		end := bytes.IndexByte(p.answer[had:], '\n')
		if length := had + end; end >= 0 && int64(length) <= limit {
			return p.answer[:length], length+1 < len(p.answer), nil
		}
		if end >= 0 || int64(len(p.answer)) > limit {
			return nil, false, errOversize
		}
	}
}

// keepSmall returns a buffer for reuse, or nil if it has grown large.
func keepSmall(buf []byte) []byte {
	if cap(buf) > roomKept {
		return nil
	}
	return buf
}

// spoil marks the process as not to be used again.
func (p *workerProcess) spoil(why, detail string) {
	p.spoilt, p.why, p.detail = true, why, detail
}

// lastWords kills the process and returns its last output on stderr.
func (p *workerProcess) lastWords(deadline time.Time) string {
	p.end()
	p.settle(deadline)
	return p.stderr.Detail()
}

// unruly is the failure of a process that violates the protocol.
func (p *workerProcess) unruly(call chain.Call, how string) chain.Answer {
	p.spoil(how, p.lastWords(call.Deadline))
	return chain.Fail(chain.Worker, "worker "+how, p.detail)
}

// exitWithin is how long to wait for the exit of a process whose pipe broke. On
// a busy machine that takes a while, and how a process exited says more than a
// closed pipe.
const exitWithin = time.Second

// lost is the failure of an exchange whose pipe broke, usually because the
// process exited.
func (p *workerProcess) lost(call chain.Call) chain.Answer {
	p.spoilt = true
	moment := min(exitWithin, time.Until(call.Deadline))
	if !closedWithin(p.exited, moment) {
		return p.unruly(call, "closed its stdin or stdout")
	}
	p.end()
	<-p.gone
	p.settle(call.Deadline)
	_, how := p.fate()
	return chain.Fail(chain.Worker, "worker "+how, p.stderr.Detail())
}

// fall is how the process ended. It is valid once gone is closed.
func (p *workerProcess) fall() fall {
	f := fall{cause: chain.Worker, why: "the last one " + p.why, detail: p.detail, answered: p.answered}
	if p.why == "" {
		_, how := p.fate()
		f.why, f.detail = "the last one "+how, p.stderr.Detail()
	}
	return f
}

// part closes the stdin of an idle process, at which a filter exits, and waits
// for that.
func (p *workerProcess) part() {
	closeAll(p.in)
	closedWithin(p.exited, partWithin)
}

// readEarly checks a pipe without blocking: data that is there before a request
// was written is not its answer. It returns io.EOF if the pipe is closed.
func readEarly(f *os.File) (heard bool, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var n int
	var said error
	err = conn.Read(func(fd uintptr) bool {
		n, said = syscall.Read(int(fd), make([]byte, 1))
		return true // false would make Read wait for data
	})
	switch {
	case err != nil:
		return false, err
	case n > 0:
		return true, nil
	case said == nil:
		return false, io.EOF
	case errors.Is(said, syscall.EAGAIN):
		return false, nil
	}
	return false, said
}
