package transport

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// function is an interceptor without Review.
type function func(context.Context, *chain.Request) (chain.Outcome, error)

func (function) Name() string { return "function" }

func (f function) Intercept(ctx context.Context, req *chain.Request) (chain.Outcome, error) {
	return f(ctx, req)
}

// both uses the same function for both events.
type both struct{ function }

func (b both) Review(ctx context.Context, req *chain.Request) (chain.Outcome, error) {
	return b.function(ctx, req)
}

// returns is an interceptor that returns the same for both events.
func returns(o chain.Outcome) Interceptor {
	return both{func(context.Context, *chain.Request) (chain.Outcome, error) { return o, nil }}
}

func newInProcess(t *testing.T, o InProcessOptions) *InProcess {
	t.Helper()
	b, err := NewInProcess(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAnInterceptorThatIsNotThereIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		options InProcessOptions
		want    string
	}{
		"nil":                  {InProcessOptions{}, "interceptor: is nil"},
		"a nil pointer":        {InProcessOptions{Interceptor: (*both)(nil)}, "interceptor: is nil"},
		"a negative size":      {InProcessOptions{Interceptor: returns(chain.Outcome{}), InlineUpTo: -1}, `interceptor "function": inline up to -1 bytes is negative`},
		"a negative in flight": {InProcessOptions{Interceptor: returns(chain.Outcome{}), MaxInFlight: -1}, `interceptor "function": max in flight -1 is negative`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewInProcess(c.options); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestWithoutAReviewResultsStand(t *testing.T) {
	b := newInProcess(t, InProcessOptions{Interceptor: function(func(context.Context, *chain.Request) (chain.Outcome, error) {
		t.Error("Intercept was asked about a result")
		return chain.Outcome{}, nil
	})})
	want := chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow}}
	if diff := cmp.Diff(want, b.Ask(t.Context(), call(request(t, chain.PostToolUse, `{}`), plenty))); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestAReviewIsAskedAboutResults(t *testing.T) {
	b := newInProcess(t, InProcessOptions{Interceptor: returns(chain.Outcome{Decision: chain.Deny, Reason: "secret"})})
	want := chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: "secret"}}
	if diff := cmp.Diff(want, b.Ask(t.Context(), call(request(t, chain.PostToolUse, `{}`), plenty))); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestCodeThatCannotAnswerFails(t *testing.T) {
	for name, c := range map[string]struct {
		code   function
		cause  chain.Cause
		text   string
		detail string // substring of the detail
	}{
		"an error": {
			func(context.Context, *chain.Request) (chain.Outcome, error) {
				return chain.Outcome{Decision: chain.Allow}, errors.New("policy store is down")
			}, chain.Error, "policy store is down", "",
		},
		"an error without a text": {
			func(context.Context, *chain.Request) (chain.Outcome, error) {
				return chain.Outcome{}, errors.New("")
			}, chain.Error, "failed without an error text", "",
		},
		"a panic": {
			func(context.Context, *chain.Request) (chain.Outcome, error) { panic("index out of range") },
			chain.Panic, "panicked: index out of range", "interceptor_test.go",
		},
		"a panic with nil": {
			func(context.Context, *chain.Request) (chain.Outcome, error) {
				panic(nil) //nolint:govet // the mistake under test
			},
			chain.Panic, "panicked: panic called with nil argument", "interceptor_test.go",
		},
		"runtime.Goexit": {
			func(context.Context, *chain.Request) (chain.Outcome, error) {
				runtime.Goexit()
				return chain.Outcome{}, nil
			}, chain.Panic, "ended without an answer", "it called runtime.Goexit",
		},
		"an input that is no JSON": {
			func(context.Context, *chain.Request) (chain.Outcome, error) {
				return chain.Outcome{Decision: chain.Modify, Input: json.RawMessage(`{"a":1`)}, nil
			}, chain.UnusableRewrite, "answered modify with an input that is not JSON", "cut short",
		},
		"no input": {
			func(context.Context, *chain.Request) (chain.Outcome, error) {
				return chain.Outcome{Decision: chain.Modify}, nil
			}, chain.UnusableRewrite, "answered modify with an input that is not JSON", "no JSON value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newInProcess(t, InProcessOptions{Interceptor: c.code})
			f := b.Ask(t.Context(), plain(t)).Failure
			if f == nil || f.Cause != c.cause || f.Text != c.text || !strings.Contains(f.Detail, c.detail) {
				t.Errorf("failure %+v, want %v: %s with %q in its detail", f, c.cause, c.text, c.detail)
			}
			if got := b.Status().InFlight; got != 0 {
				t.Errorf("%d calls in flight", got)
			}
		})
	}
}

