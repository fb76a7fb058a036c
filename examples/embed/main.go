// Command embed is an example of embedding the gateway: a gateway with an
// interceptor of its own.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway"
	"github.com/hookgate/hookgate/transport"
)

// noProd denies calls that mention production.
type noProd struct{}

// Name implements [transport.Interceptor].
func (noProd) Name() string { return "no-prod" }

// Intercept implements [transport.Interceptor].
func (noProd) Intercept(_ context.Context, call *chain.Request) (chain.Outcome, error) {
	if bytes.Contains(call.Input(), []byte("prod")) {
		return chain.Outcome{Decision: chain.Deny, Reason: "production is off limits"}, nil
	}
	return chain.Outcome{Decision: chain.Allow}, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	g, err := gateway.New(gateway.Options{Interceptors: []transport.Interceptor{noProd{}}})
	if err == nil {
		err = g.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is left to undo
	}
}
