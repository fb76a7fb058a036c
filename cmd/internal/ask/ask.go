// Package ask puts what stands on stdin to a gateway and prints what it answers.
// It is the command gateway ask, and the program gateway-ask, which is the same
// without a gateway around it and so starts in half the time.
//
// What holds here:
//
//   - K1 Nothing is printed that lets a call run but what a gateway answered
//     with, whole and in time.
//   - K2 Whatever goes wrong is a deny in the form that whoever asked obeys: an
//     answer of the contract, or the strongest deny of the client.
//   - K3 With exit code 2 stdout is empty and stderr is not: some clients take
//     anything else for an allow.
//   - K4 What the model reads says what happened, and neither quotes what was
//     answered nor names an address.
package ask

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hookgate/hookgate/gateway/client"
)

// maxText is the most that is read from stdin, or as an answer, in bytes.
const maxText = 64 << 20

// exitBlocks is the exit code that blocks a call at every client.
const exitBlocks = 2

// Program is what ask touches of the outside.
type Program struct {
	// Name is the program's name in its messages: there are two programs that ask.
	Name           string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Version is said to the gateway.
	Version string
}

// options are what the command line says.
type options struct {
	url, client, event, tokenFile string
	timeout                       time.Duration
}

// clients are the names of all clients.
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

// namesClient reports whether an argument is the flag that names a client. One
// that cannot be parsed must not be answered in the form of the contract.
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

// errStopped is the cause where the process was told to end.
var errStopped = errors.New("it was stopped before it got an answer")

// readText reads stdin to its end, or until its time is over.
func (p *Program) readText(ctx context.Context, timeout time.Duration) ([]byte, error) {
	reading, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type input struct {
		text []byte
		err  error
	}
	read := make(chan input, 1) // nobody takes what comes too late
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

// block denies where no client and no contract says how.
func (p *Program) block(why string) int {
	p.complain("%s: denied because %s", p.Name, why)
	return exitBlocks
}

// complain writes a line to stderr; there is nobody to tell where that fails.
func (p *Program) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Stderr, format+"\n", args...)
}

// print writes an answer to stdout at once. One that did not get out whole must
// not look like one.
func (p *Program) print(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	if _, err := p.Stdout.Write(text); err != nil {
		return p.block(fmt.Sprintf("the answer could not be written to stdout: %v", err))
	}
	return 0
}

// errNoToken is what a model reads; the rest goes to stderr (K4).
var errNoToken = errors.New("its token file cannot be used")

// token is the value of the header that says who asks; empty where nobody in
// particular does.
func (p *Program) token(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // whoever runs this names it
	if err != nil {
		p.complain("%s: --token-file: %v", p.Name, err)
		return "", errNoToken
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		p.complain("%s: --token-file: %s does not contain exactly one token", p.Name, file)
		return "", errNoToken
	}
	return "Bearer " + token, nil
}
