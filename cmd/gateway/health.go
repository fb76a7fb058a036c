package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// health asks the admin listener of the gateway on this machine whether it is
// ready. Container images use it as their health check.
func (p *program) health(ctx context.Context, args []string) int {
	if code, done := p.noArguments("health", args); done {
		return code
	}
	s, err := p.readSettings()
	if err != nil {
		p.complain("gateway health: %v\n", err)
		return exitFailed
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	body, err := get(ctx, "http://"+reachable(s.AdminAddr)+"/readyz")
	if err != nil {
		p.complain("gateway health: the admin listener (HOOKGATE_ADMIN_ADDR) does not report ready: %v\n", err)
		return exitFailed
	}
	if !p.say("%s\n", body) {
		return exitFailed
	}
	return exitOK
}

func get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // nothing was written to it
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s: %s", address, resp.Status, body)
	}
	return body, nil
}

// reachable converts a listen address to one that the same machine can dial. A
// listener on the unspecified address can be reached on loopback.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip, err := netip.ParseAddr(host); host == "" || (err == nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
