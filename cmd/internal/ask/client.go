package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hookgate/hookgate/gateway/client"
)

// askClient asks as a client's hook. It sends the client's text to the gateway
// unchanged, and returns the gateway's response to the client unchanged.
func (p *Program) askClient(ctx context.Context, c *client.Client, o options) int {
	began := time.Now()
	text, err := p.readText(ctx, o.timeout)
	if err != nil {
		return p.deny(c, o.event, nil, err.Error())
	}
	route, err := clientRoute(o)
	if err != nil {
		return p.deny(c, o.event, text, err.Error())
	}
	token, err := p.token(o.tokenFile)
	if err != nil {
		return p.deny(c, o.event, text, err.Error())
	}
	ctx, cancel := context.WithDeadline(ctx, began.Add(o.timeout))
	defer cancel()
	answer, err := p.relay(ctx, c, route, token, text)
	if err != nil {
		return p.deny(c, o.event, text, p.reason(ctx, err, o.timeout))
	}
	return p.give(answer)
}

// deny gives the client a deny in its own format, without a gateway's decision.
func (p *Program) deny(c *client.Client, event string, text []byte, why string) int {
	answer := c.Command(c.Refuse(event, text, p.Name+" could not get a decision: "+why))
	if answer.Exit == 0 {
		p.complain("%s: denied because %s", p.Name, why)
	}
	return p.give(answer)
}

// give prints an answer in the form that the client reads (K3).
func (p *Program) give(answer client.Command) int {
	if answer.Exit != 0 {
		p.complain("%s", strings.TrimRight(string(answer.Stderr), "\n"))
		return answer.Exit
	}
	return p.print(answer.Stdout)
}

// clientRoute is the client's route for an address: the address itself if it
// names a route, and otherwise the route below the chain that it names, or
// below the operator's chain.
func clientRoute(o options) (string, error) {
	u, err := gatewayURL(o.url)
	if err != nil {
		return "", err
	}
	if path := strings.TrimRight(u.Path, "/"); !strings.Contains(path, "/clients/") {
		if path == "" {
			path = "/v1"
		}
		u.Path = path + "/clients/" + o.client
		if o.event != "" {
			u.Path += "/" + o.event
		}
	}
	return u.String(), nil
}

// gatewayURL parses an address. The error does not quote it (K4).
func gatewayURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("--url is not a valid address: use http://HOST:PORT")
	}
	return u, nil
}

// The reasons that the model sees (K4). Details go to stderr.
var (
	errUnreachable = errors.New("the gateway could not be reached")
	errStatus      = errors.New("the gateway answered with status")
	errUnreadable  = errors.New("the gateway's answer is not valid")
)

// relay sends a client's text to a gateway. Only status 200 carries an answer,
// and only if a header marks it as a gateway's: the response of another server
// could be an allow to this client.
func (p *Program) relay(ctx context.Context, c *client.Client, route, token string, text []byte) (client.Command, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, route, bytes.NewReader(text))
	if err != nil {
		return client.Command{}, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	deadline, _ := ctx.Deadline()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "hookgate/"+p.Version)
	req.Header.Set("X-Hookgate-Timeout-Ms", strconv.FormatInt(max(time.Until(deadline).Milliseconds(), 1), 10))
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	resp, err := direct().Do(req)
	if err != nil {
		return client.Command{}, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	defer func() { _ = resp.Body.Close() }() // nothing was written to it
	if resp.StatusCode != http.StatusOK {
		return client.Command{}, fmt.Errorf("%w %d%s", errStatus, resp.StatusCode, hint(resp.StatusCode))
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return client.Command{}, fmt.Errorf("%w: it has the Content-Encoding %.40q", errUnreadable, coding)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxText+1))
	if err != nil {
		return client.Command{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if len(body) > maxText {
		return client.Command{}, fmt.Errorf("%w: it is longer than %d bytes", errUnreadable, maxText)
	}
	answer, err := c.Relay(strings.Join(resp.Header.Values("X-Hookgate-Decision"), ", "), body)
	if err != nil {
		return client.Command{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return answer, nil
}

// hint is what a status suggests about the command line.
func hint(status int) string {
	if status == http.StatusNotFound {
		return ": --url names a chain that it does not have, or not the address of its main listener"
	}
	return ""
}

// direct returns an HTTP client that connects only to the given address: no
// proxy, no redirects.
func direct() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: (&net.Dialer{}).DialContext, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// reason is why the gateway could not be asked, in words for the model. Details
// go to stderr.
func (p *Program) reason(ctx context.Context, err error, timeout time.Duration) string {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("the gateway did not answer within %v", timeout)
	case ctx.Err() != nil:
		return errStopped.Error()
	case errors.Is(err, errStatus):
		return err.Error()
	}
	p.complain("%s: %v", p.Name, err)
	if errors.Is(err, errUnreachable) {
		return errUnreachable.Error()
	}
	return errUnreadable.Error()
}
