package metalog

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kbin"
)

const (
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
)

// writeIndexes writes the offset index and the time index of a segment as Kafka
// does: an entry for about every 4 KiB of log, with offsets relative to the
// segment's. They are sparse and may lag behind the log, so they are written
// when a segment is opened, cut, left and closed, and need no fsync: Kafka makes
// them anew after a crash, and this log never reads them. A log without fsync,
// an observer's, has none.
func (l *Log) writeIndexes(s *segment) error {
	if l.cfg.NoSync {
		return nil
	}
	var offsets, times []byte
	last := undatedYet
	timed := func(d dated) {
		if d.timestamp > last.timestamp {
			times = kbin.AppendInt64(times, d.timestamp)
			times = kbin.AppendInt32(times, int32(d.offset-s.base))
			last = d
		}
	}
	for _, e := range s.index {
		if e.at == 0 {
			continue
		}
		offsets = kbin.AppendInt32(offsets, int32(e.last-s.base))
		offsets = kbin.AppendInt32(offsets, int32(e.at))
		timed(e.before)
	}
	timed(s.dated)
	for suffix, data := range map[string][]byte{indexSuffix: offsets, timeIndexSuffix: times} {
		if err := l.replace(s.sidecar(suffix), data); err != nil {
			return fmt.Errorf("write %s: %w", s.sidecar(suffix), err)
		}
	}
	return nil
}

// sidecar names a file beside the segment's.
func (s *segment) sidecar(suffix string) string {
	return strings.TrimSuffix(s.path, segmentSuffix) + suffix
}

func (l *Log) replace(name string, data []byte) error {
	f, err := l.cfg.FS.Open(name)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil && len(data) > 0 {
		_, err = f.WriteAt(data, 0)
	}
	return errors.Join(err, f.Close())
}

func (l *Log) removeIndexes(s *segment) error {
	var errs []error
	for _, suffix := range []string{indexSuffix, timeIndexSuffix} {
		if err := l.cfg.FS.Remove(s.sidecar(suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
