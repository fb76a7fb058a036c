package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// lineBuffer gathers log lines and writes them together, on a goroutine of its
// own: a write for each decision would cost more than making the line, and a
// reader of the log who stalls must not stall decisions. What does not fit is
// counted, and said once there is room again.
type lineBuffer struct {
	out io.Writer

	mu      sync.Mutex
	lines   []byte
	dropped int
	closed  bool

	spare []byte // the lines of the last write, for the memory they take; run's alone

	some   chan struct{} // holds one token while there are lines
	hurry  chan struct{} // holds one token while lines should not wait for more
	ending chan struct{} // closed by close
	ended  chan struct{} // closed once everything was written
}

const (
	// logDelay is the longest that a line waits for others.
	logDelay = 100 * time.Millisecond
	// logBatch is how many bytes do not wait for more.
	logBatch = 32 << 10
	// logHeld is how many bytes wait at the most, for a writer that stalls.
	logHeld = 4 << 20
	// logFarewell is how long close waits for a writer that stalls.
	logFarewell = 2 * time.Second
)

func newLineBuffer(out io.Writer) *lineBuffer {
	b := &lineBuffer{
		out: out, some: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		ending: make(chan struct{}), ended: make(chan struct{}),
	}
	go b.run()
	return b
}

// Write takes one line, or counts it where there is no room.
func (b *lineBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	if len(b.lines)+len(line) > logHeld || b.closed {
		b.dropped++
	} else {
		b.lines = append(b.lines, line...)
	}
	full := len(b.lines) >= logBatch
	b.mu.Unlock()
	nudge(b.some)
	if full {
		b.flush()
	}
	return len(line), nil
}

// flush has what there is written without waiting for more.
func (b *lineBuffer) flush() { nudge(b.hurry) }

// nudge leaves a token, unless there is one.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run writes lines until close.
func (b *lineBuffer) run() {
	defer close(b.ended)
	for {
		select {
		case <-b.some:
		case <-b.ending:
			b.write()
			return
		}
		select {
		case <-b.hurry:
		case <-b.ending:
		case <-time.After(logDelay):
		}
		b.write()
	}
}

// write writes what there is.
func (b *lineBuffer) write() {
	b.mu.Lock()
	lines, dropped := b.lines, b.dropped
	b.lines, b.dropped = b.spare, 0
	b.mu.Unlock()
	if dropped > 0 {
		lines = fmt.Appendf(lines, "{\"level\":\"ERROR\",\"msg\":\"log lines were dropped: whoever reads them is too slow\",\"lines\":%d}\n", dropped)
	}
	if len(lines) > 0 {
		_, _ = b.out.Write(lines) // there is nobody to tell that nobody can be told
	}
	b.spare = nil
	if cap(lines) <= 2*logBatch { // what a stall made grow is not kept
		b.spare = lines[:0]
	}
}

// close writes what there is and ends the goroutine. It does not wait for a
// writer that stalls.
func (b *lineBuffer) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	close(b.ending)
	select {
	case <-b.ended:
	case <-time.After(logFarewell):
	}
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
		u.lines.flush()
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
