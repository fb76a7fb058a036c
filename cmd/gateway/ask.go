package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport"
)

// maxEnvelope is the largest envelope that ask reads, in bytes.
const maxEnvelope = 64 << 20

// ask puts the envelope on stdin to a gateway and prints the answer. It prints
// an allow only where it was given one: everything else is a deny, on stdout
// and with exit code 0, since for a hook of the contract stdout decides.
func (p *program) ask(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("gateway ask", flag.ContinueOnError)
	flags.SetOutput(p.stderr)
	address := flags.String("url", "", "the gateway, or one of its deciding routes")
	timeout := flags.Duration("timeout", 30*time.Second, "how long to wait for the answer")
	if err := flags.Parse(args); err != nil {
		return p.refuse(fmt.Sprintf("its arguments are wrong: %v", err))
	}
	if flags.NArg() > 0 {
		return p.refuse(fmt.Sprintf("its arguments are wrong: %q is none it knows", flags.Arg(0)))
	}
	route, err := decidingRoute(*address)
	if err != nil {
		return p.refuse(err.Error())
	}
	if *timeout <= 0 {
		return p.refuse(fmt.Sprintf("--timeout is %v: give a positive time", *timeout))
	}
	began := time.Now()
	reading, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	text, err := p.readEnvelope(reading)
	switch {
	case ctx.Err() != nil:
		return p.refuse("it was stopped before it had an envelope")
	case reading.Err() != nil:
		return p.refuse(fmt.Sprintf("stdin did not end within %v", *timeout))
	case err != nil:
		return p.refuse(fmt.Sprintf("stdin could not be read: %v", err))
	case len(text) > maxEnvelope:
		return p.refuse(fmt.Sprintf("stdin holds more than %d bytes", maxEnvelope))
	}
	req, err := chain.ParseRequest(text)
	if err != nil {
		return p.refuse(fmt.Sprintf("stdin is not a hook request: %v", err))
	}
	outcome, detail, err := put(ctx, route, req, max(*timeout-time.Since(began), time.Millisecond))
	if err != nil {
		if detail != "" {
			p.complain("gateway ask: %s\n", detail)
		}
		return p.refuse(err.Error())
	}
	return p.print(outcome)
}

// readEnvelope reads stdin to its end, or until ctx ends.
func (p *program) readEnvelope(ctx context.Context) (text []byte, err error) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		text, err = io.ReadAll(io.LimitReader(p.stdin, maxEnvelope+1))
	}()
	select {
	case <-read:
		return text, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// decidingRoute is the route that an address means: itself, or the operator's
// chain where it names none.
func decidingRoute(address string) (string, error) {
	if address == "" {
		return "", fmt.Errorf("it was not told whom to ask: use --url http://127.0.0.1:8080")
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("--url is not an address: %w", err)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/decide"
	}
	return u.String(), nil
}

// put asks a gateway as a gateway asks a remote hook: the same strictness, and
// the status is read before the body. The error reaches the model; the detail,
// which may quote what was answered, only stderr.
func put(ctx context.Context, route string, req *chain.Request, timeout time.Duration) (o chain.Outcome, detail string, err error) {
	hook, err := transport.NewWebhook(transport.WebhookOptions{URL: route, MaxResponseBytes: maxEnvelope})
	if err != nil {
		return chain.Outcome{}, "", fmt.Errorf("--url cannot be used: %w", err)
	}
	defer hook.Close()
	call := chain.Call{Request: req, Deadline: time.Now().Add(timeout), Allowed: timeout, Late: chain.Timeout}
	answer := call.Checked(hook.Ask(ctx, call))
	if f := answer.Failure; f != nil {
		return chain.Outcome{}, f.Detail, fmt.Errorf("the gateway %s", f.Text)
	}
	if err := ctx.Err(); err != nil {
		return chain.Outcome{}, "", fmt.Errorf("it was stopped: %w", err)
	}
	return answer.Outcome, "", nil
}

// refuse prints a deny of our own.
func (p *program) refuse(why string) int {
	p.complain("gateway ask: denied, since %s\n", why)
	return p.print(chain.Outcome{Decision: chain.Deny, Reason: "gateway ask could not get a decision: " + why})
}

func (p *program) print(o chain.Outcome) int {
	if !p.say("%s\n", o.AppendJSON(nil)) {
		return exitFailed // an answer that was not printed whole must not look like one
	}
	return exitOK
}
