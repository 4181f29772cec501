package metalog

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"kbench/kafka"
)

// Append writes raw, one or more whole batches that go on where the log ends,
// behind it. They are not durable before Flush. Sums, offsets and epochs are
// checked first; a refused append changes nothing.
func (l *Log) Append(raw []byte) error {
	if err := l.checkAppend(raw); err != nil {
		return fmt.Errorf("append to metadata log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	active := l.segments[len(l.segments)-1]
	full, err := l.isFull(active, raw)
	if err != nil {
		return l.fail(err)
	}
	if full {
		if active, err = l.roll(active); err != nil {
			return l.fail(fmt.Errorf("begin a log segment: %w", err))
		}
	}
	if err := active.write(raw); err != nil {
		return l.fail(err)
	}
	for rest := raw; len(rest) > 0; {
		h, err := ReadHeader(rest)
		if err != nil {
			return l.fail(err)
		}
		if err := l.noteBatch(h, rest); err != nil {
			return l.fail(err)
		}
		rest = rest[h.SizeBytes:]
	}
	if l.cfg.NoSync {
		if err := l.tellEpochs(); err != nil {
			return l.fail(err)
		}
	}
	return nil
}

// isFull reports whether raw is for the next file: it has no room in this one, or
// is too much later than what this one begins with.
func (l *Log) isFull(active *segment, raw []byte) (bool, error) {
	if active.size == 0 {
		return false, nil
	}
	if active.size+int64(len(raw)) > l.cfg.SegmentBytes {
		return true, nil
	}
	if active.first <= 0 {
		return false, nil // nobody dated it
	}
	newest := int64(math.MinInt64)
	for rest := raw; len(rest) > 0; {
		h, err := ReadHeader(rest)
		if err != nil {
			return false, err
		}
		newest = max(newest, h.Timestamp)
		rest = rest[h.SizeBytes:]
	}
	return newest-active.first > l.cfg.SegmentAge.Milliseconds(), nil
}

// fail remembers the first failure, which is final: what a failed write or
// fsync left on disk is unknown until recovery reads it.
func (l *Log) fail(err error) error {
	err = Cured(err)
	if l.failed == nil {
		l.failed = err
	}
	return err
}

func (l *Log) checkAppend(raw []byte) error {
	l.mu.RLock()
	end, epoch := l.end(), l.lastEpoch()
	l.mu.RUnlock()
	if len(raw) == 0 {
		return errors.New("no batch")
	}
	for rest := raw; len(rest) > 0; {
		h, err := ReadHeader(rest)
		if err == nil {
			err = h.Verify(rest)
		}
		switch {
		case err != nil:
			return err
		case h.BaseOffset != end:
			return fmt.Errorf("batch begins at offset %d, the log ends at %d", h.BaseOffset, end)
		case h.Epoch < epoch:
			return fmt.Errorf("batch at offset %d has epoch %d, the log is at %d", h.BaseOffset, h.Epoch, epoch)
		}
		if err := checkControl(h, rest); err != nil {
			return err
		}
		end, epoch = h.EndOffset, h.Epoch
		rest = rest[h.SizeBytes:]
	}
	return nil
}

// checkControl refuses a control batch that nobody could read again.
func checkControl(h Header, raw []byte) error {
	if !h.Control {
		return nil
	}
	b, _, err := ReadBatch(raw)
	if err == nil {
		_, err = b.QuorumChanges()
	}
	return err
}

// roll syncs the active segment and begins the next.
func (l *Log) roll(active *segment) (*segment, error) {
	if err := l.syncFile(active.file); err != nil {
		return nil, err
	}
	if err := l.writeIndexes(active); err != nil {
		return nil, err
	}
	next, err := openSegment(l.cfg.FS, l.cfg.Dir, active.end)
	if err != nil {
		return nil, err
	}
	l.segments = append(l.segments, next)
	l.dirDirty = true
	return next, nil
}

// Flush makes everything appended before it durable. An error is final: the
// kernel may have dropped the pages that failed, so no later Flush could be
// believed. It may run beside reads and, for a driver that syncs on another
// goroutine, beside Append, whose records are then durable at the next one.
func (l *Log) Flush() error {
	l.mu.Lock()
	file, end, dirDirty, failed := l.segments[len(l.segments)-1].file, l.end(), l.dirDirty, l.failed
	l.dirDirty = false
	l.mu.Unlock()
	if failed != nil {
		return failed
	}
	err := l.syncFile(file)
	if err == nil && dirDirty {
		err = l.syncDir()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return l.fail(fmt.Errorf("flush metadata log: %w", err))
	}
	l.synced = max(l.synced, min(end, l.end()))
	if err := l.tellEpochs(); err != nil {
		return l.fail(err)
	}
	return nil
}

func (l *Log) syncFile(f File) error {
	if l.cfg.NoSync {
		return nil
	}
	return f.Sync()
}

func (l *Log) syncDir() error {
	if l.cfg.NoSync {
		return nil
	}
	return l.cfg.FS.SyncDir(l.cfg.Dir)
}

// TruncateTo drops every batch that ends above offset, durably. An offset at or
// above the end changes nothing; one below the start is refused. It must not
// run beside Flush.
func (l *Log) TruncateTo(offset kafka.Offset) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	if offset < l.start {
		return fmt.Errorf("truncate metadata log to %d: it starts at %d", offset, l.start)
	}
	if err := l.truncate(offset); err != nil {
		return l.fail(fmt.Errorf("truncate metadata log to %d: %w", offset, err))
	}
	return nil
}

func (l *Log) truncate(offset kafka.Offset) error {
	end, err := l.endBelow(offset)
	if err != nil {
		return err
	}
	l.synced = min(l.synced, end)
	l.epochs = l.epochs[:sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].Start >= end })]
	if err := l.tellEpochs(); err != nil {
		return err
	}
	for n := len(l.segments) - 1; n > 0 && l.segments[n].base >= offset; n-- {
		// It must not come back after the one before it was cut.
		if err := l.removeSegment(l.segments[n]); err != nil {
			return err
		}
		l.segments = l.segments[:n]
	}
	active := l.segments[len(l.segments)-1]
	if err := active.truncate(offset); err != nil {
		return err
	}
	if err := l.writeIndexes(active); err != nil { // entries behind the end would be wrong
		return err
	}
	l.changes = slices.DeleteFunc(l.changes, func(c QuorumChange) bool { return c.Offset >= end })
	if err := l.syncFile(active.file); err != nil {
		return err
	}
	if l.dirDirty {
		l.dirDirty = false
		return l.syncDir()
	}
	return nil
}

