package transport

import (
	"context"
	"strings"
)

// traceparentKey is where a context carries its W3C trace context.
type traceparentKey struct{}

// WithTraceparent returns a context whose calls carry this traceparent to
// their endpoints. It may come from anybody: what is not a traceparent is not
// carried, lest an endpoint refuse every question of a caller's making.
func WithTraceparent(ctx context.Context, traceparent string) context.Context {
	if !ValidTraceparent(traceparent) {
		return ctx
	}
	return context.WithValue(ctx, traceparentKey{}, traceparent)
}

// ValidTraceparent reports whether text is version-trace-parent-flags, of any
// version that says no more than the first.
func ValidTraceparent(text string) bool {
	if len(text) != 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return false
	}
	version, trace, parent, flags := text[:2], text[3:35], text[36:52], text[53:]
	return version != "ff" && isHex(version) && isHex(flags) && isID(trace) && isID(parent)
}

func isHex(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isID reports whether text names a trace or a span; none is called by zeros
// alone.
func isID(text string) bool { return isHex(text) && strings.Trim(text, "0") != "" }

// traceparent is what ctx carries, or nothing.
func traceparent(ctx context.Context) string {
	value, _ := ctx.Value(traceparentKey{}).(string)
	return value
}
