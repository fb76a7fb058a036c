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
	// eventType begins the type of every event, which ends in what an envelope
	// calls it.
	eventType = "io.github.hookgate."
	// maxSubject bounds the name of a tool that is sent in a header.
	maxSubject = 256
)

// cloudEvent is what makes a question an event of CloudEvents 1.0 in the binary
// mode of its HTTP binding. The envelope is the event's data as it is.
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

// isAttribute reports whether a text can be the value of an attribute: neither
// empty nor long, and without characters that none may have.
func isAttribute(s string) bool {
	return s != "" && len(s) <= maxSubject && utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool {
		noncharacter := 0xfdd0 <= c && c <= 0xfdef || c&0xfffe == 0xfffe
		return unicode.IsControl(c) || noncharacter
	})
}

// attribute is the value of an attribute as a header carries it.
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

// checkEventSource refuses what cannot be the source of events.
func checkEventSource(source string) error {
	if source == "" {
		return nil
	}
	unprintable := func(c rune) bool { return c <= ' ' || c > '~' || c == '"' }
	if _, err := url.Parse(source); err != nil || strings.ContainsFunc(source, unprintable) {
		return errors.New("event source: is not a reference to a URI")
	}
	return nil
}
