package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// lineBuffer gathers log lines and writes them together: a write for each
// decision would cost more than making the line. Nothing stays in it for longer
// than a moment.
type lineBuffer struct {
	mu     sync.Mutex
	out    io.Writer
	lines  bytes.Buffer
	closed bool
	flush  *time.Timer // runs while there are lines
}

const (
	// logDelay is the longest that a line stays in the buffer.
	logDelay = 100 * time.Millisecond
	// logBatch is how many bytes are written at once.
	logBatch = 32 << 10
)

func newLineBuffer(out io.Writer) *lineBuffer {
	b := &lineBuffer{out: out}
	b.flush = time.AfterFunc(time.Hour, b.write)
	b.flush.Stop()
	return b
}

// Write takes one line.
func (b *lineBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lines.Len() == 0 && !b.closed {
		b.flush.Reset(logDelay)
	}
	b.lines.Write(line)
	if b.lines.Len() >= logBatch || b.closed {
		b.writeLocked()
	}
	return len(line), nil
}

// write writes what there is.
func (b *lineBuffer) write() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writeLocked()
}

func (b *lineBuffer) writeLocked() {
	b.flush.Stop()
	_, _ = b.out.Write(b.lines.Bytes()) // there is nobody to tell that nobody can be told
	b.lines.Reset()
}

// close writes what there is; lines that come later are written at once.
func (b *lineBuffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.writeLocked()
}

// urgent is a handler that does not keep warnings and errors waiting.
type urgent struct {
	slog.Handler
	lines *lineBuffer
}

// Handle implements [slog.Handler].
func (u urgent) Handle(ctx context.Context, r slog.Record) error {
	err := u.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		u.lines.write()
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
