// Command policy is a gateway with a small policy in Go, for users who come from
// a policy engine. bench/ compares it with one.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway"
	"github.com/hookgate/hookgate/gateway/logbuffer"
	"github.com/hookgate/hookgate/transport"
)

// policy allows known tools unless the command is destructive. The rules are the
// same as in bench/policy.rego.
type policy struct{ removal *regexp.Regexp }

func newPolicy() *policy { return &policy{removal: regexp.MustCompile(`rm\s+-rf\s+/`)} }

// Name implements [transport.Interceptor].
func (*policy) Name() string { return "policy" }

// Intercept implements [transport.Interceptor].
func (p *policy) Intercept(_ context.Context, call *chain.Request) (chain.Outcome, error) {
	switch call.ToolName() {
	case "shell", "read_file", "write_file":
	default:
		return deny("the tool is not known"), nil
	}
	command, err := commandOf(call)
	switch {
	case err != nil:
		return chain.Outcome{}, err
	case p.removal.MatchString(command):
		return deny("it removes from the root on"), nil
	case strings.Contains(command, "mkfs"):
		return deny("it makes a file system"), nil
	}
	return chain.Outcome{Decision: chain.Allow}, nil
}

// commandOf returns the command of a call, "" if it has none.
func commandOf(call *chain.Request) (command string, err error) {
	err = chain.ReadObject(call.Input(), func(name []byte, value json.RawMessage, _ int) error {
		if string(name) == "command" {
			command, _ = chain.ReadString(value)
		}
		return nil
	})
	return command, err
}

func deny(reason string) chain.Outcome {
	return chain.Outcome{Decision: chain.Deny, Reason: reason}
}

func main() {
	os.Exit(start())
}

func start() int {
	var o gateway.Options
	flag.StringVar(&o.Addr, "addr", "127.0.0.1:8080", "where it listens")
	flag.StringVar(&o.AdminAddr, "admin", "127.0.0.1:8081", "where operators reach it")
	flag.StringVar(&o.ConfigFile, "config", "", "hooks file; the default guards are asked too where there is none")
	flag.Parse()
	lines := logbuffer.New(os.Stderr)
	defer lines.Close()
	o.DecisionLog, o.Logger = lines, slog.New(slog.NewJSONHandler(lines, nil))
	o.Interceptors = []transport.Interceptor{newPolicy()}
	// The policy never blocks, and its work is bounded by the length of the
	// call, so its deadline needs no separate goroutine.
	o.InterceptorInlineUpTo = 8 << 10
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	g, err := gateway.New(o)
	if err == nil {
		err = g.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
