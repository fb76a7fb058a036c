package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/cmd/internal/bearer"
	"github.com/hookgate/hookgate/gateway/approval"
)

const approvalsUsage = `usage: gateway approvals [list] [flags]
       gateway approvals allow ID [--input JSON|@FILE|-] [--message TEXT] [flags]
       gateway approvals deny ID [--message TEXT] [flags]

`

// maxApprovals is the largest response that is read from a gateway, in bytes.
const maxApprovals = 256 << 20

// approvalsCommand holds the arguments of gateway approvals.
type approvalsCommand struct {
	verb, id              string
	base, tokenFile       string
	message, input, state string
	timeout               time.Duration
	program               *program
	gaveInput             bool
}

// approvals lists the approvals, or answers one.
func (p *program) approvals(ctx context.Context, args []string) int {
	c := &approvalsCommand{program: p, verb: "list"}
	if err := c.parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		p.complain("gateway approvals: %v\n", err)
		return exitUsage
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	run := c.answer
	if c.verb == "list" {
		run = c.list
	}
	if err := run(ctx); err != nil {
		p.complain("gateway approvals: %s\n", approval.ShownText(err.Error()))
		return exitFailed
	}
	return exitOK
}

// parse reads the arguments. Flags may stand before and after the id.
func (c *approvalsCommand) parse(args []string) error {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		c.verb, args = args[0], args[1:]
	}
	f := flag.NewFlagSet("gateway approvals", flag.ContinueOnError)
	f.SetOutput(io.Discard) // the caller reports errors
	f.StringVar(&c.base, "url", "", "the `address` of the gateway (default: that of HOOKGATE_ADDR on this machine)")
	f.StringVar(&c.tokenFile, "token-file", "", "the `file` with the bearer token")
	f.DurationVar(&c.timeout, "timeout", 30*time.Second, "how long to wait for the gateway")
	switch c.verb {
	case "list":
		f.StringVar(&c.state, "state", "pending", "pending, allowed, denied, expired, withdrawn or any")
	case "allow":
		f.StringVar(&c.input, "input", "", "the input to run instead: a JSON object, @FILE, or - for stdin")
		f.StringVar(&c.message, "message", "", "the reason")
	case "deny":
		f.StringVar(&c.message, "message", "", "the reason; the model sees it")
	default:
		return fmt.Errorf("%q is not one of list, allow, deny", c.verb)
	}
	var rest []string
	for {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				c.program.complain("%s", approvalsUsage)
				f.SetOutput(c.program.stderr)
				f.PrintDefaults()
			}
			return err
		}
		if f.NArg() == 0 {
			break
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
	f.Visit(func(one *flag.Flag) { c.gaveInput = c.gaveInput || one.Name == "input" })
	switch {
	case c.verb == "list" && len(rest) > 0:
		return fmt.Errorf("list takes no arguments, got %q", rest[0])
	case c.verb != "list" && len(rest) != 1:
		return fmt.Errorf("%s needs the id of one approval: gateway approvals list prints the ids", c.verb)
	case c.verb != "list":
		c.id = rest[0]
	}
	if c.timeout <= 0 {
		return fmt.Errorf("--timeout is %v: give a positive time", c.timeout)
	}
	return c.address()
}

// address determines which gateway to ask.
func (c *approvalsCommand) address() error {
	if c.base == "" {
		s, err := c.program.readSettings()
		if err != nil {
			return err
		}
		scheme := "http"
		if s.TLSCertFile != "" {
			scheme = "https"
		}
		c.base = scheme + "://" + reachable(s.Addr)
	}
	u, err := url.Parse(c.base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("--url is not a valid address: use one like http://127.0.0.1:8080")
	}
	c.base = strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/")
	return nil
}

// shownApproval is an approval in the gateway's JSON.
type shownApproval struct {
	ID           string          `json:"id"`
	State        string          `json:"state"`
	Chain        string          `json:"chain"`
	AskedBy      string          `json:"asked_by"`
	Event        string          `json:"event"`
	Workspace    string          `json:"workspace"`
	AgentID      string          `json:"agent_id"`
	ToolName     string          `json:"tool_name"`
	Input        json.RawMessage `json:"input"`
	Output       json.RawMessage `json:"output"`
	ExpiresAt    time.Time       `json:"expires_at"`
	SettledAt    time.Time       `json:"settled_at"`
	SettledBy    string          `json:"settled_by"`
	Message      string          `json:"message"`
	UpdatedInput json.RawMessage `json:"updated_input"`
	Waiting      *bool           `json:"waiting"` // absent in responses of earlier versions
}

