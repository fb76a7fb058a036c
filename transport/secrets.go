package transport

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// minSecret is the length from which a value is looked for in what came back:
// shorter ones are in any text by chance.
const minSecret = 8

// maxSecret is how much of the beginning of a value is looked for.
const maxSecret = tailKept / 2

// secrets are what questions carry, or programs are given, that nobody may read
// afterwards: endpoints like to repeat what they refuse, and programs what they
// could not use. A nil one is none, and stays so.
type secrets struct{ values []string }

// secretsOf are the values of the operator's headers, nil where there are none.
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

// add adds values of a header, and what they are made of.
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

// in reports whether a text has one of them in it.
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

// secretsAmong are the texts as secrets, nil where there are none.
func secretsAmong(texts []string) *secrets {
	s := &secrets{}
	if s.add(texts); len(s.values) == 0 {
		return nil
	}
	return s
}

// unshown takes what a program said out of a failure's detail where it repeats
// one of them.
func (s *secrets) unshown(f *chain.Failure, said []byte) {
	if s != nil && f != nil && (s.in(string(said)) || s.in(f.Detail)) {
		f.Detail = "what it wrote to stdout " + repeatsSecret
	}
}

// repeatsSecret is what is said in place of a program's words.
const repeatsSecret = "repeats a secret of its env and is not shown"
