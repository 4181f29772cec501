package metalog

import (
	"errors"
	"fmt"

	"kbench/kafka"
)

// maxSnapshotBatch is where a snapshot's batch is closed, Kafka's 8 MiB.
const maxSnapshotBatch = 8 << 20

// SnapshotWriter writes a snapshot of this node's own state. It may run on a
// goroutine of its own, beside the log's writer.
type SnapshotWriter struct {
	file      *snapshotFile
	timestamp int64
	offset    kafka.Offset // of the next record, from 0 within the snapshot
	records   []Record
	bytes     int
	buf       []byte
}

// NewSnapshot begins a snapshot. lastTimestamp is that of the last batch it
// covers, ms since 1970; q is the quorum at its end. CheckSnapshotID tells
// beforehand whether id may be.
func (l *Log) NewSnapshot(id SnapshotID, lastTimestamp int64, q Quorum) (*SnapshotWriter, error) {
	f, err := l.createSnapshotFile(id)
	if err != nil {
		return nil, err
	}
	w := &SnapshotWriter{file: f, timestamp: lastTimestamp}
	if err := w.control(headerRecords(lastTimestamp, q)...); err != nil {
		return nil, errors.Join(err, f.abandon())
	}
	return w, nil
}

// ID names the snapshot.
func (w *SnapshotWriter) ID() SnapshotID { return w.file.id }

// Size is what has been written to the file.
func (w *SnapshotWriter) Size() int64 { return w.file.size }

// Append adds records by their values, which are kept until their batch is
// full.
func (w *SnapshotWriter) Append(values ...[]byte) error {
	for _, v := range values {
		r := Record{Value: v}
		n := RecordBytes(len(w.records), r)
		if w.bytes+n > maxSnapshotBatch-HeaderBytes {
			if err := w.flush(); err != nil {
				return err
			}
			n = RecordBytes(0, r)
		}
		w.records = append(w.records, r)
		w.bytes += n
	}
	return nil
}

func (w *SnapshotWriter) flush() error {
	if len(w.records) == 0 {
		return nil
	}
	err := w.batch(Batch{Records: w.records})
	clear(w.records)
	w.records, w.bytes = w.records[:0], 0
	return err
}

// headerRecords are the first batch: with static voters the header alone.
func headerRecords(lastTimestamp int64, q Quorum) []Record {
	records := []Record{SnapshotHeader{LastContainedLogTimestamp: lastTimestamp}.Record()}
	if q.Level > 0 {
		records = append(records, KRaftVersion{q.Level}.Record())
	}
	if q.Level > 0 && len(q.Voters) > 0 { // a node formatted without controllers knows none yet
		records = append(records, Voters{q.Voters}.Record())
	}
	return records
}

func (w *SnapshotWriter) control(records ...Record) error {
	return w.batch(Batch{Control: true, Records: records})
}

func (w *SnapshotWriter) batch(b Batch) error {
	b.BaseOffset, b.Epoch, b.Timestamp = w.offset, w.file.id.Epoch, w.timestamp
	raw, err := b.Append(w.buf[:0])
	if err != nil {
		return fmt.Errorf("write snapshot %v: %w", w.file.id, err)
	}
	w.buf = raw
	w.offset = b.EndOffset()
	return w.file.write(raw)
}

// Freeze writes the footer, syncs the file and gives it its name: from then on
// it is the log's.
func (w *SnapshotWriter) Freeze() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.control(snapshotFooterRecord()); err != nil {
		return err
	}
	return w.file.freeze()
}

// Close abandons the snapshot unless it was frozen. It may be called again.
func (w *SnapshotWriter) Close() error { return w.file.abandon() }
