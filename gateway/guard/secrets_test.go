package guard

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// token is assembled here so that secret scanners do not report this file.
func token() string { return "ghp_" + strings.Repeat("aB3dE6gH9", 4) }

// review returns the secrets guard's outcome for a result.
func review(t *testing.T, with map[string]string, output string) chain.Outcome {
	t.Helper()
	g, ok := newGuard(t, Secrets, with).(interface {
		Review(ctx context.Context, req *chain.Request) (chain.Outcome, error)
	})
	if !ok {
		t.Fatal("the guard of secrets does not review")
	}
	o, err := g.Review(context.Background(), result(t, output))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestSecrets_AreTakenOutOfResults(t *testing.T) {
	for output, want := range map[string]chain.Outcome{
		`"token: ` + token() + `"`: {
			Decision: chain.Replace, Output: []byte(`"token: [redacted: github-token]"`), Reason: "redacted 1 credential (github-token)",
		},
		`{"stdout":"a\nDB_PASSWORD=hunter22\n` + token() + `","n":1.0,"exit":0}`: {
			Decision: chain.Replace, Output: []byte(`{"stdout":"a\nDB_PASSWORD=[redacted: assigned-secret]\n[redacted: github-token]","n":1.0,"exit":0}`),
			Reason: "redacted 2 credentials (assigned-secret, github-token)",
		},
		`{"` + token() + `":1}`: {
			Decision: chain.Deny, Reason: "the result is withheld: the name of a member in it holds 1 credential (github-token)",
		},
		`"nothing"`: {Decision: chain.Allow},
		`null`:      {Decision: chain.Allow},
		`{"a":[1]}`: {Decision: chain.Allow},
	} {
		got := review(t, nil, output)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", output, diff)
		}
		if strings.Contains(got.Reason, token()) {
			t.Errorf("%s: the reason tells the credential", output)
		}
	}
}

func TestSecrets_AnExceptedKindStays(t *testing.T) {
	if got := review(t, map[string]string{"except": `["github-token"]`}, `"`+token()+`"`); got.Decision != chain.Allow {
		t.Errorf("%+v", got)
	}
}

func TestSecrets_ACallThatCarriesOneIsDenied(t *testing.T) {
	g := newGuard(t, Secrets, nil)
	for input, want := range map[string]string{
		shellInput("curl -H 'Authorization: Bearer " + token() + "' x"): "the input holds 1 credential (github-token): name it by a variable or a file instead",
		`"` + token() + `"`:       "the input holds 1 credential (github-token): name it by a variable or a file instead",
		`{"` + token() + `":1}`:   "the input holds 1 credential (github-token): name it by a variable or a file instead",
		shellInput("echo $TOKEN"): "",
		`null`:                    "",
	} {
		if got := said(t, g, call(t, "Bash", input)); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
	allows := newGuard(t, Secrets, map[string]string{"input": `"allow"`})
	if got := said(t, allows, call(t, "Bash", shellInput(token()))); got != "" {
		t.Errorf("with input: allow it is denied: %s", got)
	}
}

func TestSecrets_AContextThatEndedIsAnError(t *testing.T) {
	why := errors.New("hung up")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	long := `"` + strings.Repeat("a ", 100_000) + `"`
	g, ok := newGuard(t, Secrets, nil).(*secrets)
	if !ok {
		t.Fatal("another type")
	}
	if o, err := g.Intercept(ctx, call(t, "x", long)); !errors.Is(err, why) || o.Decision != chain.Undecided {
		t.Errorf("before the call: %+v, %v", o, err)
	}
	if o, err := g.Review(ctx, result(t, long)); !errors.Is(err, why) || o.Decision != chain.Undecided {
		t.Errorf("after it: %+v, %v", o, err)
	}
}
