package credential

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestA1_AFixedCredentialIsSetAsItsKindHasIt(t *testing.T) {
	for _, c := range []struct {
		name, header, want, called string
		make                       func() (*Fixed, error)
	}{
		{"bearer", "Authorization", "Bearer a.b-c_d~e+f/g=", "bearer", func() (*Fixed, error) { return NewBearer("a.b-c_d~e+f/g=") }},
		{"basic", "Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "basic", func() (*Fixed, error) { return NewBasic("Aladdin", "open sesame") }},
		{"basic with a colon in the password", "Authorization", "Basic dTphOmI=", "basic", func() (*Fixed, error) { return NewBasic("u", "a:b") }},
		{"basic without a user", "Authorization", "Basic OmtleQ==", "basic", func() (*Fixed, error) { return NewBasic("", "key") }},
		{"a header of the functions of Azure", "X-Functions-Key", "k e y", "header X-Functions-Key", func() (*Fixed, error) { return NewHeader("x-functions-key", "k e y") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := c.make()
			if err != nil {
				t.Fatal(err)
			}
			r := hookRequest(t, "http://127.0.0.1:1/", "{}")
			r.Header[c.header] = []string{"of the operator", "and another"}
			if err := f.Authorize(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
			if got := r.Header[c.header]; len(got) != 1 || got[0] != c.want {
				t.Errorf("%s is %q, want %q", c.header, got, c.want)
			}
			if got := f.String(); got != c.called {
				t.Errorf("is called %q, want %q", got, c.called)
			}
		})
	}
}

func TestA1_TheZeroCredentialsAuthorizeNothing(t *testing.T) {
	for _, a := range []authorizer{&Fixed{}, &Token{}, &AWS{}} {
		if got, err := authorized(t, a); err == nil || err.Error() != "no credential is configured" || got != "" {
			t.Errorf("%T authorized with %q: %v", a, got, err)
		}
	}
}

func TestA5_AFixedCredentialThatCannotBeSentIsRefusedWithoutBeingQuoted(t *testing.T) {
	const canary = "canary"
	for _, c := range []struct {
		name, want string
		make       func() (*Fixed, error)
	}{
		{"no token", "bearer: the token is empty", func() (*Fixed, error) { return NewBearer("") }},
		{"a token with a line break", "bearer: the token contains a line break or another control character, perhaps from the end of its file", func() (*Fixed, error) { return NewBearer(canary + "\n") }},
		{"a token with a blank", "bearer: the token contains a blank or another character that is not allowed in tokens", func() (*Fixed, error) { return NewBearer(canary + " x") }},
		{"a token in other letters", "bearer: the token contains a blank or another character that is not allowed in tokens", func() (*Fixed, error) { return NewBearer(canary + "é") }},
		{"a token without end", "bearer: the token has 16386 bytes, and at most 16384 can be sent", func() (*Fixed, error) { return NewBearer(strings.Repeat(canary, 2731)) }},
		{"neither user nor password", "basic: user and password are empty", func() (*Fixed, error) { return NewBasic("", "") }},
		{"a colon in the user", "basic: the user contains a colon, which separates user and password", func() (*Fixed, error) { return NewBasic("a:b", canary) }},
		{"a line break in the password", "basic: user or password contains a line break or another control character, perhaps from the end of its file", func() (*Fixed, error) { return NewBasic("u", canary+"\r\n") }},
		{"no name", `header: "" is not a valid header name`, func() (*Fixed, error) { return NewHeader("", canary) }},
		{"a name of two lines", `header: "X\r\nY" is not a valid header name`, func() (*Fixed, error) { return NewHeader("X\r\nY", canary) }},
		{"no value", "header X-Key: its value is empty", func() (*Fixed, error) { return NewHeader("X-Key", "") }},
		{"a value of two lines", "header X-Key: its value contains a line break or another control character, perhaps from the end of its file", func() (*Fixed, error) { return NewHeader("X-Key", canary+"\nX: y") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := c.make()
			if err == nil || err.Error() != c.want || f != nil {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestA5_NoWayOfPrintingShowsASecret(t *testing.T) {
	bearer, err := NewBearer("canary-of-bearer")
	if err != nil {
		t.Fatal(err)
	}
	basic, err := NewBasic("user", "canary-of-basic")
	if err != nil {
		t.Fatal(err)
	}
	header, err := NewHeader("X-Key", "canary-of-header")
	if err != nil {
		t.Fatal(err)
	}
	token, err := NewOAuth2(OAuth2Options{
		TokenURL: "http://idp.test/token?key=canary-of-query", ClientID: "id", ClientSecret: "canary-of-client",
	})
	if err != nil {
		t.Fatal(err)
	}
	over(token, answers(http.StatusOK, `{"access_token":"canary-of-token","expires_in":3600}`))
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary-of-aws")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	keys, err := NewAWS(AWSOptions{Region: "eu-central-1", Service: "lambda"})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []authorizer{bearer, basic, header, token, keys} {
		if _, err := authorized(t, a); err != nil { // so that it caches a value
			t.Fatal(err)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			if got := fmt.Sprintf(verb, a); strings.Contains(got, "canary") || strings.Contains(got, "63616e617279") || strings.Contains(got, "Y2FuYXJ5") {
				t.Errorf("%s of a %T shows its secret: %s", verb, a, got)
			}
		}
	}
	if got, want := token.String(), "oauth2 for http://idp.test/token"; got != want {
		t.Errorf("is called %q, want %q", got, want)
	}
	if got, want := keys.String(), "aws_sigv4 for lambda in eu-central-1"; got != want {
		t.Errorf("is called %q, want %q", got, want)
	}
}
