package main

import (
	"context"
	"log/slog"

	"github.com/hookgate/hookgate/gateway/logbuffer"
)

// urgent is a handler that flushes the log buffer after warnings and errors.
type urgent struct {
	slog.Handler
	lines *logbuffer.Buffer
}

// Handle implements [slog.Handler].
func (u urgent) Handle(ctx context.Context, r slog.Record) error {
	err := u.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		u.lines.Flush()
	}
	return err
}

// WithAttrs implements [slog.Handler].
func (u urgent) WithAttrs(attrs []slog.Attr) slog.Handler {
	return urgent{u.Handler.WithAttrs(attrs), u.lines}
}

// WithGroup implements [slog.Handler].
func (u urgent) WithGroup(name string) slog.Handler {
	return urgent{u.Handler.WithGroup(name), u.lines}
}
