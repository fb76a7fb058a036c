package transport

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// minSecret is the length from which a value is looked for in what came back:
// shorter ones are in any text by chance.
const minSecret = 8

// secrets are what questions carry that nobody may read afterwards: endpoints
// like to repeat what they refuse. A nil one is
// none, and stays so.
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
				s.values = append(s.values, part)
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
