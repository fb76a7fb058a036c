// Package output prepares what failed programs and endpoints wrote for failures
// and logs: it keeps the end, on one line, and shows none of it if it contained
// a secret.
package output

import (
	"encoding/base64"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// minSecret is the minimum length of a value to search for in a response.
// Shorter values match by chance.
const minSecret = 8

// maxSecret is how many of the first bytes of a value to search for.
const maxSecret = Kept / 2

// Secrets are values that were sent in requests or given to programs, and must
// not show up in logs: endpoints tend to repeat what they refuse, and programs
// what they could not use. A nil *Secrets is empty and stays empty.
type Secrets struct{ values []string }

// OfHeaders returns the values of the operator's headers, or nil if there are
// none. The type is not [http.Header], so that agents do not link net/http.
func OfHeaders(headers map[string][]string) *Secrets {
	s := &Secrets{}
	for _, values := range headers {
		s.Add(values)
	}
	if len(s.values) == 0 {
		return nil
	}
	return s
}

// Add adds the values of a header, and their parts.
func (s *Secrets) Add(values []string) {
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

// In reports whether text contains one of the secrets.
func (s *Secrets) In(text string) bool {
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

// Among returns texts as secrets, or nil if there are none.
func Among(texts []string) *Secrets {
	s := &Secrets{}
	if s.Add(texts); len(s.values) == 0 {
		return nil
	}
	return s
}

// Unshown replaces the detail of a failure if the detail, or the program's
// output that it may quote, contains a secret.
func (s *Secrets) Unshown(f *chain.Failure, said []byte) {
	if s != nil && f != nil && (s.In(string(said)) || s.In(f.Detail)) {
		f.Detail = "what it wrote to stdout " + Repeats
	}
}

// ShownReason returns a reason, or what replaces it if it contains a secret: a
// reason reaches the model, the log and the audit trail.
func (s *Secrets) ShownReason(reason string) string {
	if s.In(reason) {
		return "the reason repeats a secret of the hook and is not shown"
	}
	return reason
}

// Repeats is shown instead of a program's output.
const Repeats = "repeats a secret of its env and is not shown"
