// Command peer provides the counterparts for measuring a gateway: hooks with
// different behavior, and a reverse proxy for comparison.
//
//	peer hook        prints its address, then answers:
//	                 /allow at once, /after/5ms after 5 ms, /hang never,
//	                 /reset by resetting the connection, /flap alternating
//	                 between success and failure every second; GET /counts
//	                 returns the number of requests
//	peer proxy URL   prints its address, then forwards everything to URL
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

// serve listens on a free loopback port and prints its address.
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
