package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/config"
)

// upkeep runs the background tasks of one entry from when the entry comes into
// force until no plan uses it any more. Its zero value does nothing.
type upkeep struct {
	tasks []func(context.Context)

	mu      sync.Mutex
	stop    context.CancelFunc // nil before start
	running sync.WaitGroup
}

// start starts the tasks, unless they were started before.
func (u *upkeep) start() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stop != nil || len(u.tasks) == 0 {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	u.stop = stop
	for _, task := range u.tasks {
		u.running.Go(func() { task(ctx) })
	}
}

// end cancels the tasks and waits until they have returned.
func (u *upkeep) end() {
	u.mu.Lock()
	if u.stop != nil {
		u.stop()
	}
	u.mu.Unlock()
	u.running.Wait()
}

// sleep waits for d. It returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	alarm := time.NewTimer(d)
	defer alarm.Stop()
	select {
	case <-alarm.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jittered returns d with random jitter, so that replicas that started together
// drift apart.
func jittered(d time.Duration) time.Duration {
	const part = 10                        // a tenth of d, in either direction
	return d - d/part + rand.N(2*d/part+1) //nolint:gosec // G404: jitter, not a secret
}

// questioner sends a hook a call that comes from the gateway itself and not
// from a caller. A binding with a breaker has a method of its own for that
// (Try); for the others the regular one does, because it counts nothing.
type questioner func(ctx context.Context, call chain.Call) chain.Answer

// questionerOf returns the questioner of a binding.
func questionerOf(way binding) questioner {
	if w, ok := way.(interface {
		Try(ctx context.Context, call chain.Call) chain.Answer
	}); ok {
		return w.Try
	}
	return func(ctx context.Context, call chain.Call) chain.Answer { return call.Checked(way.Ask(ctx, call)) }
}

// put asks an entry about a request with the longest deadline that a chain
// would give it. A panic becomes a failure.
func (ask questioner) put(ctx context.Context, h *config.Hook, r *chain.Request) (a chain.Answer) {
	defer func() {
		if fault := recover(); fault != nil {
			a = chain.Fail(chain.Panic, fmt.Sprintf("panicked: %v", fault), "")
		}
	}()
	return ask(ctx, chain.Call{
		Request: r, Deadline: time.Now().Add(h.Patience()), Allowed: h.Patience(), Late: chain.Timeout, Guard: h.Guard,
	})
}

// envelope returns a request that the gateway itself makes.
func envelope(event chain.Event, tool string) (*chain.Request, error) {
	name, err := json.Marshal(tool)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`{"hook_schema":1,"event":"%s","workspace":"","agent_id":"hookgate","tool_call_id":"","tool_name":%s,"input":{}`, event, name)
	if event == chain.PostToolUse {
		text += `,"output":null,"is_error":false`
	}
	return chain.ParseRequest([]byte(text + "}"))
}
