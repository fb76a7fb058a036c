// Package ask sends stdin to a gateway and prints the gateway's answer. It
// implements the command gateway ask, and the program gateway-ask, which does
// the same without the gateway in it and starts in half the time.
//
// These rules hold:
//
//   - K1 Nothing that lets a call run is printed unless a gateway answered with
//     it, completely and in time.
//   - K2 Every failure is a deny in the form that the caller obeys: an answer of
//     the contract, or the client's strongest deny.
//   - K3 With exit code 2, stdout is empty and stderr is not: some clients take
//     anything else for an allow.
//   - K4 The text for the model says what happened. It neither quotes the
//     response nor names an address.
package ask

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hookgate/hookgate/cmd/internal/bearer"
	"github.com/hookgate/hookgate/gateway/client"
)

// maxText is the maximum size of stdin, and of an answer, in bytes.
const maxText = 64 << 20

// exitBlocks is the exit code that blocks a call with every client.
const exitBlocks = 2

// Program is ask with its connections to the outside.
type Program struct {
	// Name is the program's name in its messages: gateway ask or gateway-ask.
	Name           string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Version is sent to the gateway in the User-Agent header.
	Version string
}

// options are the command line flags.
type options struct {
	url, client, event, tokenFile string
	timeout                       time.Duration
}

// clients returns the names of all clients.
func clients() []string {
	var names []string
	for _, c := range client.All() {
		names = append(names, c.Name())
	}
	return names
}

// Run asks, and returns the exit code.
func (p *Program) Run(ctx context.Context, args []string) int {
	o, err := p.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return exitBlocks // a hook that prints its usage has decided nothing
	}
	if o.client == "" && !slices.ContainsFunc(args, namesClient) {
		return p.askContract(ctx, o, err)
	}
	if err != nil {
		return p.block(err.Error())
	}
	c, known := client.Find(o.client)
	if !known {
		return p.block(fmt.Sprintf("unknown client %q: known are %s", o.client, strings.Join(clients(), ", ")))
	}
	return p.askClient(ctx, c, o)
}

// namesClient reports whether an argument is the flag -client. If the arguments
// with it cannot be parsed, the answer must not be in the format of the
// contract.
func namesClient(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return strings.HasPrefix(arg, "-") && name == "client"
}

func (p *Program) parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(p.Stderr)
	flags.StringVar(&o.url, "url", "", "the `address` of the gateway, of a chain, or of a route")
	flags.StringVar(&o.client, "client", "", "the agent `name`: stdin is its native hook JSON, the answer is in its native format")
	flags.StringVar(&o.event, "event", "", "the `event`, if the client's JSON does not name it")
	flags.StringVar(&o.tokenFile, "token-file", "", "the `file` with the bearer token, if the gateway authenticates callers")
	flags.DurationVar(&o.timeout, "timeout", 25*time.Second, "how long to wait for the answer")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err != nil:
		return o, fmt.Errorf("its arguments are wrong: %w", err)
	case flags.NArg() > 0:
		return o, fmt.Errorf("its arguments are wrong: unexpected argument %q", flags.Arg(0))
	case o.timeout <= 0:
		return o, fmt.Errorf("--timeout is %v: give a positive time", o.timeout)
	case o.url == "":
		return o, errors.New("--url is missing: use --url http://127.0.0.1:8080")
	}
	return o, nil
}

// errStopped means that the process was told to stop.
var errStopped = errors.New("it was stopped before it got an answer")

// readText reads stdin up to EOF, at most until timeout.
func (p *Program) readText(ctx context.Context, timeout time.Duration) ([]byte, error) {
	reading, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type input struct {
		text []byte
		err  error
	}
	read := make(chan input, 1) // buffered, so that a late read does not block its goroutine
	go func() {
		text, err := io.ReadAll(io.LimitReader(p.Stdin, maxText+1))
		read <- input{text, err}
	}()
	var in input
	select {
	case in = <-read:
	case <-reading.Done():
		if ctx.Err() != nil {
			return nil, errStopped
		}
		return nil, fmt.Errorf("stdin was not closed within %v", timeout)
	}
	switch {
	case in.err != nil:
		return nil, fmt.Errorf("cannot read stdin: %w", in.err)
	case len(in.text) > maxText:
		return nil, fmt.Errorf("stdin has more than %d bytes", maxText)
	case len(bytes.TrimSpace(in.text)) == 0:
		return nil, errors.New("stdin is empty")
	}
	return in.text, nil
}

// block denies with an exit code, when neither a client's nor the contract's
// format applies.
func (p *Program) block(why string) int {
	p.complain("%s: denied because %s", p.Name, why)
	return exitBlocks
}

// complain writes a line to stderr. It ignores errors, since there is no other
// place to report them.
func (p *Program) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Stderr, format+"\n", args...)
}

// print writes an answer to stdout in one write. If that fails, it blocks: a
// partial answer must not pass for an answer.
func (p *Program) print(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	if _, err := p.Stdout.Write(text); err != nil {
		return p.block(fmt.Sprintf("the answer could not be written to stdout: %v", err))
	}
	return 0
}

// errNoToken is what the model sees; details go to stderr (K4).
var errNoToken = errors.New("its token file cannot be used")

// token returns the value of the Authorization header, or "" if there is no
// token file.
func (p *Program) token(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	header, err := bearer.Authorization(file)
	if err != nil {
		p.complain("%s: --token-file: %v", p.Name, err)
		return "", errNoToken
	}
	return header, nil
}
