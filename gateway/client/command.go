package client

import (
	"fmt"

	"github.com/hookgate/hookgate/chain"
)

// Command is an answer as a command hook gives it.
type Command struct {
	Exit           int
	Stdout, Stderr []byte
}

// commandForm is how a client's command hooks are answered.
type commandForm uint8

const (
	// jsonOnStdout: the body on stdout, exit 0. What else is printed could be
	// read against it.
	jsonOnStdout commandForm = iota
	// jsonIfDenied: as jsonOnStdout, but silence is what allows.
	jsonIfDenied
	// exitCode: exit 2 with the reason on stderr denies, and exit 0 with nothing
	// allows.
	exitCode
)

// Command is the answer as the client's command hooks give it.
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

// Relay is [Client.Command] of an answer that came from a gateway over HTTP:
// decision is its header X-Hookgate-Decision, body the answer. It is an error
// where that is no answer of a gateway to this client.
func (c *Client) Relay(decision string, body []byte) (Command, error) {
	for _, d := range chain.Decisions() {
		if d.String() != decision {
			continue
		}
		o, err := readObject(body)
		if err != nil {
			return Command{}, fmt.Errorf("the answer is not a JSON object: %w", err)
		}
		reason, _ := o.find("reason")
		return c.Command(Answer{Body: body, Decision: d, Reason: text(reason)}), nil
	}
	return Command{}, fmt.Errorf("the answer has no X-Hookgate-Decision that is a decision: %.40q", decision)
}
