package credential

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

const headerAuthorization = "Authorization"

// Fixed is a header with a constant value. The zero Fixed authorizes nothing
// and returns an error.
type Fixed struct {
	kind, header string
	// value is a function, so that no way of printing a Fixed reveals the
	// secret.
	value func() string
}

// NewBearer returns the credential of a bearer token that does not expire
// during the life of this configuration (RFC 6750).
func NewBearer(token string) (*Fixed, error) {
	if strings.ContainsFunc(token, isControl) {
		return nil, errors.New("bearer: the token contains " + controlCharacter)
	}
	if err := checkToken(token); err != nil {
		return nil, fmt.Errorf("bearer: %w", err)
	}
	return fixed("bearer", headerAuthorization, "Bearer "+token), nil
}

// NewBasic returns a credential of user and password (RFC 7617).
func NewBasic(user, password string) (*Fixed, error) {
	switch {
	case user == "" && password == "":
		return nil, errors.New("basic: user and password are empty")
	case strings.Contains(user, ":"):
		return nil, errors.New("basic: the user contains a colon, which separates user and password")
	case strings.ContainsFunc(user+password, isControl):
		return nil, errors.New("basic: user or password contains " + controlCharacter)
	}
	return fixed("basic", headerAuthorization, "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password))), nil
}

// NewHeader returns a credential in a header of any name, such as
// x-functions-key.
func NewHeader(name, value string) (*Fixed, error) {
	switch {
	case !isToken(name):
		return nil, fmt.Errorf("header: %q is not a valid header name", name)
	case value == "":
		return nil, fmt.Errorf("header %s: its value is empty", name)
	case strings.ContainsFunc(value, isControl):
		return nil, fmt.Errorf("header %s: its value contains %s", name, controlCharacter)
	}
	return fixed("header", http.CanonicalHeaderKey(name), value), nil
}

func fixed(kind, header, value string) *Fixed {
	return &Fixed{kind: kind, header: header, value: func() string { return value }}
}

// Authorize sets the header.
func (f *Fixed) Authorize(_ context.Context, r *http.Request, _ []byte) error {
	if f.value == nil {
		return errors.New("no credential is configured")
	}
	r.Header[f.header] = []string{f.value()}
	return nil
}

// String returns the kind of credential. It contains no secret.
func (f *Fixed) String() string {
	if f.kind == "header" {
		return "header " + f.header
	}
	return f.kind
}

// checkToken checks the syntax of a bearer token. Its errors never quote it.
func checkToken(token string) error {
	switch {
	case token == "":
		return plain("the token is empty")
	case len(token) > maxTokenBytes:
		return plain(fmt.Sprintf("the token has %d bytes, and at most %d can be sent", len(token), maxTokenBytes))
	case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return plain("the token contains a blank or another character that is not allowed in tokens")
	}
	return nil
}

// maxTokenBytes is the header size that most servers accept.
const maxTokenBytes = 16 << 10

// controlCharacter describes a value that cannot be sent in a header.
const controlCharacter = "a line break or another control character, perhaps from the end of its file"

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// isToken reports whether s is a valid header name (RFC 9110).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}
