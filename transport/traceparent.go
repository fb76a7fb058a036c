package transport

import (
	"context"
	"strings"
)

// traceparentKey is the context key of a W3C traceparent.
type traceparentKey struct{}

// WithTraceparent returns a context whose calls carry traceparent to their
// endpoints. It ignores an invalid value, because the value may come from any
// caller, and an endpoint might reject a request that carries it.
func WithTraceparent(ctx context.Context, traceparent string) context.Context {
	if !ValidTraceparent(traceparent) {
		return ctx
	}
	return context.WithValue(ctx, traceparentKey{}, traceparent)
}

// ValidTraceparent reports whether text has the form
// version-trace-parent-flags. Any version is valid whose format is that of
// version 00.
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

// isID reports whether text is a trace or span id, which must not be all zeros.
func isID(text string) bool { return isHex(text) && strings.Trim(text, "0") != "" }

// traceparent is the traceparent of ctx, or "".
func traceparent(ctx context.Context) string {
	value, _ := ctx.Value(traceparentKey{}).(string)
	return value
}
