// Package logbuffer writes log lines together, on a goroutine of its own: a write
// for each decision would cost more than making its line, and a reader of the log
// who stalls must not stall decisions.
//
// What holds here is named in the tests that hold it:
//
//   - A line is written after a tenth of a second at the latest, sooner where
//     there are many. That much is lost where the process is killed, and nothing
//     where it ends by itself.
//   - Lines that a stalled reader left no room for are counted, and their number
//     is said once there is room again.
package logbuffer

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Buffer gathers log lines. Make it with [New]. It is safe for concurrent use.
type Buffer struct {
	out io.Writer

	mu      sync.Mutex
	lines   []byte
	dropped int
	closed  bool

	spare []byte // the lines of the last write, for the memory they take; run's alone

	some   chan struct{} // holds one token while there are lines
	hurry  chan struct{} // holds one token while lines should not wait for more
	ending chan struct{} // closed by Close
	ended  chan struct{} // closed once everything was written
}

const (
	// delay is the longest that a line waits for others.
	delay = 100 * time.Millisecond
	// batch is how many bytes do not wait for more.
	batch = 32 << 10
	// held is how many bytes wait at the most, for a writer that stalls.
	held = 4 << 20
	// farewell is how long Close waits for a writer that stalls.
	farewell = 2 * time.Second
)

// New returns a buffer that writes to out. It must be closed.
func New(out io.Writer) *Buffer {
	b := &Buffer{
		out: out, some: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		ending: make(chan struct{}), ended: make(chan struct{}),
	}
	go b.run()
	return b
}

// Write takes one line, or counts it where there is no room.
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

// Flush has what there is written without waiting for more.
func (b *Buffer) Flush() { nudge(b.hurry) }

// nudge leaves a token, unless there is one.
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

// write writes what there is.
func (b *Buffer) write() {
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
	if cap(lines) <= 2*batch { // what a stall made grow is not kept
		b.spare = lines[:0]
	}
}

// Close writes what there is and ends the goroutine. It does not wait long for a
// writer that stalls. What is written to the buffer afterwards is lost.
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
