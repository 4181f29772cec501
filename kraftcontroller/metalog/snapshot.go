package metalog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kbench/kafka"
)

const (
	snapshotSuffix = ".checkpoint"
	partialSuffix  = ".checkpoint.part"
	deletedSuffix  = ".checkpoint.deleted"
)

// SnapshotID names a snapshot: EndOffset is exclusive, Epoch that of the last
// record it covers. The zero value names none.
type SnapshotID struct {
	EndOffset kafka.Offset
	Epoch     kafka.LeaderEpoch
}

// Compare orders by epoch, then by end offset, as Kafka does.
func (id SnapshotID) Compare(o SnapshotID) int {
	return cmp.Or(cmp.Compare(id.Epoch, o.Epoch), cmp.Compare(id.EndOffset, o.EndOffset))
}

// String gives the digits of the file name.
func (id SnapshotID) String() string { return fmt.Sprintf("%020d-%010d", id.EndOffset, id.Epoch) }

func parseSnapshotName(name string) (SnapshotID, bool) {
	digits, ok := strings.CutSuffix(name, snapshotSuffix)
	if !ok || len(digits) != 31 || digits[20] != '-' {
		return SnapshotID{}, false
	}
	end, err := strconv.ParseInt(digits[:20], 10, 64)
	if err != nil {
		return SnapshotID{}, false
	}
	epoch, err := strconv.ParseInt(digits[21:], 10, 32)
	if err != nil || end < 0 || epoch < 0 {
		return SnapshotID{}, false
	}
	return SnapshotID{kafka.Offset(end), kafka.LeaderEpoch(epoch)}, true
}

// isLeftover recognises files of writes and removals that a crash interrupted.
func isLeftover(name string) bool {
	return strings.HasSuffix(name, partialSuffix) || strings.HasSuffix(name, deletedSuffix) ||
		strings.HasSuffix(name, ".tmp")
}

// LatestSnapshot gives the newest whole snapshot; false where there is none.
func (l *Log) LatestSnapshot() (SnapshotID, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.latestSnapshot()
}

func (l *Log) latestSnapshot() (SnapshotID, bool) {
	if n := len(l.snapshots); n > 0 {
		return l.snapshots[n-1], true
	}
	return SnapshotID{}, false
}

func (l *Log) hasSnapshot(id SnapshotID) bool { return slices.Contains(l.snapshots, id) }

func (l *Log) snapshotPath(id SnapshotID) string {
	return filepath.Join(l.cfg.Dir, id.String()+snapshotSuffix)
}

// CheckSnapshotID says why a snapshot of this node's own log cannot have that
// id: its end must be a batch's end within the log, and its epoch that batch's
// (KAFKA-17713). The caller makes sure that it is committed.
func (l *Log) CheckSnapshotID(id SnapshotID) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if id.EndOffset <= l.start || id.EndOffset > l.end() {
		return fmt.Errorf("snapshot %v: the log holds %d to %d", id, l.start, l.end())
	}
	for _, s := range l.segments {
		if id.EndOffset > s.end {
			continue
		}
		_, h, err := s.seek(id.EndOffset - 1)
		switch {
		case err != nil:
			return err
		case h.EndOffset != id.EndOffset:
			return fmt.Errorf("snapshot %v: offset %d is inside the batch %d to %d", id, id.EndOffset, h.BaseOffset, h.EndOffset)
		case h.Epoch != id.Epoch:
			return fmt.Errorf("snapshot %v: the batch before it has epoch %d", id, h.Epoch)
		}
		return nil
	}
	return fmt.Errorf("snapshot %v: offset not found", id)
}

// snapshotFile is a snapshot being written under a temporary name. It may be
// written from another goroutine than the log's.
type snapshotFile struct {
	log  *Log
	id   SnapshotID
	path string
	file File // nil once closed
	size int64
	// unsynced is how much was written since the last fsync.
	unsynced int64
	failed   error // the first failure; nothing is written or frozen after it
	done     bool  // frozen or abandoned: the temporary file is gone
}

// snapshotSyncEvery is how much of a snapshot may wait for the disk: an fsync of
// the log on the same disk waits for what is dirty there, so that the whole of a
// large snapshot at once would hold every change up.
const snapshotSyncEvery = 1 << 20

func (l *Log) createSnapshotFile(id SnapshotID) (*snapshotFile, error) {
	path := filepath.Join(l.cfg.Dir, id.String()+partialSuffix)
	f, err := l.cfg.FS.Open(path)
	if err != nil {
		return nil, fmt.Errorf("begin snapshot %v: %w", id, Cured(err))
	}
	s := &snapshotFile{log: l, id: id, path: path, file: f}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(s.fail("begin", err), s.abandon())
	}
	return s, nil
}

// fail takes a failed write or fsync. It is final for the log as one of its own
// is: what the disk dropped may be the log's as well, and the next fsync would not
// say so. Only a full disk is the snapshot's alone, where a write says it: nothing
// that was written before is in doubt then.
func (s *snapshotFile) fail(doing string, err error) error {
	err = Cured(fmt.Errorf("%s snapshot %v: %w", doing, s.id, err))
	s.failed = err
	if doing != syncing && (errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)) {
		return err
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.fail(err)
}

// syncing is what fail is told of an fsync, of the file or the directory.
const syncing = "sync"

