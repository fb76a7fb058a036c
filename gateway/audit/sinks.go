package audit

import (
	"context"
	"io"
)

// Lines writes each record as one line to a stream.
type Lines struct {
	To io.Writer
	// buffer is reused. Only one goroutine writes.
	buffer []byte
}

// Write implements [Sink].
func (l *Lines) Write(_ context.Context, records []Record, _ bool) error {
	l.buffer = l.buffer[:0]
	for i := range records {
		body, err := records[i].line()
		if err != nil {
			return err
		}
		l.buffer = append(append(l.buffer, body...), '\n')
	}
	_, err := l.To.Write(l.buffer)
	if cap(l.buffer) > 1<<20 {
		l.buffer = nil
	}
	return err
}

// Close implements [Sink]. It does not close the stream, which belongs to the
// caller.
func (l *Lines) Close() error { return nil }
