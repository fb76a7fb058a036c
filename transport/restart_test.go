package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// numbered is a call with its own number.
func numbered(t *testing.T, n int64) chain.Call {
	t.Helper()
	r, err := chain.ParseRequest(fmt.Appendf(nil, `{"hook_schema":1,"event":"pre_tool_use","workspace":"","agent_id":"","tool_call_id":"%d","tool_name":"shell","input":{}}`, n))
	if err != nil {
		t.Fatal(err)
	}
	return call(r, time.Second)
}

// mortal is an endpoint that can be killed and restarted. It allows every other
// call, and records which.
type mortal struct {
	down    atomic.Bool
	mu      sync.Mutex
	allowed map[string]bool
}

func (r *mortal) serve(c *hookConn) {
	for c.next() {
		request, err := chain.ParseRequest(c.body)
		if err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond) // so that some calls are killed here
		id := request.ToolCallID()
		if last := id[len(id)-1]; last%2 == 0 {
			r.mu.Lock()
			r.allowed[id] = true
			r.mu.Unlock()
			c.say(allowed)
		} else {
			c.say(response("200 OK", "", `{"decision":"deny"}`))
		}
	}
}

// kill closes all its connections.
func (r *mortal) kill(h *hook) {
	r.down.Store(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.accepted {
		_ = c.Close()
	}
}

func TestWebhook_AFunctionThatIsKilledUnderLoadAllowsNothingAndIsBackWithinOneBreakerPeriod(t *testing.T) {
	const period = 2 * time.Second
	for way, by := range oneOne(t) {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				function := &mortal{allowed: map[string]bool{}}
				var o WebhookOptions
				var secure *tls.Config
				o, secure = by(WebhookOptions{Breaker: BreakerOptions{ConsecutiveFailures: 3, Open: period}})
				w, h := inBubble(t, o, secure, function.serve)
				d := dialerOf(t, w)
				connect := d.connect
				d.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
					if function.down.Load() {
						return nil, errors.New("connection refused")
					}
					return connect(ctx, network, address)
				}

				var number, back, failed atomic.Int64 // back is the first allow after a restart
				stop := make(chan struct{})
				var callers sync.WaitGroup
				for range 8 {
					callers.Go(func() {
						for {
							select {
							case <-stop:
								return
							case <-time.After(20 * time.Millisecond):
							}
							n := number.Add(1)
							got := w.Ask(t.Context(), numbered(t, n))
							switch {
							case got.Failure != nil:
								failed.Add(1)
							case got.Outcome.Decision == chain.Allow:
								function.mu.Lock()
								if !function.allowed[fmt.Sprint(n)] {
									t.Errorf("call %d was allowed, and not by the function", n)
								}
								function.mu.Unlock()
								back.CompareAndSwap(0, time.Now().UnixNano())
							}
						}
					})
				}
				for range 3 {
					time.Sleep(time.Second)
					function.kill(h)
					time.Sleep(time.Second)
					function.down.Store(false)
					started := time.Now()
					back.Store(0)
					time.Sleep(2 * period)
					switch at := time.Unix(0, back.Load()); {
					case back.Load() == 0:
						t.Error("it is not back after two periods")
					case at.Sub(started) > period:
						t.Errorf("it is back after %v, want within %v", at.Sub(started), period)
					}
				}
				close(stop)
				callers.Wait()
				if failed.Load() == 0 || len(function.allowed) == 0 {
					t.Errorf("%d calls failed and %d were allowed: it was not under load", failed.Load(), len(function.allowed))
				}
			})
		})
	}
}