func (s *snapshotFile) write(b []byte) error {
	if s.failed != nil {
		return s.failed
	}
	for len(b) > 0 {
		part := b[:min(len(b), snapshotSyncEvery)]
		if _, err := s.file.WriteAt(part, s.size); err != nil {
			return s.fail("write", err)
		}
		s.size += int64(len(part))
		s.unsynced += int64(len(part))
		b = b[len(part):]
		if s.unsynced >= snapshotSyncEvery {
			if err := s.log.syncFile(s.file); err != nil {
				return s.fail(syncing, err)
			}
			s.unsynced = 0
		}
	}
	return nil
}

// freeze makes the snapshot durable under its name and known to the log.
func (s *snapshotFile) freeze() error {
	if s.failed != nil {
		return s.failed
	}
	if err := s.log.syncFile(s.file); err != nil {
		return s.fail(syncing, err)
	}
	err := s.file.Close()
	s.file = nil
	if err == nil {
		err = s.log.cfg.FS.Rename(s.path, s.log.snapshotPath(s.id))
	}
	if err != nil {
		return fmt.Errorf("freeze snapshot %v: %w", s.id, err)
	}
	s.done = true
	if err := s.log.syncDir(); err != nil {
		return s.fail(syncing, err)
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if !s.log.hasSnapshot(s.id) {
		s.log.snapshots = append(s.log.snapshots, s.id)
		slices.SortFunc(s.log.snapshots, SnapshotID.Compare)
	}
	return nil
}

// abandon removes the temporary file; after freeze it does nothing.
func (s *snapshotFile) abandon() error {
	var err error
	if s.file != nil {
		err = s.file.Close()
		s.file = nil
	}
	if s.done {
		return err
	}
	s.done = true
	return errors.Join(err, s.log.cfg.FS.Remove(s.path))
}

// SnapshotReceiver takes a snapshot that comes in chunks from another node.
type SnapshotReceiver struct{ *snapshotFile }

// ReceiveSnapshot begins a snapshot fetched from a leader, dropping an earlier
// beginning of the same one.
func (l *Log) ReceiveSnapshot(id SnapshotID) (*SnapshotReceiver, error) {
	f, err := l.createSnapshotFile(id)
	if err != nil {
		return nil, err
	}
	return &SnapshotReceiver{f}, nil
}

// ID names the snapshot.
func (r *SnapshotReceiver) ID() SnapshotID { return r.id }

// Size is how many bytes have come: the position to ask for next.
func (r *SnapshotReceiver) Size() int64 { return r.size }

// Append writes the next chunk.
func (r *SnapshotReceiver) Append(chunk []byte) error { return r.write(chunk) }

// Freeze reads the whole snapshot once to check it, then makes it durable.
func (r *SnapshotReceiver) Freeze() error {
	check := &SnapshotReader{id: r.id, path: r.path, file: r.file, size: r.size, borrowed: true}
	for {
		_, err := check.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("received snapshot %v: %w", r.id, err)
		}
	}
	return r.freeze()
}

// Close abandons the snapshot unless it was frozen. It may be called again.
func (r *SnapshotReceiver) Close() error { return r.abandon() }

// Expired gives the snapshot before which nothing is younger than since, ms since
// 1970, by what snapshots say of the last record that they cover; false where none
// is too old. That of formatting is as old as the next one.
func (l *Log) Expired(since int64) (SnapshotID, bool, error) {
	l.mu.RLock()
	held := slices.Clone(l.snapshots)
	l.mu.RUnlock()
	var keep SnapshotID
	found := false
	for i, id := range held[:max(len(held)-1, 0)] {
		if id == (SnapshotID{}) {
			continue
		}
		at, err := l.snapshotTimestamp(id)
		if err != nil {
			return SnapshotID{}, false, err
		}
		if at >= since {
			break
		}
		keep, found = held[i+1], true
	}
	return keep, found, nil
}

func (l *Log) snapshotTimestamp(id SnapshotID) (int64, error) {
	r, err := l.OpenSnapshot(id)
	if err != nil {
		return 0, err
	}
	_, err = r.Next()
	if errors.Is(err, io.EOF) { // it holds no record
		err = nil
	}
	return r.LastContainedLogTimestamp(), errors.Join(err, r.Close())
}

// DeleteSnapshotsBefore removes every snapshot older than id and the segments
// it covers, and gives the new log start. Without the snapshot id it refuses.
func (l *Log) DeleteSnapshotsBefore(id SnapshotID) (kafka.Offset, error) {
	l.mu.Lock()
	if !l.hasSnapshot(id) {
		l.mu.Unlock()
		return l.StartOffset(), fmt.Errorf("delete snapshots before %v: there is no such snapshot", id)
	}
	var old []SnapshotID
	for len(l.snapshots) > 0 && l.snapshots[0].Compare(id) < 0 {
		old = append(old, l.snapshots[0])
		l.snapshots = l.snapshots[1:]
	}
	l.mu.Unlock()
	for _, o := range old {
		if err := l.cfg.FS.Remove(l.snapshotPath(o)); err != nil {
			return l.StartOffset(), fmt.Errorf("delete snapshot %v: %w", o, err)
		}
	}
	return l.DropPrefix(id.EndOffset)
}