func TestAnOutputThatIsNoJSONFails(t *testing.T) {
	b := newInProcess(t, InProcessOptions{Interceptor: returns(chain.Outcome{Decision: chain.Replace, Output: json.RawMessage(`gone`)})})
	got := b.Ask(t.Context(), call(request(t, chain.PostToolUse, `{}`), plenty))
	want := chain.Fail(chain.Malformed, "answered replace with an output that is not JSON", "invalid character 'g' at start of value")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestBlanksAroundARewriteAreLeftOut(t *testing.T) {
	b := newInProcess(t, InProcessOptions{Interceptor: returns(chain.Outcome{Decision: chain.Modify, Input: json.RawMessage(" {\"a\": 1}\r\n")})})
	want := chain.Answer{Outcome: chain.Outcome{Decision: chain.Modify, Input: json.RawMessage(`{"a": 1}`)}}
	if diff := cmp.Diff(want, b.Ask(t.Context(), plain(t))); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestWhatWasCheckedIsWhatRuns(t *testing.T) {
	input, claim := json.RawMessage(`{"a":1}`), false
	modified := newInProcess(t, InProcessOptions{Interceptor: returns(chain.Outcome{Decision: chain.Modify, Input: input})}).Ask(t.Context(), plain(t))
	replaced := newInProcess(t, InProcessOptions{Interceptor: returns(chain.Outcome{Decision: chain.Replace, Output: input, IsError: &claim})}).
		Ask(t.Context(), call(request(t, chain.PostToolUse, `{}`), plenty))
	copy(input, `{"b":2}`)
	claim = true
	if got := string(modified.Outcome.Input); got != `{"a":1}` {
		t.Errorf("the input changed to %s after it was answered", got)
	}
	if got := string(replaced.Outcome.Output); got != `{"a":1}` || *replaced.Outcome.IsError {
		t.Errorf("the output changed to %s, error %v, after it was answered", got, *replaced.Outcome.IsError)
	}
}

func TestT2_CodeThatIgnoresItsContextCannotHoldTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newInProcess(t, InProcessOptions{Interceptor: both{func(context.Context, *chain.Request) (chain.Outcome, error) {
			<-release
			return chain.Outcome{Decision: chain.Allow}, nil
		}}})
		for _, event := range chain.Events() {
			began := time.Now()
			c := call(request(t, event, `{}`), time.Second)
			if diff := cmp.Diff(c.Expired("its code has not returned"), b.Ask(t.Context(), c)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if took := time.Since(began); took != time.Second {
				t.Errorf("took %v", took)
			}
		}
		if got := b.Status().InFlight; got != 2 {
			t.Errorf("%d in flight while two have not returned", got)
		}
		close(release)
		synctest.Wait()
		if got := b.Status().InFlight; got != 0 {
			t.Errorf("%d in flight after all have returned", got)
		}
	})
}

func TestT2_CodeIsGivenTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := plain(t)
		b := newInProcess(t, InProcessOptions{Interceptor: function(func(ctx context.Context, _ *chain.Request) (chain.Outcome, error) {
			if deadline, ok := ctx.Deadline(); !ok || !deadline.Equal(c.Deadline) {
				t.Errorf("deadline %v (%v), want %v", deadline, ok, c.Deadline)
			}
			return chain.Outcome{Decision: chain.Allow}, nil
		})})
		if f := b.Ask(t.Context(), c).Failure; f != nil {
			t.Errorf("failed: %+v", f)
		}
	})
}

func TestT5_ACallerThatHangsUpIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		b := newInProcess(t, InProcessOptions{Interceptor: function(func(ctx context.Context, _ *chain.Request) (chain.Outcome, error) {
			<-ctx.Done()
			close(ended)
			return chain.Outcome{}, ctx.Err()
		})})
		ctx, hangUp := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, hangUp)
		began := time.Now()
		b.Ask(ctx, plain(t))
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
		<-ended // the code's context ended too
	})
}

func TestT6_BlockedCodeFillsItsOwnPlacesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newInProcess(t, InProcessOptions{MaxInFlight: 1, Interceptor: function(func(context.Context, *chain.Request) (chain.Outcome, error) {
			<-release
			return chain.Outcome{Decision: chain.Allow}, nil
		})})
		b.Ask(t.Context(), call(request(t, chain.PreToolUse, `{}`), time.Second)) // the call gives up, its code does not
		want := chain.Fail(chain.Saturated, "was not asked: its limit of 1 calls in flight is reached", "max_in_flight is reached")
		if diff := cmp.Diff(want, b.Ask(t.Context(), plain(t))); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		close(release)
		synctest.Wait()
		if f := b.Ask(t.Context(), plain(t)).Failure; f != nil {
			t.Errorf("the place was not given again: %+v", f)
		}
	})
}

