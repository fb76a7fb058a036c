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

// upkeep is what the gateway does for one entry on its own account, from when
// the entry comes into force until no plan holds it any more. Its zero value
// does nothing.
type upkeep struct {
	tasks []func(context.Context)

	mu      sync.Mutex
	stop    context.CancelFunc // nil before start
	running sync.WaitGroup
}

// start begins its tasks, if that has not happened yet.
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

// end ends them, and returns when they have.
func (u *upkeep) end() {
	u.mu.Lock()
	if u.stop != nil {
		u.stop()
	}
	u.mu.Unlock()
	u.running.Wait()
}

// sleep waits that long, and says whether that came to an end before ctx did.
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

// jittered is about that long, so that replicas that began together drift
// apart.
func jittered(d time.Duration) time.Duration {
	const part = 10                        // of it, more or less
	return d - d/part + rand.N(2*d/part+1) //nolint:gosec // G404: nobody gains by guessing it
}

// questioner asks an entry something that is nobody's call. A binding with a
// breaker has a way of its own for that; those without have nothing that would
// count it.
type questioner func(ctx context.Context, call chain.Call) chain.Answer

// questionerOf returns how a binding is asked on the gateway's own account.
func questionerOf(way binding) questioner {
	if w, ok := way.(interface {
		Try(ctx context.Context, call chain.Call) chain.Answer
	}); ok {
		return w.Try
	}
	return func(ctx context.Context, call chain.Call) chain.Answer { return call.Checked(way.Ask(ctx, call)) }
}

// put asks an entry about a request, as patiently as a chain would that has the
// time. A panic is a failure.
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

// envelope is a request of the gateway's own.
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
