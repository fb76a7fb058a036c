// Command peer is what a gateway is measured with: hooks that behave in
// different ways, and a reverse proxy to compare it to.
//
//	peer hook        says the address it listens on, then answers:
//	                 /allow at once, /after/5ms later, /hang never,
//	                 /reset by breaking the connection, /flap well and badly
//	                 by turns of a second; GET /counts how often it was asked
//	peer proxy URL   says its address, then forwards everything to URL
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "hook":
		return serve(newHook().handler())
	case len(args) == 2 && args[0] == "proxy":
		to, err := url.Parse(args[1])
		if err != nil {
			return err
		}
		return serve(proxy(to))
	}
	return fmt.Errorf("usage: peer hook | peer proxy URL, got %q", args)
}

// serve listens on a free port of the loopback and says which.
func serve(h http.Handler) error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Println("http://" + l.Addr().String()); err != nil {
		return err
	}
	return (&http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}).Serve(l)
}
