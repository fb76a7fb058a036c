package transport

import "context"

// traceparentKey is where a context carries its W3C trace context.
type traceparentKey struct{}

// WithTraceparent returns a context whose calls carry this traceparent to
// their endpoints. It must be a valid value of that header.
func WithTraceparent(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, traceparentKey{}, traceparent)
}

// traceparent is what ctx carries, or nothing.
func traceparent(ctx context.Context) string {
	value, _ := ctx.Value(traceparentKey{}).(string)
	return value
}
