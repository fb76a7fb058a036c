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
	if len(text) != 55 {
		return false
	}
	parts := strings.Split(text, "-")
	if len(parts) != 4 || parts[0] == "ff" {
		return false
	}
	for n, length := range []int{2, 32, 16, 2} {
		if len(parts[n]) != length || strings.Trim(parts[n], "0123456789abcdef") != "" {
			return false
		}
	}
	return strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != ""
}

// traceparent is what ctx carries, or nothing.
func traceparent(ctx context.Context) string {
	value, _ := ctx.Value(traceparentKey{}).(string)
	return value
}
