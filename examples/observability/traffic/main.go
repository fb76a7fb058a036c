// Command traffic generates load for a gateway: it serves remote hooks that
// answer, deny, hang and fail, and sends calls to them, so that every panel of
// the dashboards has data.
//
//	traffic         serves hooks and sends calls until it is stopped
//	traffic hook    is a subprocess hook
//	traffic agent   is an agent that asks for permission
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// exampleToken is not a secret: it is valid only in the example.
const exampleToken = "the-token-of-the-observability-example-0001"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "traffic:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "hook":
			return program(os.Stdin, os.Stdout)
		case "agent":
			return agent(ctx, os.Stdin, os.Stdout)
		}
	}
	flags := flag.NewFlagSet("traffic", flag.ContinueOnError)
	gateway := flags.String("gateway", "http://127.0.0.1:8080", "the gateway that is asked")
	listen := flags.String("listen", "127.0.0.1:9000", "where the hooks listen")
	token := flags.String("token", exampleToken, "what callers show; config/callers.yaml has the hash of the default")
	every := flags.Duration("every", 20*time.Millisecond, "how often a call is sent")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *every <= 0 {
		return errors.New("-every must be longer than nothing, like 20ms")
	}
	return traffic(ctx, newSender(*gateway, *token), *listen, *every)
}

// traffic serves the hooks and sends calls until ctx ends.
func traffic(ctx context.Context, calls *sender, listen string, every time.Duration) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newHooks().handler(), ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() { failed <- server.Serve(l) })

	sending, stop := context.WithCancel(ctx)
	defer stop()
	serving.Go(func() { calls.send(sending, every) })
	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
	}
	stop()
	err = errors.Join(err, server.Close())
	serving.Wait()
	return err
}