// list prints the approvals in a state.
func (c *approvalsCommand) list(ctx context.Context) error {
	body, err := c.call(ctx, http.MethodGet, "/v1/approvals?state="+url.QueryEscape(c.state), nil)
	if err != nil {
		return err
	}
	var answer struct {
		Approvals []shownApproval `json:"approvals"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("the gateway's answer is not a list of approvals; check --url: %w", err)
	}
	var text strings.Builder
	for i := range answer.Approvals {
		answer.Approvals[i].print(&text, time.Now())
	}
	if len(answer.Approvals) == 0 {
		fmt.Fprintf(&text, "no approval is %s\n", c.state)
		if c.state == "any" {
			text.Reset()
			text.WriteString("there are no approvals\n")
		}
	}
	if !c.program.say("%s", text.String()) {
		return errors.New("the output could not be written completely")
	}
	return nil
}

// print prints an approval. All of it except its times came from others, so
// control characters are escaped: they must not affect the terminal.
func (a *shownApproval) print(to io.Writer, now time.Time) {
	line := func(format string, args ...string) {
		shown := make([]any, len(args))
		for i, arg := range args {
			shown[i] = approval.ShownText(arg)
		}
		_, _ = fmt.Fprintf(to, format+"\n", shown...) // a strings.Builder never fails
	}
	value := func(name string, v json.RawMessage) {
		if len(v) > 0 {
			_, _ = fmt.Fprintf(to, "  %s: %s\n", name, strings.ReplaceAll(approval.Shown(v), "\n", "\n  "))
		}
	}
	line("%s  %s", a.ID, a.standing(now))
	line("  %s of agent %s in %s", a.ToolName, a.AgentID, a.Workspace)
	line("  asked by %s of chain %s at %s", a.AskedBy, a.Chain, a.Event)
	value("input", a.Input)
	value("output", a.Output)
	value("runs instead", a.UpdatedInput)
	if a.Message != "" {
		line("  message: %s", a.Message)
	}
	line("")
}

// standing describes the state of the approval.
func (a *shownApproval) standing(now time.Time) string {
	switch {
	case a.State == approval.Pending.String() && a.Waiting != nil && !*a.Waiting:
		return "nobody waits for it any more: the gateway that asked for it no longer responds"
	case a.State == approval.Pending.String():
		return "waiting, " + max(a.ExpiresAt.Sub(now), 0).Round(time.Second).String() + " left"
	case a.SettledBy == "":
		return a.State + " at " + a.SettledAt.Format(time.RFC3339)
	}
	return a.State + " by " + a.SettledBy + " at " + a.SettledAt.Format(time.RFC3339)
}

// answer answers an approval.
func (c *approvalsCommand) answer(ctx context.Context) error {
	body := chain.AppendString([]byte(`{"behavior":`), c.verb)
	if c.message != "" {
		body = chain.AppendString(append(body, `,"message":`...), c.message)
	}
	if c.gaveInput {
		input, err := c.readInput()
		if err != nil {
			return err
		}
		body = append(append(body, `,"updated_input":`...), input...)
	}
	text, err := c.call(ctx, http.MethodPost, "/v1/approvals/"+url.PathEscape(c.id), append(body, '}'))
	if err != nil {
		return err
	}
	var now shownApproval
	if err := json.Unmarshal(text, &now); err != nil || now.ID != c.id {
		return errors.New("the gateway's answer does not show the approval: check with gateway approvals list --state any whether your answer was recorded")
	}
	if !c.program.say("%s  %s\n", approval.ShownText(now.ID), approval.ShownText(now.standing(time.Now()))) {
		return errors.New("the output could not be written completely")
	}
	return nil
}

// readInput reads the input to run instead. It must be one JSON value, because
// it is inserted into the request body.
func (c *approvalsCommand) readInput() ([]byte, error) {
	input := []byte(c.input)
	var err error
	switch {
	case c.input == "-":
		input, err = readCall(c.program.stdin)
	case strings.HasPrefix(c.input, "@"):
		input, err = readCallFile(c.input[1:])
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read --input: %w", err)
	}
	if err := chain.CheckValue(input); err != nil {
		return nil, fmt.Errorf("--input is not JSON: %w", err)
	}
	return bytes.TrimSpace(input), nil
}

// readCall reads one byte more than a call may have at most, which the gateway
// then refuses.
func readCall(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, approval.MaxCall+1)) }

func readCallFile(name string) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // named by the user who runs this
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return readCall(f)
}

// call sends a request to the gateway. For a status other than 200, the error
// is the gateway's own explanation.
func (c *approvalsCommand) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.tokenFile != "" {
		header, err := bearer.Authorization(c.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("cannot use --token-file: %w", err)
		}
		req.Header.Set("Authorization", header)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the gateway: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // nothing was written to it
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxApprovals))
	if err != nil {
		return nil, fmt.Errorf("the gateway's answer broke off: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return text, nil
	}
	var problem struct {
		Detail string `json:"detail"`
	}
	if err := json.Unmarshal(text, &problem); err != nil || problem.Detail == "" {
		return nil, fmt.Errorf("the gateway answered with status %d", resp.StatusCode)
	}
	return nil, errors.New(problem.Detail)
}
