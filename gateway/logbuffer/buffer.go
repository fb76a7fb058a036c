// Package logbuffer batches log lines and writes them on its own goroutine: a
// write for each decision would cost more than formatting its line, and a log
// reader that stalls must not stall decisions.
//
// Guarantees, each with a test:
//
//   - A line is written within a tenth of a second, or sooner under load. A
//     killed process loses at most that much, a regular exit nothing.
//   - Lines that do not fit because the reader stalls are counted, and the count
//     is logged once there is room again.
package logbuffer

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Buffer batches log lines. Make it with [New]. It is safe for concurrent use.
type Buffer struct {
	out io.Writer

	mu      sync.Mutex
	lines   []byte
	dropped int
	closed  bool

	spare []byte // the buffer of the previous write, for reuse; only run uses it

	some   chan struct{} // holds one token while there are lines
	hurry  chan struct{} // holds one token while lines should be written at once
	ending chan struct{} // closed by Close
	ended  chan struct{} // closed once everything is written
}

const (
	// delay is the longest time that a line waits for others.
	delay = 100 * time.Millisecond
	// batch is the size in bytes from which lines are written at once.
	batch = 32 << 10
	// held is the maximum size of the buffer in bytes, for a writer that stalls.
	held = 4 << 20
	// farewell is how long Close waits for a writer that stalls.
	farewell = 2 * time.Second
)

// New returns a buffer that writes to out. The caller must call Close.
func New(out io.Writer) *Buffer {
	b := &Buffer{
		out: out, some: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		ending: make(chan struct{}), ended: make(chan struct{}),
	}
	go b.run()
	return b
}

// Write adds one line, or counts it as dropped if there is no room.
func (b *Buffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	if len(b.lines)+len(line) > held || b.closed {
		b.dropped++
	} else {
		b.lines = append(b.lines, line...)
	}
	full := len(b.lines) >= batch
	b.mu.Unlock()
	nudge(b.some)
	if full {
		b.Flush()
	}
	return len(line), nil
}

// Flush has the buffered lines written at once, without waiting for that.
func (b *Buffer) Flush() { nudge(b.hurry) }

// nudge puts a token into c unless it is full.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run writes lines until Close.
func (b *Buffer) run() {
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
		case <-time.After(delay):
		}
		b.write()
	}
}

// write writes the buffered lines.
func (b *Buffer) write() {
	b.mu.Lock()
	lines, dropped := b.lines, b.dropped
	b.lines, b.dropped = b.spare, 0
	b.mu.Unlock()
	if dropped > 0 {
		lines = fmt.Appendf(lines, "{\"level\":\"ERROR\",\"msg\":\"log lines were dropped: whoever reads them is too slow\",\"lines\":%d}\n", dropped)
	}
	if len(lines) > 0 {
		_, _ = b.out.Write(lines) // a failing log cannot be reported in the log
	}
	b.spare = nil
	if cap(lines) <= 2*batch { // do not keep a buffer that grew during a stall
		b.spare = lines[:0]
	}
}

// Close writes the buffered lines and ends the goroutine. It waits only a short
// time for a writer that stalls. Lines written afterwards are lost.
func (b *Buffer) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	close(b.ending)
	select {
	case <-b.ended:
	case <-time.After(farewell):
	}
}
