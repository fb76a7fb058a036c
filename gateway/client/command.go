package client

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hookgate/hookgate/chain"
)

// Command is the answer of a command hook.
type Command struct {
	Exit           int
	Stdout, Stderr []byte
}

// commandForm is the format of the answers to command hooks.
type commandForm uint8

const (
	// jsonOnStdout prints the body on stdout and exits 0. Any other output could
	// be misread.
	jsonOnStdout commandForm = iota
	// jsonIfDenied is jsonOnStdout, except that an allow prints nothing.
	jsonIfDenied
	// exitCode denies with exit code 2 and the reason on stderr, and allows with
	// exit code 0 and no output.
	exitCode
)

// Command returns the answer in the format of the client's command hooks.
func (c *Client) Command(a Answer) Command {
	switch c.command {
	case jsonOnStdout:
		return Command{Stdout: a.Body}
	case jsonIfDenied:
		if a.Decision == chain.Allow {
			return Command{}
		}
		return Command{Stdout: a.Body}
	case exitCode:
		if a.Decision == chain.Allow {
			return Command{}
		}
	}
	reason := a.Reason
	if reason == "" {
		reason = "denied" // silence with exit 2 is an allow to some
	}
	return Command{Exit: 2, Stderr: []byte(reason + "\n")}
}

// contradicts reports whether a body says the opposite of its header. Some clients
// read the one and some the other, so that neither alone may allow.
func (c *Client) contradicts(d chain.Decision, o object, body []byte) bool {
	switch said := text(o.member("decision")); d {
	case chain.Deny, chain.Undecided:
		allows := template(bytes.TrimSpace(body))
		return said == chain.Allow.String() || slices.ContainsFunc(c.events, func(e event) bool {
			return e.at != 0 && (e.allow == allows || e.explicitAllow == allows)
		})
	case chain.Allow:
		return said == chain.Deny.String() || said == "block"
	case chain.Modify, chain.Replace:
	}
	return false
}

// Relay converts a gateway's HTTP answer as [Client.Command] does: decision is
// its header X-Hookgate-Decision, body its body. It returns an error if that is
// not an answer to this client.
func (c *Client) Relay(decision string, body []byte) (Command, error) {
	for _, d := range chain.Decisions() {
		if d.String() != decision {
			continue
		}
		o, err := readObject(body)
		if err != nil {
			return Command{}, fmt.Errorf("the answer is not a JSON object: %w", err)
		}
		if c.contradicts(d, o, body) {
			return Command{}, fmt.Errorf("the header X-Hookgate-Decision of the answer is %q, and its body says something else", decision)
		}
		reason, _ := o.find("reason")
		return c.Command(Answer{Body: body, Decision: d, Reason: text(reason)}), nil
	}
	return Command{}, fmt.Errorf("the header X-Hookgate-Decision of the answer is not a decision: %.40q", decision)
}
