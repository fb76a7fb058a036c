package state

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"time"

	"go.etcd.io/bbolt"

	"github.com/hookgate/hookgate/gateway/audit"
)

// entry is a record as stored in the file.
type entry struct {
	Time time.Time
	Body []byte
}

// Append implements [audit.Store].
func (b *Bolt) Append(ctx context.Context, records []audit.Record) error {
	_, err := update(ctx, b, func(tx *bbolt.Tx) (struct{}, error) {
		bucket := tx.Bucket([]byte(bucketAudit))
		bucket.FillPercent = 1 // keys are only appended
		for _, r := range records {
			offset, err := bucket.NextSequence()
			if err != nil {
				return struct{}{}, err
			}
			text, err := json.Marshal(entry{r.Time.UTC().Truncate(time.Microsecond), r.Body})
			if err != nil {
				return struct{}{}, err
			}
			if err := bucket.Put(binary.BigEndian.AppendUint64(nil, offset), text); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}

// Read implements [audit.Store].
func (b *Bolt) Read(ctx context.Context, after uint64, limit int) ([]audit.Record, error) {
	return view(ctx, b, func(tx *bbolt.Tx) ([]audit.Record, error) {
		records := []audit.Record{}
		cursor := tx.Bucket([]byte(bucketAudit)).Cursor()
		key, text := cursor.Seek(binary.BigEndian.AppendUint64(nil, after))
		for ; key != nil && len(records) < limit; key, text = cursor.Next() {
			offset := binary.BigEndian.Uint64(key)
			if offset == after {
				continue
			}
			var e entry
			if err := json.Unmarshal(text, &e); err != nil {
				return nil, err
			}
			records = append(records, audit.Record{Offset: offset, Time: e.Time, Body: e.Body})
		}
		return records, nil
	})
}
