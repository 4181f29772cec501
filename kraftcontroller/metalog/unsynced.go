package metalog

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// dropTornSnapshots removes from a log without fsync the snapshots that a power
// cut left under their name without all of their bytes. Where none holds what came
// before the log any more, that is discarded too.
func (l *Log) dropTornSnapshots() error {
	if !l.cfg.NoSync {
		return nil // each was synced before it had its name
	}
	good := 0
	for i := len(l.snapshots) - 1; i >= 0; i-- {
		id := l.snapshots[i]
		// Of one that is not the latest nobody reads more than when it was taken.
		err := l.checkSnapshot(id, good == 0)
		if err == nil {
			good++
			continue
		}
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrShort) {
			return err
		}
		l.cfg.Logger.Warn("dropped a snapshot that is not whole, as a power cut leaves one without fsync", "file", l.snapshotPath(id), "reason", err)
		if err := l.cfg.FS.Remove(l.snapshotPath(id)); err != nil {
			return fmt.Errorf("remove a snapshot that is not whole: %w", err)
		}
		l.snapshots = slices.Delete(l.snapshots, i, i+1)
	}
	return nil
}

// checkSnapshot reads a snapshot to its end, or its first records only.
func (l *Log) checkSnapshot(id SnapshotID, whole bool) error {
	r, err := l.OpenSnapshot(id)
	if err != nil {
		return err
	}
	for n := 0; err == nil && (whole || n == 0); n++ {
		_, err = r.Next()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, r.Close())
}

// discard removes a log without fsync that does not open, with its snapshots:
// nobody counts on it, and the quorum has it all.
func (l *Log) discard(reason error) error {
	l.cfg.Logger.Warn("discarded the metadata log, which is damaged as a power cut leaves one without fsync; it is fetched again", "dir", l.cfg.Dir, "reason", reason)
	err := l.closeFiles()
	l.segments = nil
	names, readErr := l.cfg.FS.ReadDir(l.cfg.Dir)
	errs := []error{err, readErr}
	for _, name := range names {
		_, isSegment := parseSegmentName(name)
		_, isSnapshot := parseSnapshotName(name)
		if isSegment || isSnapshot || name == epochCheckpointName {
			errs = append(errs, l.cfg.FS.Remove(filepath.Join(l.cfg.Dir, name)))
		}
	}
	return errors.Join(errs...)
}
