// Command gateway-ask is the command gateway ask as a program of its own.
// Agents should run it before every call: without the gateway in it, it starts
// in half the time.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/hookgate/hookgate/cmd/internal/ask"
)

// version is set by the linker in release builds.
var version = "devel"

func main() { os.Exit(run()) }

// run is main with an exit code, so that deferred calls run.
func run() int {
	signal.Ignore(syscall.SIGPIPE) // a failed write must end in a deny, not in a signal
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "ask" { // so that either program can replace the other
		args = args[1:]
	}
	p := &ask.Program{Name: "gateway-ask", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: version}
	return p.Run(ctx, args)
}
