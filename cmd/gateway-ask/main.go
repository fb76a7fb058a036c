// Command gateway-ask is gateway ask as a program of its own. It is what an
// agent should run before every call: without a gateway in it, it starts in
// half the time.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/hookgate/hookgate/cmd/internal/ask"
)

// version is set by the linker where a release is built.
var version = "devel"

func main() { os.Exit(run()) }

// run is main with an exit code, so that deferred calls happen.
func run() int {
	signal.Ignore(syscall.SIGPIPE) // an answer that nobody read must not look like one
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "ask" { // so that either program can stand in for the other
		args = args[1:]
	}
	p := &ask.Program{Name: "gateway-ask", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: version}
	return p.Run(ctx, args)
}