// endBelow is where the log will end once every batch is dropped that ends above
// offset.
func (l *Log) endBelow(offset kafka.Offset) (kafka.Offset, error) {
	n := len(l.segments) - 1
	for n > 0 && l.segments[n].base >= offset {
		n--
	}
	s := l.segments[n]
	if offset >= s.end {
		return s.end, nil
	}
	_, h, err := s.seek(offset)
	return h.BaseOffset, err
}

// TruncateFullyTo drops the whole log and begins an empty one where the
// snapshot id ends, after that snapshot was fetched. It must not run beside
// Flush.
func (l *Log) TruncateFullyTo(id SnapshotID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	if !l.hasSnapshot(id) {
		return fmt.Errorf("truncate metadata log fully to snapshot %v: there is no such snapshot", id)
	}
	if err := l.restart(id); err != nil {
		return l.fail(fmt.Errorf("truncate metadata log fully to snapshot %v: %w", id, err))
	}
	l.synced = l.end()
	return nil
}

// DropPrefix removes whole segments that end at or below offset; the last one
// always stays. The log start moves to what is left, and is given back. The
// caller makes sure that a snapshot covers what goes, or that nobody needs it.
func (l *Log) DropPrefix(offset kafka.Offset) (kafka.Offset, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.start, l.failed
	}
	for len(l.segments) > 1 && l.segments[0].end <= offset {
		if err := l.removeSegment(l.segments[0]); err != nil {
			return l.start, l.fail(fmt.Errorf("remove %s: %w", l.segments[0].path, err))
		}
		l.segments = l.segments[1:]
		l.start = l.segments[0].base
	}
	if err := l.dropEpochs(); err != nil {
		return l.start, l.fail(err)
	}
	return l.start, nil
}

// dropEpochs forgets the epochs of which the log holds nothing any more.
func (l *Log) dropEpochs() error {
	epochs := len(l.epochs)
	for len(l.epochs) > 0 && l.epochs[0].Start < l.start {
		l.before = l.epochs[0].Epoch
		if len(l.epochs) > 1 && l.epochs[1].Start > l.start || len(l.epochs) == 1 {
			break
		}
		l.epochs = l.epochs[1:]
	}
	if len(l.epochs) == epochs {
		return nil
	}
	return l.tellEpochs()
}
