package onelog

import (
	"bytes"
	"errors"
	"io"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// crash cuts the power and starts again.
func (r *run) crash() {
	r.failOp = ""
	r.result.Coverage.Crashes++
	r.fs.Crash(func(_ string, unsynced int) int {
		n := r.rng.IntN(unsynced + 1)
		if n > 0 && n < unsynced {
			r.result.Coverage.Torn++
		}
		return n
	})
	r.open()
	if r.result.Violation != nil {
		return
	}
	latest, has := r.log.LatestSnapshot()
	if n := len(r.snapshots); n > 0 && (!has || latest.Compare(r.snapshots[n-1]) < 0) {
		r.fail("SnapshotCovers", "snapshot %v was frozen and is gone, the latest is %v", r.snapshots[n-1], latest)
		return
	}
	end := r.log.EndOffset()
	if end < r.synced {
		r.fail("AckedDurable", "the log ends at %d, all below %d was flushed", end, r.synced)
		return
	}
	r.startsAt(r.log.StartOffset())
	for len(r.model) > 0 && r.model[len(r.model)-1].end > end {
		r.model = r.model[:len(r.model)-1]
	}
	if r.end() != end {
		r.fail("Prefix", "the log ends at %d, no batch that was appended ends there", end)
	}
	r.synced = end // what was read is synced when it opens
	r.readAll()
}

func (r *run) readAll() {
	for at := r.start; at < r.end() && r.result.Violation == nil; {
		at = r.readAt(at)
	}
}

func (r *run) read() {
	if r.end() == r.start {
		return
	}
	r.result.Coverage.Reads++
	r.readAt(r.start + kafka.Offset(r.rng.Int64N(int64(r.end()-r.start))))
}

// readAt reads at an offset, compares, and gives the end of what came.
func (r *run) readAt(at kafka.Offset) kafka.Offset {
	raw, err := r.log.Read(at, 1+r.rng.IntN(300))
	if err != nil || len(raw) == 0 {
		r.fail("ReadsWhatWasWritten", "read at %d of %d to %d: %d bytes, %v", at, r.start, r.end(), len(raw), err)
		return r.end()
	}
	for _, e := range r.model {
		if e.end <= at || len(raw) == 0 {
			continue
		}
		if !bytes.HasPrefix(raw, e.raw) {
			r.fail("ReadsWhatWasWritten", "the batch of %d to %d is read otherwise than it was appended", e.base, e.end)
			return r.end()
		}
		raw, at = raw[len(e.raw):], e.end
	}
	return at
}

// check looks at what must hold after every event.
func (r *run) check() {
	if r.result.Violation != nil {
		return
	}
	latest, has := r.log.LatestSnapshot()
	start, end := r.log.StartOffset(), r.log.EndOffset()
	r.trace(uint64(start), uint64(end))
	switch {
	case start != r.start || end != r.end():
		r.fail("ReadsWhatWasWritten", "the log holds %d to %d, the model %d to %d", start, end, r.start, r.end())
	case start > 0 && (!has || latest.EndOffset < start):
		r.fail("SnapshotCovers", "the log starts at %d, the latest snapshot is %v", start, latest)
	case has && r.event%8 == 0:
		r.whole(latest)
	}
}

// whole reads a snapshot to its end.
func (r *run) whole(id metalog.SnapshotID) {
	s, err := r.log.OpenSnapshot(id)
	if err != nil {
		r.fail("SnapshotCovers", "%v", err)
		return
	}
	for err == nil {
		_, err = s.Next()
	}
	if !errors.Is(err, io.EOF) {
		r.fail("SnapshotCovers", "%v", err)
	}
	if err := s.Close(); err != nil {
		r.fail("SnapshotCovers", "%v", err)
	}
}
