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

// Interceptor is a participant that is Go code in this process. It must be
// safe for concurrent use.
//
// Its zero Outcome is no decision and denies as a failure, as do an error, a
// panic and a call that outlasts its deadline.
type Interceptor interface {
	// Name is what reasons call it.
	Name() string
	// Intercept is asked before the tool runs. What the request's methods
	// return is shared and must not be changed. It should return once ctx
	// ends: nobody waits for it any longer.
	Intercept(ctx context.Context, req *chain.Request) (chain.Outcome, error)
}

// Reviewer is what an [Interceptor] implements that wants to be asked about
// results too. Without it every result stands.
//
// Whatever wraps an Interceptor must forward Review: a wrapper that does not
// have the method hides the one inside.
type Reviewer interface {
	// Review is asked after the tool ran, under the rules of Intercept.
	Review(ctx context.Context, req *chain.Request) (chain.Outcome, error)
}

// InProcessOptions configure the binding of an [Interceptor].
type InProcessOptions struct {
	Interceptor Interceptor
	// InlineUpTo asks the interceptor on the caller's goroutine where the
	// envelope has no more than that many bytes, which saves a goroutine and a
	// timer for each such call. It gives up what these are for: ctx is then the
	// caller's own and carries no deadline, code that blocks holds the call past
	// its deadline, and code that calls runtime.Goexit ends the caller. It is
	// for code whose work is bounded by the length of the call, and the bound is
	// what makes that little. Zero asks no call so.
	InlineUpTo int
	// MaxInFlight bounds the calls under way, those included that nobody
	// waits for any longer. Zero means 16384: such a call costs a goroutine, and
	// code that returns once its context ends does not pile them up.
	MaxInFlight int
}

// InProcess is the [chain.Binding] of an [Interceptor].
type InProcess struct {
	intercept, review asking
	inlineUpTo        int
	calls             limit
}

// asking is one of the methods of an interceptor; a nil one lets stand.
type asking func(context.Context, *chain.Request) (chain.Outcome, error)

// NewInProcess returns the binding of an interceptor. Whether that is a
// [Reviewer] is settled here, once.
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

// isNil sees a nil pointer inside the interface too, which would first be
// noticed when a call panics.
func isNil(i Interceptor) bool {
	if i == nil {
		return true
	}
	v := reflect.ValueOf(i)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// Status is the binding's present state.
func (b *InProcess) Status() Status { return Status{InFlight: b.calls.inFlight()} }

// Ask puts the call to the interceptor.
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

// apart asks on a goroutine of its own, so that code which ignores its context
// cannot hold the call. That goroutine keeps its place until the code returns.
func (b *InProcess) apart(ctx context.Context, ask asking, call chain.Call) chain.Answer {
	bounded, cancel := context.WithDeadline(ctx, call.Deadline)
	defer cancel()
	answer := make(chan chain.Answer, 1)
	go func() {
		// What is answered unless the code comes back: it ended its goroutine.
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
			return call.Expired("its code stopped: " + a.Failure.Text) // as it was told to
		}
		return a
	case <-bounded.Done():
		return call.Expired("its code has not returned")
	}
}

// answer turns what the method returns into an answer.
func (ask asking) answer(ctx context.Context, req *chain.Request) chain.Answer {
	o, err := ask(ctx, req)
	if err != nil {
		text := err.Error()
		if text == "" {
			text = "failed without saying why"
		}
		return chain.Fail(chain.Error, text, "")
	}
	// A rewrite that does not fit the event is left for the chain to refuse.
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

// owned copies a rewrite before it is checked: what was checked must be what
// runs, also where the code uses its buffer again. Blanks around the value are
// left out, since the chain tells an object by its first byte.
func owned(value []byte) ([]byte, error) {
	value = bytes.Clone(bytes.Trim(value, " \t\r\n"))
	return value, chain.CheckValue(value)
}
