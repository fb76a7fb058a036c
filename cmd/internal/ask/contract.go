package ask

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport"
)

// askContract asks in the format of the contract. It always prints an answer
// and exits with 0, since stdout carries the decision of a contract hook.
func (p *Program) askContract(ctx context.Context, o options, wrong error) int {
	if wrong != nil {
		return p.refuse(wrong.Error())
	}
	route, err := decidingRoute(o.url)
	if err != nil {
		return p.refuse(err.Error())
	}
	began := time.Now()
	text, err := p.readText(ctx, o.timeout)
	if err != nil {
		return p.refuse(err.Error())
	}
	req, err := chain.ParseRequest(text)
	if err != nil {
		return p.refuse(fmt.Sprintf("stdin is not a valid envelope: %v", err))
	}
	token, err := p.token(o.tokenFile)
	if err != nil {
		return p.refuse(err.Error())
	}
	outcome, detail, err := put(ctx, route, token, req, max(o.timeout-time.Since(began), time.Millisecond))
	if err != nil {
		if detail != "" {
			p.complain("%s: %s", p.Name, detail)
		}
		return p.refuse(err.Error())
	}
	return p.print(append(outcome.AppendJSON(nil), '\n'))
}

// decidingRoute is the deciding route for an address: the address itself if it
// names a route, and otherwise the route of the chain that it names, or of the
// operator's chain.
func decidingRoute(address string) (string, error) {
	u, err := gatewayURL(address)
	if err != nil {
		return "", err
	}
	switch named := path.Clean("/" + u.Path); {
	case named == "/":
		u.Path = "/v1/decide"
	case named == "/v1", path.Base(path.Dir(named)) == "chains":
		u = u.JoinPath("decide")
	}
	return u.String(), nil
}

// put asks a gateway in the way that a gateway asks a remote hook, equally
// strictly, and with the status checked before the body. The model sees the
// error. The detail, which may quote the response, goes to stderr only.
func put(ctx context.Context, route, token string, req *chain.Request, timeout time.Duration) (o chain.Outcome, detail string, err error) {
	headers := http.Header{}
	if token != "" {
		headers.Set("Authorization", token)
	}
	hook, err := transport.NewWebhook(transport.WebhookOptions{URL: route, Headers: headers, MaxResponseBytes: maxText})
	if err != nil {
		return chain.Outcome{}, "", fmt.Errorf("--url cannot be used: %w", err)
	}
	defer hook.Close()
	call := chain.Call{Request: req, Deadline: time.Now().Add(timeout), Allowed: timeout, Late: chain.Timeout}
	answer := call.Checked(hook.Ask(ctx, call))
	if f := answer.Failure; f != nil {
		return chain.Outcome{}, f.Detail, fmt.Errorf("the gateway %s", f.Text)
	}
	if ctx.Err() != nil {
		return chain.Outcome{}, "", errStopped
	}
	return answer.Outcome, "", nil
}

// refuse prints a deny that did not come from a gateway.
func (p *Program) refuse(why string) int {
	p.complain("%s: denied because %s", p.Name, why)
	deny := chain.Outcome{Decision: chain.Deny, Reason: p.Name + " could not get a decision: " + why}
	return p.print(append(deny.AppendJSON(nil), '\n'))
}
