package metalog

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"kbench/kafka"
)

// errStopped ends a scan whose caller wants no more.
var errStopped = errors.New("no more batches are wanted")

// Batches gives the record batches that are in the directory of a log, in order
// of offset, without taking the directory: a running node may append meanwhile.
// They are those of the files as they are found; a batch at the end of the last
// file that is not whole ends them, as a write that is under way. Damage in front
// of that is an error that wraps ErrCorrupt. The bytes are lent until the next
// step. A directory without a log gives none.
func Batches(dir string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := scanDir(dir, func(_ Header, raw []byte) error {
			if !yield(raw, nil) {
				return errStopped
			}
			return nil
		}); err != nil && !errors.Is(err, errStopped) {
			yield(nil, fmt.Errorf("read the metadata log: %w", err))
		}
	}
}

// Snapshots names the finished snapshots in the directory of a log, the oldest
// first.
func Snapshots(dir string) ([]SnapshotID, error) {
	names, err := readNames(dir)
	var ids []SnapshotID
	for _, name := range names {
		if id, ok := parseSnapshotName(name); ok {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, SnapshotID.Compare)
	return ids, err
}

// ParseSnapshotFileName is the reverse of FileName.
func ParseSnapshotFileName(name string) (SnapshotID, bool) { return parseSnapshotName(name) }

// FileName is that of the snapshot's file in the directory of a log.
func (id SnapshotID) FileName() string { return id.String() + snapshotSuffix }

func readNames(dir string) ([]string, error) {
	names, err := OS().ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

func scanDir(dir string, visit func(Header, []byte) error) error {
	names, err := readNames(dir)
	if err != nil {
		return err
	}
	var bases []kafka.Offset
	for _, name := range names {
		if base, ok := parseSegmentName(name); ok {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	for i, base := range bases {
		end, err := scanFile(filepath.Join(dir, segmentName(base)), base, i == len(bases)-1, visit)
		if err != nil {
			return err
		}
		if i < len(bases)-1 && end != bases[i+1] {
			return fmt.Errorf("%w: %s ends at offset %d, the file behind it begins at %d", ErrCorrupt, segmentName(base), end, bases[i+1])
		}
	}
	return nil
}

// scanFile reads one segment and gives its end offset.
func scanFile(path string, base kafka.Offset, last bool, visit func(Header, []byte) error) (kafka.Offset, error) {
	f, err := os.Open(path)
	if err != nil {
		return base, err
	}
	defer func() { _ = f.Close() }()
	s := &segment{base: base, end: base, path: path, file: osFile{f}}
	if s.size, err = s.file.Size(); err != nil {
		return base, err
	}
	reason, err := s.scan(visit)
	if err != nil || reason == nil {
		return s.end, err
	}
	if last {
		_, behind, err := s.batchBehind(reason.(*badTail))
		if err != nil || !behind {
			return s.end, err
		}
	}
	if !errors.Is(reason, ErrCorrupt) { // it is short where more follows
		reason = fmt.Errorf("%w: %w", ErrCorrupt, reason)
	}
	return s.end, reason
}
