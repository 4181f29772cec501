package metalog

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"time"

	"kbench/kafka"
)

const (
	// DefaultSegmentBytes is Kafka's metadata.log.segment.bytes.
	DefaultSegmentBytes = 1 << 30
	// DefaultSegmentAge is Kafka's metadata.log.segment.ms.
	DefaultSegmentAge = 7 * 24 * time.Hour
)

// Config says where a log lives.
type Config struct {
	FS  FS     // OS() in production
	Dir string // the partition's directory, `<data>/__cluster_metadata-0`; created where absent
	// SegmentBytes is the size at which a new file is begun; 0 means
	// DefaultSegmentBytes. One append may exceed it.
	SegmentBytes int64
	// SegmentAge is how much later than its first batch the last one of a file may
	// be, by their timestamps; 0 means DefaultSegmentAge.
	SegmentAge time.Duration
	// NoSync leaves every fsync out. Only for observers, whose answers nobody
	// counts: a voter that sets it can lose acknowledged records.
	NoSync bool
	// Logger hears what recovery cut off; nil discards.
	Logger *slog.Logger
}

// EpochStart is the first offset of an epoch in the log.
type EpochStart struct {
	Epoch kafka.LeaderEpoch
	Start kafka.Offset
}

// Log is the metadata log of one node. One goroutine writes; Read, OpenSnapshot
// and the getters may be called from any.
type Log struct {
	cfg Config

	mu        sync.RWMutex
	segments  []*segment // by base offset, the last is written to; never empty
	start     kafka.Offset
	before    kafka.LeaderEpoch // of the record before start
	epochs    []EpochStart
	told      []EpochStart   // what leader-epoch-checkpoint says
	changes   []QuorumChange // of the quorum, in the records held
	snapshots []SnapshotID   // by end offset
	synced    kafka.Offset
	dirDirty  bool
	closed    bool
	failed    error // the first failed write or fsync, a snapshot's too: final
}

