package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/hookgate/hookgate/chain"
)

const (
	// partWithin is how long a worker has to exit by itself once its stdin is
	// closed.
	partWithin = time.Second
	// roomKept is the largest buffer that an exchange leaves to the next.
	roomKept = 64 << 10
)

// workerProcess is one process of a worker. Whoever took it from the pool has
// it alone.
type workerProcess struct {
	*process
	question []byte
	answer   []byte

	// What the exchanges showed of it.
	answered  bool
	spoilt    bool   // it is out of step, or cannot be known to be in step
	blameless bool   // it is spoilt, but by the caller's impatience
	why       string // it is spoilt; empty where its exit says it
	detail    string

	// The pool's, under its lock.
	taken, retired bool
	back           chan struct{} // closed once it is retired and not taken
}

func newWorkerProcess(running *process) *workerProcess {
	return &workerProcess{process: running, back: make(chan struct{})}
}

// ask writes one question and reads one answer. It says whether the question
// was asked: a process that died beforehand can have heard nothing of it.
func (p *workerProcess) ask(ctx context.Context, call chain.Call, limit int64) (answer chain.Answer, asked bool) {
	p.stderr.reset()                         // what it said in another call is nobody's business in this one
	_ = p.in.SetWriteDeadline(call.Deadline) // a pipe has deadlines
	_ = p.out.SetReadDeadline(call.Deadline)
	stop := context.AfterFunc(ctx, p.interrupt)
	defer func() {
		if !stop() { // it is being interrupted, and may be so at any later moment
			p.spoilt, p.blameless = true, true
		}
	}()

	switch heard, err := readEarly(p.out); {
	case heard:
		return p.unruly(call, "wrote before it was asked"), true
	case errors.Is(err, io.EOF), isClosed(p.exited):
		p.spoilt = true
		return chain.Answer{}, false
	case err != nil:
		return p.lost(call, err), true
	}
	p.question = append(append(p.question[:0], call.Request.Line()...), '\n')
	_, err := p.in.Write(p.question)
	p.question = keepSmall(p.question)
	if err != nil {
		return p.lost(call, err), true
	}
	line, more, err := p.readLine(limit)
	switch {
	case errors.Is(err, errOversize):
		answer = oversize(limit, p.lastWords(call.Deadline))
		p.spoil(answer.Failure.Text, answer.Failure.Detail)
		return answer, true
	case err != nil:
		return p.lost(call, err), true
	case more:
		return p.unruly(call, "wrote more than its answer"), true
	}
	answer = readAnswer(line, call.Request.Event())
	// The line's bytes are written over by the next one.
	answer.Outcome.Input = bytes.Clone(answer.Outcome.Input)
	answer.Outcome.Output = bytes.Clone(answer.Outcome.Output)
	p.answer = keepSmall(p.answer)
	// An unknown decision is still one line of the right form. Any other
	// failure says that the next line is no better.
	if f := answer.Failure; f != nil && f.Cause != chain.WrongDecision {
		f.Detail = addDetail(f.Detail, p.lastWords(call.Deadline))
		p.spoil("did not answer with one decision object a line", f.Detail)
		return answer, true
	}
	p.answered = true
	return answer, true
}

// readLine reads until the first line break and says whether something came
// behind it.
func (p *workerProcess) readLine(limit int64) (line []byte, more bool, err error) {
	p.answer = p.answer[:0]
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

// keepSmall keeps a buffer for the next exchange unless it has grown large.
func keepSmall(buf []byte) []byte {
	if cap(buf) > roomKept {
		return nil
	}
	return buf
}

// spoil says that the process is not to be asked again.
func (p *workerProcess) spoil(why, detail string) {
	p.spoilt, p.why, p.detail = true, why, detail
}

// lastWords ends the process and is what it had to say on stderr.
func (p *workerProcess) lastWords(deadline time.Time) string {
	p.end()
	p.settle(deadline)
	return p.stderr.detail()
}

// unruly is the failure of a process that keeps no order.
func (p *workerProcess) unruly(call chain.Call, how string) chain.Answer {
	p.spoil(how, p.lastWords(call.Deadline))
	return chain.Fail(chain.Worker, "worker "+how, p.detail)
}

// lost is the failure of an exchange that came to no end.
func (p *workerProcess) lost(call chain.Call, err error) chain.Answer {
	if errors.Is(err, os.ErrDeadlineExceeded) && !isClosed(p.exited) {
		a := call.Expired(p.stderr.detail())
		p.spoil(a.Failure.Text, a.Failure.Detail)
		// Where the chain ran out of time it had less than it was promised.
		p.blameless = call.Late == chain.Budget
		return a
	}
	// As a rule a pipe breaks because the process exits, and how it did is
	// known in a moment.
	p.spoilt = true
	moment := min(settleWithin, time.Until(call.Deadline))
	if !closedWithin(p.exited, moment) {
		return p.unruly(call, "closed its stdin or stdout")
	}
	p.end()
	<-p.gone
	p.settle(call.Deadline)
	_, how := p.fate()
	return chain.Fail(chain.Worker, "worker "+p.stderr.after(how), "")
}

// fall is how the process ended, once it is gone.
func (p *workerProcess) fall() fall {
	f := fall{cause: chain.Worker, why: "the last one " + p.why, detail: p.detail, answered: p.answered, blameless: p.blameless}
	if p.why == "" {
		_, how := p.fate()
		// What it wrote to stderr may belong to another caller's call.
		f.why, f.detail = "the last one "+how, p.stderr.detail()
	}
	return f
}

// part lets an idle process exit as any filter does: at the end of its stdin.
func (p *workerProcess) part() {
	closeAll(p.in)
	closedWithin(p.exited, partWithin)
}

// readEarly looks into a pipe without waiting: what stands there before a
// question was asked is no answer to it. It returns io.EOF where there will
// never be anything.
func readEarly(f *os.File) (heard bool, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var n int
	var said error
	err = conn.Read(func(fd uintptr) bool {
		n, said = syscall.Read(int(fd), make([]byte, 1))
		return true // whatever came: a false would wait
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
