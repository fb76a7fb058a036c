package transport

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hookgate/hookgate/chain"
)

const (
	// eventType is the prefix of every ce-type; the name of the event follows.
	eventType = "io.github.hookgate."
	// maxSubject is the longest tool name, in bytes, that is sent as ce-subject.
	maxSubject = 256
)

// cloudEvent returns the headers that make a request a CloudEvents 1.0 event in
// HTTP binary mode. The envelope, unchanged, is the event's data.
func cloudEvent(source, id string, r *chain.Request, now time.Time) []field {
	event := []field{
		{"Ce-Specversion", "1.0"},
		{"Ce-Id", id},
		{"Ce-Source", attribute(source)},
		{"Ce-Type", eventType + r.Event().String()},
		{"Ce-Time", now.UTC().Format(time.RFC3339Nano)},
	}
	if tool := r.ToolName(); isAttribute(tool) {
		event = append(event, field{"Ce-Subject", attribute(tool)})
	}
	return event
}

// isAttribute reports whether s can be the value of an attribute: not empty,
// not longer than maxSubject, and without characters that CloudEvents forbids.
func isAttribute(s string) bool {
	return s != "" && len(s) <= maxSubject && utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool {
		noncharacter := 0xfdd0 <= c && c <= 0xfdef || c&0xfffe == 0xfffe
		return unicode.IsControl(c) || noncharacter
	})
}

// attribute percent-encodes the value of an attribute for a header.
func attribute(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c > ' ' && c <= '~' && c != '"' && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// checkEventSource refuses a source that is not a URI reference.
func checkEventSource(source string) error {
	if source == "" {
		return nil
	}
	unprintable := func(c rune) bool { return c <= ' ' || c > '~' || c == '"' }
	if _, err := url.Parse(source); err != nil || strings.ContainsFunc(source, unprintable) {
		return errors.New("event source: is not a valid URI reference")
	}
	return nil
}
