package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// sender sends calls to one gateway.
type sender struct {
	gateway, token string
	client         *http.Client
}

func newSender(gateway, token string) *sender {
	return &sender{gateway: strings.TrimRight(gateway, "/"), token: token, client: &http.Client{Timeout: 10 * time.Second}}
}

// call is one request. Its answer is ignored.
type call struct {
	method, path, body string
	// patience is how long the caller waits; zero means no limit of its own.
	patience time.Duration
	// token replaces the sender's own token.
	token string
}

// before returns the envelope of a call before the tool runs, after that of its
// result.
func before(tool, input string) string {
	return fmt.Sprintf(`{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"traffic","tool_call_id":"c","tool_name":%q,"input":%s}`, tool, input)
}

func after(tool, output string) string {
	return fmt.Sprintf(`{"hook_schema":1,"event":"post_tool_use","workspace":"/repo","agent_id":"traffic","tool_call_id":"c","tool_name":%q,"input":{},"output":%q,"is_error":false}`, tool, output)
}

// calls returns the calls of one round; turn is its number.
func calls(turn int) []call {
	decide := func(body string) call { return call{method: http.MethodPost, path: "/v1/decide", body: body} }
	acme := func(body string) call {
		return call{method: http.MethodPost, path: "/v1/chains/acme/decide", body: body}
	}
	all := []call{
		decide(before("shell", `{"command":"ls"}`)),
		decide(before("shell", `{"command":"rm -rf /"}`)),
		decide(before("shell", `{"command":"kubectl apply -n prod"}`)),
		decide(before("shell", `{"command":"crash"}`)),
		decide(before("mcp__git__push", `{"branch":"prod"}`)),
		decide(before("write_file", `{"path":"/etc/prod","text":"x"}`)),
		decide(before("slow_tool", `{}`)),
		decide(before("broken_tool", `{}`)),
		decide(before("lenient_tool", `{}`)),
		decide(before("flapping_tool", `{}`)),
		decide(before(fmt.Sprintf("made_up_%d", turn), `{}`)), // nobody has heard of it
		decide(after("shell", "a token")),
		decide(after("shell", "fine")),
		acme(before("shell", `{"command":"ls"}`)),
		acme(before("deploy", `{"to":"prod"}`)),
		acme(before("deploy", `{"to":"staging"}`)),
		decide(`{"hook_schema":1`), // cut
		{method: http.MethodPost, path: "/v1/chains/unknown/decide", body: before("shell", `{}`)},
		decide(before("untrusted_tool", `{}`)),
		decide(before("ask_tool", `{}`)),
		{method: http.MethodPost, path: "/v1/decide", body: before("shell", `{}`), token: "nobody's"},
		{method: http.MethodPost, path: "/v1/clients/claude-code", body: `{"session_id":"s","hook_event_name":"PreToolUse","cwd":"/repo","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`},
		{method: http.MethodPost, path: "/v1/clients/claude-code", body: `{"hook_event_name":"NoSuchEvent"}`},
		{method: http.MethodGet, path: "/v1/hooks"},
		{method: http.MethodGet, path: "/nowhere"},
		{method: http.MethodPost, path: "/v1/decide", body: before("slow_tool", `{}`), patience: 5 * time.Millisecond}, // hangs up
	}
	for range 3 { // more concurrent calls than busy_tool accepts
		all = append(all, decide(before("busy_tool", `{}`)))
	}
	if turn%10 == 0 {
		all = append(all, call{method: http.MethodPost, path: "/v1/turns", body: `{"agent":"helper","message":"hello"}`})
	}
	return all
}

// send sends one call per tick, without waiting for earlier ones, until ctx
// ends.
func (s *sender) send(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var sending sync.WaitGroup
	defer sending.Wait()
	for turn := 0; ; turn++ {
		for _, c := range calls(turn) {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				sending.Go(func() { s.one(ctx, c) })
			}
		}
	}
}

// one sends a call and reads the answer. Errors are ignored: the gateway is
// down or the caller hung up, and the next call follows anyway.
func (s *sender) one(ctx context.Context, c call) {
	if c.patience > 0 {
		var hangUp context.CancelFunc
		ctx, hangUp = context.WithTimeout(ctx, c.patience)
		defer hangUp()
	}
	req, err := http.NewRequestWithContext(ctx, c.method, s.gateway+c.path, strings.NewReader(c.body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+cmp.Or(c.token, s.token))
	resp, err := s.client.Do(req)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
}