func TestT2_ALongCallIsNotAskedInline(t *testing.T) {
	long := request(t, chain.PreToolUse, `{"text":"`+strings.Repeat("x", 200)+`"}`)
	size := len(long.JSON())
	for name, c := range map[string]struct {
		upTo   int
		inline bool
	}{
		"as long as the bound": {size, true},
		"one byte longer":      {size - 1, false},
		"no bound":             {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := call(long, plenty)
			b := newInProcess(t, InProcessOptions{InlineUpTo: c.upTo, Interceptor: function(func(ctx context.Context, _ *chain.Request) (chain.Outcome, error) {
				if inline := !strings.Contains(string(debug.Stack()), "created by github.com/hookgate/hookgate/transport.(*InProcess)"); inline != c.inline {
					t.Errorf("asked inline is %v, want %v", inline, c.inline)
				}
				if deadline, _ := ctx.Deadline(); !c.inline && !deadline.Equal(asked.Deadline) {
					t.Errorf("deadline %v, want %v", deadline, asked.Deadline)
				}
				return chain.Outcome{Decision: chain.Allow}, nil
			})})
			if f := b.Ask(t.Context(), asked).Failure; f != nil {
				t.Errorf("failed: %+v", f)
			}
		})
	}
}

func TestT2_CodeThatStopsAtItsDeadlineIsLateAndNotBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInProcess(t, InProcessOptions{Interceptor: function(func(ctx context.Context, _ *chain.Request) (chain.Outcome, error) {
			<-ctx.Done()
			return chain.Outcome{}, ctx.Err()
		})})
		c := call(request(t, chain.PreToolUse, `{}`), time.Second)
		got := b.Ask(t.Context(), c)
		if got.Failure == nil || got.Failure.Cause != c.Late || got.Failure.Text != "timed out after 1000 ms" {
			t.Errorf("failure %+v, want that it timed out after 1000 ms", got.Failure)
		}
	})
}

func TestT6_CodeHasPlacesForManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newInProcess(t, InProcessOptions{Interceptor: function(func(context.Context, *chain.Request) (chain.Outcome, error) {
			<-release
			return chain.Outcome{Decision: chain.Allow}, nil
		})})
		for range 16384 {
			go b.Ask(t.Context(), plain(t))
		}
		synctest.Wait()
		want := chain.Fail(chain.Saturated, "was not asked: its limit of 16384 calls in flight is reached", "max_in_flight is reached")
		if diff := cmp.Diff(want, b.Ask(t.Context(), plain(t))); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		close(release)
	})
}

func TestInlineCodeIsAskedOnTheCallersGoroutine(t *testing.T) {
	b := newInProcess(t, InProcessOptions{InlineUpTo: 1 << 10, Interceptor: function(func(ctx context.Context, _ *chain.Request) (chain.Outcome, error) {
		if stack := string(debug.Stack()); !strings.Contains(stack, t.Name()) {
			t.Errorf("asked on another goroutine: %s", stack)
		}
		if ctx != t.Context() {
			t.Error("the context is not the caller's")
		}
		return chain.Outcome{Decision: chain.Deny, Reason: "no"}, nil
	})})
	want := chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: "no"}}
	if diff := cmp.Diff(want, b.Ask(t.Context(), plain(t))); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestAPanicOfInlineCodeIsForTheChainToRecover(t *testing.T) {
	b := newInProcess(t, InProcessOptions{InlineUpTo: 1 << 10, Interceptor: function(func(context.Context, *chain.Request) (chain.Outcome, error) { panic("bug") })})
	guard := &chain.Participant{Name: "guard", Kind: chain.Interceptor, Binding: b, Events: chain.Events(), Timeout: plenty}
	only, err := chain.New(chain.Options{Name: "only", Participants: []*chain.Participant{guard}, Budget: plenty})
	if err != nil {
		t.Fatal(err)
	}
	v := only.Decide(t.Context(), request(t, chain.PreToolUse, `{}`), 0)
	want := chain.Outcome{Decision: chain.Deny, Reason: "interceptor 'guard' could not answer and denies on failure: panicked: bug"}
	if diff := cmp.Diff(want, v.Outcome); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if got := b.Status().InFlight; got != 0 {
		t.Errorf("%d calls in flight after the panic", got)
	}
}
