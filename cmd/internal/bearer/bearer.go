// Package bearer reads the files that contain the bearer tokens of commands.
//
//   - B1 A file that does not contain exactly one token is an error. Nothing is
//     sent in its place.
//   - B2 Errors do not quote the content.
package bearer

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// longest is more than a request's header can carry, in bytes.
const longest = 64 << 10

// Authorization returns the value of the Authorization header for the token in
// the file, without the white space around it.
func Authorization(file string) (string, error) {
	f, err := os.Open(file) //nolint:gosec // named by the user who runs the command
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	switch {
	case len(text) > longest:
		return "", fmt.Errorf("%s has more than %d bytes, so it does not contain a token", file, longest)
	case token == "":
		return "", fmt.Errorf("%s is empty", file)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("%s does not contain exactly one token: it has blanks or characters that no token has", file)
	}
	return "Bearer " + token, nil
}
