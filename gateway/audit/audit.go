// Package audit keeps the trail of decisions.
//
// Invariants:
//
//   - L1 An acknowledged record is on disk, or committed.
//   - L2 Offsets grow in the order in which records become readable: a reader
//     that continues after the last record it read misses none.
//   - L3 A trail never holds more than its bounds. Records that did not fit or
//     could not be kept are counted.
//   - L4 Records with a waiting caller are made durable together (group commit):
//     one sync covers everything that arrived during the previous one, and what
//     is just about to arrive.
//   - L5 Whoever waits for a record learns within the trail's patience whether it
//     is durable; no result means that it is not.
//   - L6 A file continues where it ended. Each line contains the hash of the
//     previous line, across rotations and restarts, so that a changed, removed or
//     inserted line is detected. Each record is one line: a record cannot insert
//     another line, or one that cannot be read back.
//   - L7 A record that differs from what the caller was told is corrected:
//     another record follows it, which is retried until it is kept or the trail
//     is closed.
//   - L8 A record is acknowledged only if it can be found again: a file that was
//     removed, moved or changed while the trail writes it is detected at the next
//     record.
package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// Record is one entry of the trail.
type Record struct {
	// Offset is its position, from 1. The store assigns it.
	Offset uint64
	// Time is when the recorded event happened.
	Time time.Time
	// Body is one JSON object, kept byte for byte except that line breaks become
	// spaces.
	Body []byte
}

// largestBody is the maximum length of a record's body, in bytes. A line with
// such a body is well below the limit for reading lines.
const largestBody = largestTail / 2

// line returns the body as one line (L6), or an error if that is impossible.
func (r *Record) line() ([]byte, error) {
	switch {
	case len(r.Body) == 0:
		return nil, errors.New("a record is empty")
	case len(r.Body) > largestBody:
		return nil, fmt.Errorf("a record has %d bytes, and at most %d can be read back", len(r.Body), largestBody)
	}
	return chain.OneLine(r.Body), nil
}

// Store keeps the trail. It is safe for concurrent use.
type Store interface {
	// Append adds the records in order, all or none, and returns once they are
	// kept (L1). It ignores their offsets. After an error they may have been
	// stored nevertheless: a retry can create duplicates, which only their
	// content identifies.
	Append(ctx context.Context, records []Record) error
	// Read returns up to limit records after an offset, in order; 0 is before the
	// first.
	Read(ctx context.Context, after uint64, limit int) ([]Record, error)
}
