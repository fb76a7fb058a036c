package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hookgate/hookgate/cmd/internal/bearer"
	"github.com/hookgate/hookgate/gateway/setup"
)

// mustDeny is the default canary, which a chain is expected to deny. It is
// never run.
const mustDeny = "rm -rf --no-preserve-root /"

// doctor reports what would fail open in the settings of one client, or of all
// clients that are set up.
func (p *program) doctor(ctx context.Context, args []string) int {
	s := p.setUpFlags("doctor", "[CLIENT] [flags]")
	canary := s.flags.String("canary", mustDeny, "a shell `command` that your chain denies; doctor asks about it and never runs it")
	if code, done := s.parse(p, args); done {
		return code
	}
	names := []string{s.Client}
	if s.Client == "" {
		names = setup.Names()
	}
	code, looked := exitOK, 0
	for _, name := range names {
		o := s.Options
		o.Client = name
		d, err := setup.Diagnose(o)
		switch {
		case s.Client == "" && (err != nil || !d.There && !d.Unread):
			continue // the client is not used here, or only its user knows where its settings are
		case err != nil:
			p.complain("gateway doctor: %v\n", err)
			return exitFailed
		}
		looked++
		for _, path := range d.Paths {
			d.Findings = append(d.Findings, p.try(ctx, name, path, *canary)...)
		}
		if code = max(code, p.report(d)); ctx.Err() != nil {
			return exitFailed
		}
	}
	if looked == 0 {
		p.complain("gateway doctor: no client asks a gateway: gateway init CLIENT --write sets one up\n")
		return exitFailed
	}
	return code
}

// report prints a diagnosis, the worst findings first.
func (p *program) report(d *setup.Diagnosis) int {
	if !p.say("%s (%s)\n", d.Title, d.File) {
		return exitFailed
	}
	for _, severity := range []setup.Severity{setup.Open, setup.Broken, setup.Remark, setup.Good} {
		for _, f := range d.Findings {
			if f.Severity == severity && !p.say("  %-11s %s\n", f.Severity.String()+":", f.Text) {
				return exitFailed
			}
		}
	}
	if d.Healthy() {
		return exitOK
	}
	return exitFailed
}

// try asks about the canary as the client would, and then again with an address
// where no gateway listens.
func (p *program) try(ctx context.Context, client string, path setup.Path, canary string) []setup.Finding {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	question, err := setup.Question(client, path.Event, canary, dir)
	if err != nil {
		return []setup.Finding{{Severity: setup.Broken, Text: err.Error()}}
	}
	if question == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, path.Patience)
	defer cancel()
	if path.URL != "" {
		return []setup.Finding{p.tryURL(ctx, client, path, question, canary)}
	}
	return []setup.Finding{p.tryCommand(ctx, client, path, question, canary), p.tryAlone(ctx, client, path, question)}
}

// tryCommand runs the client's hook command. It first checks that the gateway
// is reachable, since an unreachable gateway also leads to a deny.
func (p *program) tryCommand(ctx context.Context, client string, path setup.Path, question []byte, canary string) setup.Finding {
	if err := p.reaches(ctx, path, question); err != nil {
		return setup.Finding{Severity: setup.Broken, Text: fmt.Sprintf("%s: the gateway gives no decision, so every call is denied: %v", path.Event, err)}
	}
	said := p.shell(ctx, path.Command, question)
	if said.err != nil {
		return setup.Finding{Severity: setup.Open, Text: fmt.Sprintf("%s: the hook could not be run: %v", path.Event, said.err)}
	}
	return verdict(path.Event, canary, setup.Denies(client, said.exit, said.stdout, said.stderr))
}

// reaches returns an error unless the command's gateway makes a decision.
func (p *program) reaches(ctx context.Context, path setup.Path, question []byte) error {
	headers := map[string]string{}
	if path.TokenFile != "" {
		header, err := bearer.Authorization(path.TokenFile)
		if err != nil {
			return err
		}
		headers["Authorization"] = header
	}
	_, err := post(ctx, path.Route, headers, question)
	return err
}

// variable returns an environment variable as hooks see it, or "" if it is
// unset.
func (p *program) variable(name string) string {
	for _, pair := range p.environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// tryAlone runs the client's hook command with an address where no gateway
// listens.
func (p *program) tryAlone(ctx context.Context, client string, path setup.Path, question []byte) setup.Finding {
	said := p.shell(ctx, path.Alone, question)
	if said.err != nil || !setup.Denies(client, said.exit, said.stdout, said.stderr) {
		return setup.Finding{Severity: setup.Open, Text: fmt.Sprintf("%s: without a gateway the hook exits with %d, which lets the call run", path.Event, said.exit)}
	}
	return setup.Finding{Severity: setup.Good, Text: path.Event + ": without a gateway the hook denies"}
}

func (p *program) tryURL(ctx context.Context, client string, path setup.Path, question []byte, canary string) setup.Finding {
	headers := map[string]string{}
	for name, value := range path.Headers {
		headers[name] = os.Expand(value, p.variable)
	}
	body, err := post(ctx, path.URL, headers, question)
	if err != nil {
		return setup.Finding{Severity: setup.Broken, Text: fmt.Sprintf("%s: the gateway gives no decision: %v", path.Event, err)}
	}
	return verdict(path.Event, canary, setup.Denies(client, 0, body, nil))
}

// verdict is the finding for whether the canary was denied.
func verdict(event, canary string, denied bool) setup.Finding {
	if denied {
		return setup.Finding{Severity: setup.Good, Text: fmt.Sprintf("%s: %q is denied", event, canary)}
	}
	return setup.Finding{Severity: setup.Open, Text: fmt.Sprintf("%s: %q is not denied: either the chain allows it, or the answer is not in this client's format. If your chain should allow it, give --canary a command that the chain must deny", event, canary)}
}

// ranLine is the result of a shell command line.
type ranLine struct {
	exit           int
	stdout, stderr []byte
	err            error
}

// shell runs a command line as clients run their hooks, with the environment of
// this program.
func (p *program) shell(ctx context.Context, line string, stdin []byte) ranLine {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.environ, bytes.NewReader(stdin), &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exited *exec.ExitError
	if errors.As(err, &exited) && exited.Exited() {
		err = nil
	}
	return ranLine{cmd.ProcessState.ExitCode(), stdout.Bytes(), stderr.Bytes(), err}
}

// post sends a question and returns the body of a response with status 200. The
// gateway refuses a request of a known client with that status too, and with a
// deny in the client's format. Only a decision of a chain has an id.
func post(ctx context.Context, address string, headers map[string]string, question []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // nothing was written to it
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s: %.300s", address, resp.Status, strings.TrimSpace(string(body)))
	}
	if resp.Header.Get("X-Hookgate-Decision") == "deny" && resp.Header.Get("X-Hookgate-Decision-Id") == "" {
		return nil, fmt.Errorf("no chain decided: %s answered: %.300s", address, strings.TrimSpace(string(body)))
	}
	return body, nil
}
