package guard

import (
	"context"
	"fmt"
	"strings"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/guard/internal/secret"
)

// Secrets is the name of the guard that redacts credentials in results.
const Secrets = "secrets"

// secrets keeps credentials from the model: it redacts them in results, and can
// deny calls that contain them.
type secrets struct {
	name      string
	finder    *secret.Finder
	denyInput bool
}

func newSecrets(name string, o *options) Guard {
	return &secrets{
		name:      name,
		finder:    secret.NewFinder(o.words("except", secret.Kinds())),
		denyInput: o.choice("input", "deny", "allow") == "deny",
	}
}

func describeSecrets() Description {
	return Description{
		Use: Secrets, Events: chain.Events(),
		Looks: "every text in an output, at any depth, and at pre_tool_use every text in an input",
		Answers: "replaces an output in which it finds credentials by the same one with [redacted: KIND] in their place; denies a result whose member names hold one; " +
			"denies a call whose input holds one",
		Misses: []string{
			"a credential that is encoded (base64, as Kubernetes keeps them, or percent-encoding), encrypted, compressed or drawn",
			"a credential that is cut into several texts, but for a private key in a list of lines",
			"a password or token without a known beginning that is neither assigned to a telling name nor part of an address",
			"numbers, names of members other than to deny, and what the tool itself does with what it knows",
			"personal data",
		},
		Options: []OptionDescription{
			{Name: "except", Type: listOfTexts, Default: "none", Words: secret.Kinds(), Meaning: "kinds of credentials that are let through"},
			{
				Name: "input", Type: "deny or allow", Default: "deny", Words: []string{"deny", "allow"},
				Meaning: "what to answer at pre_tool_use where the input holds a credential",
			},
		},
	}
}

// Name implements transport.Interceptor.
func (g *secrets) Name() string { return g.name }

// Intercept implements transport.Interceptor. It never redacts an input,
// because the tool would run with the placeholder.
func (g *secrets) Intercept(ctx context.Context, req *chain.Request) (chain.Outcome, error) {
	if !g.denyInput {
		return chain.Outcome{Decision: chain.Allow}, nil
	}
	found, err := g.finder.Redact(ctx, req.Input())
	if err != nil {
		return chain.Outcome{}, err
	}
	if found.Count > 0 {
		return deny(fmt.Sprintf("the input holds %s: name it by a variable or a file instead", listed(found))), nil
	}
	return chain.Outcome{Decision: chain.Allow}, nil
}

// Review implements transport.Reviewer.
func (g *secrets) Review(ctx context.Context, req *chain.Request) (chain.Outcome, error) {
	found, err := g.finder.Redact(ctx, req.Output())
	switch {
	case err != nil:
		return chain.Outcome{}, err
	case found.InName:
		return deny(fmt.Sprintf("the result is withheld: the name of a member in it holds %s", listed(found))), nil
	case found.JSON == nil:
		return chain.Outcome{Decision: chain.Allow}, nil
	}
	return chain.Outcome{
		Decision: chain.Replace, Output: found.JSON,
		Reason: "redacted " + listed(found),
	}, nil
}

// listed describes how many credentials of which kinds were found.
func listed(found secret.Found) string {
	noun := "credentials"
	if found.Count == 1 {
		noun = "credential"
	}
	return fmt.Sprintf("%d %s (%s)", found.Count, noun, strings.Join(found.Kinds, ", "))
}
