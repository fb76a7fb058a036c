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
//
// What it writes to stderr never gets into a failure's text, which reaches a
// model: nothing says whether it belongs to this call or, written late, to that
// of another caller.
type workerProcess struct {
	*process
	// What an exchange that was cut short takes up again.
	question []byte
	unsent   []byte // of the question
	answer   []byte // as far as it has come

	// owed is the call that was given up before its answer came; nil where the
	// process is in step.
	owed *chain.Call

	// What the exchanges showed of it.
	answered bool
	spoilt   bool   // it is out of step, or cannot be known to be in step
	why      string // it is spoilt; empty where its exit says it
	detail   string

	// The pool's, under its lock.
	taken, retired bool
	back           chan struct{} // closed once it is retired and not taken
}

func newWorkerProcess(running *process) *workerProcess {
	return &workerProcess{process: running, back: make(chan struct{})}
}

// ask writes one question and reads one answer. It says whether the question
// was asked: a process that died beforehand can have heard nothing of it.
//
// A caller that has no time left says nothing about the process, which has its
// own: patience, from now on. What it then owes is for [workerProcess.settleUp].
func (p *workerProcess) ask(ctx context.Context, call chain.Call, limit int64, patience time.Duration) (answer chain.Answer, asked bool) {
	p.stderr.reset() // what it said in another call is no detail of this one
	due := time.Now().Add(patience)
	p.grant(call.Deadline)
	given := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(given)
		p.grant(longAgo())
	})
	defer func() {
		if !stop() {
			<-given // or it would cut short what comes after
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
	case errors.Is(err, os.ErrDeadlineExceeded): // before anything was asked
		return call.Expired(""), true
	case err != nil:
		return p.lost(call), true
	}
	p.question = append(append(p.question[:0], call.Request.Line()...), '\n')
	p.unsent, p.answer = p.question, p.answer[:0]
	answer, ended := p.hear(call, limit)
	if !ended {
		owed := call
		owed.Deadline, owed.Allowed, owed.Late = due, patience, chain.Timeout
		p.owed = &owed
		return call.Expired(p.stderr.detail()), true
	}
	return answer, true
}

// grant says until when the process may be written to and read from.
func (p *workerProcess) grant(until time.Time) {
	_ = p.in.SetWriteDeadline(until) // a pipe has deadlines
	_ = p.out.SetReadDeadline(until)
	if isClosed(p.exited) {
		p.abandon() // once more, since that grants less
	}
}

// settleUp hears the answer that nobody waits for any longer, so that it is
// taken for nobody else's. A process that does not give it in its own time, or
// gives more, has failed as in any call.
func (p *workerProcess) settleUp(limit int64) {
	owed := *p.owed
	p.owed = nil
	if _, ended := p.hear(owed, limit); !ended {
		failure := owed.Expired("").Failure
		p.spoil(failure.Text, p.stderr.detail())
	}
}

// hear writes the rest of the question and reads the rest of the answer. It
// says whether that came to an end: not where the time that was granted ran
// out. Then it can be called again.
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
	answer = readAnswer(line, call.Request.Event())
	p.hidden.unshown(answer.Failure, line)
	// The line's bytes are written over by the next one.
	answer.Outcome.Input = bytes.Clone(answer.Outcome.Input)
	answer.Outcome.Output = bytes.Clone(answer.Outcome.Output)
	p.question, p.unsent, p.answer = keepSmall(p.question), nil, keepSmall(p.answer)
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

// exchange sends what is unsent and reads until the first line break. It says
// whether something came behind that.
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

// readLine adds to the answer until the first line break.
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

// exitWithin is how long a process whose pipe broke has to exit. A machine that
// is busy takes its time over that, and how a process ended tells more than that
// its pipe is closed.
const exitWithin = time.Second

// lost is the failure of an exchange that broke. As a rule a pipe breaks
// because the process exits.
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
	return chain.Fail(chain.Worker, "worker "+how, p.stderr.detail())
}

// fall is how the process ended, once it is gone.
func (p *workerProcess) fall() fall {
	f := fall{cause: chain.Worker, why: "the last one " + p.why, detail: p.detail, answered: p.answered}
	if p.why == "" {
		_, how := p.fate()
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
