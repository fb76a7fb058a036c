package transport

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// minSecret is the minimum length of a value to search for in a response.
// Shorter values match by chance.
const minSecret = 8

// maxSecret is how many of the first bytes of a value to search for.
const maxSecret = tailKept / 2

// secrets are values that were sent in requests or given to programs, and must
// not show up in logs: endpoints tend to repeat what they refuse, and programs
// what they could not use. A nil *secrets is empty and stays empty.
type secrets struct{ values []string }

// secretsOf returns the values of the operator's headers, or nil if there are
// none.
func secretsOf(headers http.Header) *secrets {
	s := &secrets{}
	for _, values := range headers {
		s.add(values)
	}
	if len(s.values) == 0 {
		return nil
	}
	return s
}

// add adds the values of a header, and their parts.
func (s *secrets) add(values []string) {
	if s == nil {
		return
	}
	for _, value := range values {
		parts := append(strings.Fields(value), value)
		if encoded, ok := strings.CutPrefix(value, "Basic "); ok {
			if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
				_, password, _ := strings.Cut(string(decoded), ":")
				parts = append(parts, password)
			}
		}
		for _, part := range parts {
			if len(part) >= minSecret {
				s.values = append(s.values, part[:min(len(part), maxSecret)])
			}
		}
	}
}

// in reports whether text contains one of the secrets.
func (s *secrets) in(text string) bool {
	if s == nil {
		return false
	}
	for _, value := range s.values {
		if strings.Contains(text, value) {
			return true
		}
	}
	return false
}

// secretsAmong returns texts as secrets, or nil if there are none.
func secretsAmong(texts []string) *secrets {
	s := &secrets{}
	if s.add(texts); len(s.values) == 0 {
		return nil
	}
	return s
}

// unshown replaces the detail of a failure if the detail, or the program's
// output that it may quote, contains a secret.
func (s *secrets) unshown(f *chain.Failure, said []byte) {
	if s != nil && f != nil && (s.in(string(said)) || s.in(f.Detail)) {
		f.Detail = "what it wrote to stdout " + repeatsSecret
	}
}

// repeatsSecret is shown instead of a program's output.
const repeatsSecret = "repeats a secret of its env and is not shown"
