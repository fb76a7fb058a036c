// Package audit is the trail of what was decided, as far as it is kept.
//
// What holds here:
//
//   - L1 A record that was acknowledged is on disk, or committed.
//   - L2 Offsets grow in the order in which records become readable: a reader
//     that goes on behind the last one it read misses none.
//   - L3 A trail never holds more than its bounds, and what did not fit, or could
//     not be kept, is counted.
//   - L4 Records that are waited for are made safe together: one sync is of
//     everything that came while the one before was under way, and of what is
//     just about to come.
//   - L5 Whoever waits for a record is told within the patience of the trail
//     whether it is safe, and not being told is no.
//   - L6 A file carries on where it ended. Each of its lines has the hash of the
//     line before, over rotations and restarts, so that one that is changed,
//     removed or put in shows.
//   - L7 A record that was not told as it stands is corrected: another comes behind
//     it, which is tried until it is kept or the trail is closed.
package audit

import (
	"context"
	"time"
)

// Record is one entry of the trail.
type Record struct {
	// Offset is its place, from 1. The store gives it.
	Offset uint64
	// Time is when what it tells happened.
	Time time.Time
	// Body is what it tells: one JSON object, kept byte for byte.
	Body []byte
}

// Store keeps the trail. It is safe for concurrent use.
type Store interface {
	// Append adds the records in their order, all or none, and returns once they
	// are kept (L1). It disregards their offsets. After an error they may be
	// there all the same: whoever adds them again tells them apart by what is in
	// them.
	Append(ctx context.Context, records []Record) error
	// Read returns up to limit records behind an offset, in their order; 0 is
	// before the first.
	Read(ctx context.Context, after uint64, limit int) ([]Record, error)
}
