package metalog

import (
	"errors"
	"fmt"
	"io"

	"kbench/kafka"
)

// SnapshotReader gives a snapshot's batches in order, from one goroutine, and
// its bytes to FetchSnapshot. Close it.
type SnapshotReader struct {
	id       SnapshotID
	path     string
	file     File
	borrowed bool // Close leaves the file open
	size     int64
	at       int64
	window   windowReader
	started  bool
	ended    bool
	header   SnapshotHeader
	quorum   Quorum
}

// OpenSnapshot opens a snapshot for reading. An absent one is SNAPSHOT_NOT_FOUND.
func (l *Log) OpenSnapshot(id SnapshotID) (*SnapshotReader, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.hasSnapshot(id) {
		return nil, fmt.Errorf("open snapshot %v: %w", id, kafka.SnapshotNotFound)
	}
	path := l.snapshotPath(id)
	f, err := l.cfg.FS.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open snapshot %v: %w", id, err)
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open snapshot %v: %w", id, err), f.Close())
	}
	return &SnapshotReader{id: id, path: path, file: f, size: size}, nil
}

// ID names the snapshot.
func (r *SnapshotReader) ID() SnapshotID { return r.id }

// Size is the size of the file in bytes.
func (r *SnapshotReader) Size() int64 { return r.size }

// LastContainedLogTimestamp is the timestamp of the last batch covered, known
// once Next was called.
func (r *SnapshotReader) LastContainedLogTimestamp() int64 { return r.header.LastContainedLogTimestamp }

// ReadAt reads raw bytes, for FetchSnapshot.
func (r *SnapshotReader) ReadAt(p []byte, at int64) (int, error) { return r.file.ReadAt(p, at) }

// Next gives the next batch of data records; control batches are checked and
// skipped. Its records alias a buffer of their own. io.EOF says that the
// snapshot was whole, up to its footer; anything less is an error.
func (r *SnapshotReader) Next() (Batch, error) {
	for {
		b, err := r.next()
		if err != nil || !b.Control {
			return b, err
		}
	}
}

// Values walks what Next has left of the data records, by their values; an error
// ends it.
func (r *SnapshotReader) Values(yield func([]byte, error) bool) {
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range b.Records {
			if !yield(b.Records[i].Value, nil) {
				return
			}
		}
	}
}

func (r *SnapshotReader) next() (Batch, error) {
	if r.at == r.size {
		if !r.ended {
			return Batch{}, fmt.Errorf("%w: snapshot %s ends without a footer", ErrCorrupt, r.path)
		}
		return Batch{}, io.EOF
	}
	if r.window.file == nil {
		r.window = windowReader{file: r.file, size: r.size}
	}
	h, reason, err := r.window.batchAt(r.at)
	if err == nil {
		err = reason
	}
	if err == nil && (r.ended || (!h.Control && !r.started)) {
		err = fmt.Errorf("%w: batch outside header and footer", ErrCorrupt)
	}
	if err != nil {
		return Batch{}, r.broken(err)
	}
	raw, err := r.window.bytes(r.at, h.SizeBytes)
	if err != nil {
		return Batch{}, r.broken(err)
	}
	b, _, err := ReadBatch(append([]byte(nil), raw...))
	if err == nil && b.Control {
		err = r.control(b)
	}
	if err != nil {
		return Batch{}, r.broken(err)
	}
	r.at += int64(b.SizeBytes)
	return b, nil
}

func (r *SnapshotReader) broken(err error) error {
	return fmt.Errorf("snapshot %s at byte %d: %w", r.path, r.at, err)
}

// Quorum is what the snapshot says of the quorum, known once Next was called.
func (r *SnapshotReader) Quorum() Quorum { return r.quorum }

// control follows header and footer, and keeps what stands behind the header:
// kraft.version and the voters.
func (r *SnapshotReader) control(b Batch) error {
	for i, rec := range b.Records {
		t, err := ControlTypeOf(rec.Key)
		if err != nil {
			return err
		}
		first := !r.started && i == 0
		switch {
		case first != (t == SnapshotHeaderType):
			return fmt.Errorf("%w: control record of type %d where a snapshot header belongs first and only there", ErrCorrupt, t)
		case t == SnapshotHeaderType:
			if r.header, err = ParseSnapshotHeader(rec.Value); err != nil {
				return err
			}
		case t == SnapshotFooterType:
			r.ended = true
		}
	}
	r.started = true
	changes, err := b.QuorumChanges()
	for _, c := range changes {
		if c.Level != Unchanged {
			r.quorum.Level = c.Level
		}
		if c.Voters != nil {
			r.quorum.Voters = c.Voters
		}
	}
	return err
}

// Close closes the file. It may be called again.
func (r *SnapshotReader) Close() error {
	if r.file == nil || r.borrowed {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}
