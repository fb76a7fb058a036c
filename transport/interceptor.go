package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/hookgate/hookgate/chain"
)

// Interceptor is a participant implemented as Go code in this process. It must
// be safe for concurrent use.
//
// The zero Outcome is not a decision: it denies as a failure. So do an error, a
// panic and a call that exceeds its deadline.
type Interceptor interface {
	// Name identifies the interceptor in reasons.
	Name() string
	// Intercept is called before the tool runs. The byte slices that req's methods
	// return are shared and must not be modified. It should return when ctx is
	// done: nobody waits for it any longer.
	Intercept(ctx context.Context, req *chain.Request) (chain.Outcome, error)
}

// Reviewer is implemented by an [Interceptor] that also wants to be asked about
// results. Without it, every result is allowed.
//
// A wrapper around an Interceptor must forward Review, or it hides that of the
// wrapped one.
type Reviewer interface {
	// Review is called after the tool ran. The rules of Intercept apply.
	Review(ctx context.Context, req *chain.Request) (chain.Outcome, error)
}

// InProcessOptions configures the binding of an [Interceptor].
type InProcessOptions struct {
	Interceptor Interceptor
	// InlineUpTo is the largest envelope, in bytes, for which the interceptor runs
	// on the caller's goroutine. That saves a goroutine and a timer per call, and
	// gives up what they provide: ctx is the caller's and has no deadline, code
	// that blocks delays the call past its deadline, and code that calls
	// runtime.Goexit ends the caller. Use it for code whose running time is
	// bounded by the length of the envelope; the limit keeps that time short. Zero
	// means that no call runs inline.
	InlineUpTo int
	// MaxInFlight limits the calls in flight, including those that nobody waits
	// for any more. Zero means 16384: such a call costs one goroutine, and code
	// that returns when its context is done does not accumulate them.
	MaxInFlight int
}

// InProcess is the [chain.Binding] of an [Interceptor].
type InProcess struct {
	intercept, review asking
	inlineUpTo        int
	calls             limit
}

// asking is a method of an interceptor. A nil asking allows every call.
type asking func(context.Context, *chain.Request) (chain.Outcome, error)

// NewInProcess returns the binding of an interceptor. Whether it is a
// [Reviewer] is decided here, once.
func NewInProcess(o InProcessOptions) (*InProcess, error) {
	if isNil(o.Interceptor) {
		return nil, errors.New("interceptor: is nil")
	}
	if o.MaxInFlight < 0 {
		return nil, fmt.Errorf("interceptor %q: max in flight %d is negative", o.Interceptor.Name(), o.MaxInFlight)
	}
	if o.InlineUpTo < 0 {
		return nil, fmt.Errorf("interceptor %q: inline up to %d bytes is negative", o.Interceptor.Name(), o.InlineUpTo)
	}
	b := &InProcess{intercept: o.Interceptor.Intercept, inlineUpTo: o.InlineUpTo, calls: limit{max: 16384}}
	if r, ok := o.Interceptor.(Reviewer); ok {
		b.review = r.Review
	}
	if o.MaxInFlight > 0 {
		b.calls.max = int64(o.MaxInFlight)
	}
	return b, nil
}

// isNil also detects a nil pointer in the interface, which would otherwise show
// only as a panic during a call.
func isNil(i Interceptor) bool {
	if i == nil {
		return true
	}
	v := reflect.ValueOf(i)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// Status is the binding's current state.
func (b *InProcess) Status() Status { return Status{InFlight: b.calls.inFlight()} }

// Ask calls the interceptor.
func (b *InProcess) Ask(ctx context.Context, call chain.Call) chain.Answer {
	ask := b.intercept
	if call.Request.Event() == chain.PostToolUse {
		ask = b.review
	}
	if ask == nil {
		return chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow}}
	}
	if !b.calls.enter() {
		return b.calls.full()
	}
	if len(call.Request.JSON()) <= b.inlineUpTo {
		defer b.calls.leave()
		return ask.answer(ctx, call.Request)
	}
	return b.apart(ctx, ask, call)
}

// apart runs the method in its own goroutine, so that code that ignores its
// context cannot delay the call. The goroutine occupies its slot until the code
// returns.
func (b *InProcess) apart(ctx context.Context, ask asking, call chain.Call) chain.Answer {
	bounded, cancel := context.WithDeadline(ctx, call.Deadline)
	defer cancel()
	answer := make(chan chain.Answer, 1)
	go func() {
		// The answer if the code does not return because it ended its goroutine.
		a := chain.Fail(chain.Panic, "ended without an answer", "it called runtime.Goexit")
		defer func() {
			if r := recover(); r != nil {
				a = chain.Fail(chain.Panic, fmt.Sprintf("panicked: %v", r), string(debug.Stack()))
			}
			b.calls.leave()
			answer <- a
		}()
		a = ask.answer(bounded, call.Request)
	}()
	select {
	case a := <-answer:
		if a.Failure != nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
			return call.Expired("its code stopped: " + a.Failure.Text) // its context told it to
		}
		return a
	case <-bounded.Done():
		return call.Expired("its code has not returned")
	}
}

// answer converts the method's result to an answer.
func (ask asking) answer(ctx context.Context, req *chain.Request) chain.Answer {
	o, err := ask(ctx, req)
	if err != nil {
		text := err.Error()
		if text == "" {
			text = "failed without an error text"
		}
		return chain.Fail(chain.Error, text, "")
	}
	// The chain refuses a rewrite that does not fit the event.
	switch event := req.Event(); {
	case o.Decision == chain.Modify && event == chain.PreToolUse:
		if o.Input, err = owned(o.Input); err != nil {
			return chain.Fail(chain.UnusableRewrite, "answered modify with an input that is not JSON", err.Error())
		}
	case o.Decision == chain.Replace && event == chain.PostToolUse:
		if o.Output, err = owned(o.Output); err != nil {
			return chain.Fail(chain.Malformed, "answered replace with an output that is not JSON", err.Error())
		}
		if o.IsError != nil {
			claim := *o.IsError
			o.IsError = &claim
		}
	}
	return chain.Answer{Outcome: o}
}

// owned copies a rewrite and then validates the copy, so that what was
// validated is what runs, even if the code reuses its buffer. It removes white
// space around the value, since the chain recognizes an object by its first
// byte.
func owned(value []byte) ([]byte, error) {
	value = bytes.Clone(bytes.Trim(value, " \t\r\n"))
	return value, chain.CheckValue(value)
}