// Open opens or creates the log, checks every batch, cuts a torn tail off and
// says so to the logger. Damage that is not at the end is an error that names
// file and byte; a log without fsync is emptied then, to be fetched again.
func Open(cfg Config) (*Log, error) {
	if cfg.SegmentBytes <= 0 {
		cfg.SegmentBytes = DefaultSegmentBytes
	}
	if cfg.SegmentAge <= 0 {
		cfg.SegmentAge = DefaultSegmentAge
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Log{cfg: cfg}
	err := l.open()
	if cfg.NoSync && (errors.Is(err, ErrCorrupt) || errors.Is(err, ErrShort)) {
		if err = l.discard(err); err == nil {
			l = &Log{cfg: cfg}
			err = l.open()
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open metadata log: %w", Cured(err)), l.closeFiles())
	}
	return l, nil
}

func (l *Log) open() error {
	if err := l.cfg.FS.MkdirAll(l.cfg.Dir); err != nil {
		return err
	}
	names, err := l.cfg.FS.ReadDir(l.cfg.Dir)
	if err != nil {
		return err
	}
	bases, err := l.listFiles(names)
	if err != nil {
		return err
	}
	if err := l.dropTornSnapshots(); err != nil {
		return err
	}
	told := false
	if l.told, told, err = l.readEpochCheckpoint(); err != nil {
		return err
	}
	tail, err := l.loadSegments(bases)
	if err != nil {
		return err
	}
	if err := l.checkNothingLost(names); err != nil {
		return err
	}
	if err := l.cut(tail); err != nil {
		return err
	}
	if err := l.alignWithSnapshots(); err != nil {
		return err
	}
	if err := l.writePartitionMetadata(); err != nil {
		return err
	}
	for _, s := range l.segments {
		if err := l.writeIndexes(s); err != nil {
			return err
		}
	}
	// What was read may be in the page cache only: a process that was killed
	// before its fsync leaves such bytes.
	l.dirDirty = true
	if err := l.Flush(); err != nil || told {
		return err
	}
	return l.writeEpochCheckpoint(l.epochs)
}

// listFiles fills l.snapshots, removes what an interrupted write left, and
// gives the base offsets of the segments, ascending.
func (l *Log) listFiles(names []string) ([]kafka.Offset, error) {
	var bases []kafka.Offset
	for _, name := range names {
		if base, ok := parseSegmentName(name); ok {
			bases = append(bases, base)
		} else if id, ok := parseSnapshotName(name); ok {
			l.snapshots = append(l.snapshots, id)
		} else if isLeftover(name) {
			if err := l.cfg.FS.Remove(filepath.Join(l.cfg.Dir, name)); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(bases)
	slices.SortFunc(l.snapshots, SnapshotID.Compare)
	return bases, nil
}

// loadSegments reads every file and gives the torn end of the last one, which is
// not cut yet; nil where it is whole.
func (l *Log) loadSegments(bases []kafka.Offset) (*badTail, error) {
	var tail *badTail
	for i, base := range bases {
		s, err := openSegment(l.cfg.FS, l.cfg.Dir, base)
		if err != nil {
			return nil, err
		}
		l.segments = append(l.segments, s)
		if i > 0 && l.segments[i-1].end != base {
			return nil, fmt.Errorf("%w: %s begins at offset %d, but the file before it ends at %d: a file is missing or cut short; %s", ErrCorrupt, s.path, base, l.segments[i-1].end, StartAnew)
		}
		reason, err := s.scan(l.noteBatch)
		if err != nil {
			return nil, err
		}
		if reason == nil {
			continue
		}
		tail = reason.(*badTail)
		if i < len(bases)-1 {
			return nil, fmt.Errorf("%w, with newer files behind it: the log is damaged in its middle; %s", tail, StartAnew)
		}
		if err := s.checkTorn(tail); err != nil {
			return nil, err
		}
	}
	if len(l.segments) > 0 {
		l.start = l.segments[0].base
	}
	return tail, nil
}

// cut takes the torn end off the last file.
func (l *Log) cut(tail *badTail) error {
	if tail == nil {
		return nil
	}
	s := l.segments[len(l.segments)-1]
	if err := s.cut(tail); err != nil {
		return err
	}
	l.cfg.Logger.Warn("cut the torn end off the metadata log", "file", s.path,
		"byte", tail.at, "cutBytes", tail.size-tail.at, "endOffset", s.end, "reason", tail.reason)
	return nil
}

// withEpoch adds the epoch that begins with the batch h, if one does.
func withEpoch(epochs []EpochStart, h Header) []EpochStart {
	if n := len(epochs); n == 0 || h.Epoch > epochs[n-1].Epoch {
		epochs = append(epochs, EpochStart{h.Epoch, h.BaseOffset})
	}
	return epochs
}

// alignWithSnapshots makes the log begin or go on where the latest snapshot
// ends: after a crash between the arrival of a snapshot and the truncation that
// belongs to it, and in an empty directory.
func (l *Log) alignWithSnapshots() error {
	latest, has := l.latestSnapshot()
	if has && (latest.Epoch > l.lastEpoch() || latest.EndOffset > l.end()) {
		return l.restart(latest)
	}
	if len(l.segments) == 0 {
		return l.restart(SnapshotID{})
	}
	if l.start > 0 && (!has || latest.EndOffset < l.start) {
		return fmt.Errorf("%w: %s begins at offset %d and no snapshot holds what came before: files are missing; %s", ErrCorrupt, l.segments[0].path, l.start, StartAnew)
	}
	l.before = l.epochBeforeStart()
	return nil
}

// epochBeforeStart is the epoch of the snapshot that ends where the log
// begins. Where none does, because the log goes further back than the
// snapshot, the first batch's own is as good: no replica can hold another
// record before it in that epoch.
func (l *Log) epochBeforeStart() kafka.LeaderEpoch {
	for _, id := range l.snapshots {
		if l.start > 0 && id.EndOffset == l.start {
			return id.Epoch
		}
	}
	if l.start > 0 && len(l.epochs) > 0 {
		return l.epochs[0].Epoch
	}
	return 0
}

// restart drops every segment and begins an empty one where id ends. The snapshot
// id is durable, so that whatever part of this a crash leaves is begun again.
func (l *Log) restart(id SnapshotID) error {
	l.epochs, l.changes = nil, nil
	if err := l.tellEpochs(); err != nil {
		return err
	}
	for i := len(l.segments) - 1; i >= 0; i-- {
		if err := l.removeSegment(l.segments[i]); err != nil {
			return err
		}
		l.segments = l.segments[:i]
	}
	s, err := openSegment(l.cfg.FS, l.cfg.Dir, id.EndOffset)
	if err != nil {
		return err
	}
	l.segments, l.start, l.before = []*segment{s}, id.EndOffset, id.Epoch
	return l.syncDir()
}

// removeSegment removes the first or the last file, durably: of several that go,
// a crash must not leave one behind a gap.
func (l *Log) removeSegment(s *segment) error {
	return errors.Join(s.file.Close(), l.cfg.FS.Remove(s.path), l.removeIndexes(s), l.syncDir())
}

// StartOffset is the first offset the log holds.
func (l *Log) StartOffset() kafka.Offset {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.start
}

// EndOffset is the log end offset: the next record's.
func (l *Log) EndOffset() kafka.Offset {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.end()
}

// SyncedOffset is the end of what is durable: Flush moves it.
func (l *Log) SyncedOffset() kafka.Offset {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.synced
}

// LastEpoch is the epoch of the last batch, or of the snapshot the log begins
// with; 0 for an empty log.
func (l *Log) LastEpoch() kafka.LeaderEpoch {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.lastEpoch()
}

// StartEpoch is the epoch of the record before the log start; 0 where the log
// begins at offset 0.
func (l *Log) StartEpoch() kafka.LeaderEpoch {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.before
}

// Failed is the first failure of the log or of a snapshot being written, after
// which the log takes nothing any more: the node must stop. nil where there is
// none; a log that was closed has failed too.
func (l *Log) Failed() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.failed
}

// Epochs gives a copy of where each epoch of the records held begins,
// ascending. The first may begin before the log start.
func (l *Log) Epochs() []EpochStart {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Clone(l.epochs)
}

func (l *Log) end() kafka.Offset {
	if len(l.segments) == 0 {
		return 0
	}
	return l.segments[len(l.segments)-1].end
}

func (l *Log) lastEpoch() kafka.LeaderEpoch {
	if n := len(l.epochs); n > 0 {
		return l.epochs[n-1].Epoch
	}
	return l.before
}

// Read gives whole batches as they are on disk, from the one that holds offset:
// at most maxBytes, but at least one batch; nothing at the log end. It never
// crosses a segment's border. The caller owns the bytes.
func (l *Log) Read(offset kafka.Offset, maxBytes int) ([]byte, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if offset == l.end() {
		return nil, nil
	}
	if offset < l.start || offset > l.end() {
		return nil, fmt.Errorf("read metadata log at offset %d: it holds %d to %d: %w", offset, l.start, l.end(), kafka.OffsetOutOfRange)
	}
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].end > offset })
	return l.segments[i].read(offset, maxBytes)
}

// Close closes the files without an fsync: what Flush did not sync may be lost,
// as after a crash.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	var err error
	if l.failed == nil {
		l.failed = errors.New("the log is closed")
		err = l.writeIndexes(l.segments[len(l.segments)-1])
	}
	return errors.Join(err, l.closeFiles())
}

func (l *Log) closeFiles() error {
	var errs []error
	for _, s := range l.segments {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}

// SizeBytes is the size of all segments.
func (l *Log) SizeBytes() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var n int64
	for _, s := range l.segments {
		n += s.size
	}
	return n
}
