package raft

import (
	"fmt"
	"sort"

	"kbench/kafka"
)

// epochLog is what the machine knows of the log: its bounds and where each
// epoch starts, as Kafka's leader-epoch checkpoint. Epochs ascend, each Start
// is in [start, end).
type epochLog struct {
	start, end kafka.Offset
	startEpoch kafka.LeaderEpoch // of the record before start, 0 if start is 0
	epochs     []EpochStart
	snapshot   SnapshotID // the latest, zero if none
}

func newEpochLog(p Persisted) (epochLog, error) {
	l := epochLog{start: p.LogStart, end: p.LogEnd, startEpoch: p.StartEpoch, snapshot: p.Snapshot}
	if p.LogStart < 0 || p.LogEnd < p.LogStart {
		return l, fmt.Errorf("log from offset %d to %d: start must be 0 or above and not after the end", p.LogStart, p.LogEnd)
	}
	if p.StartEpoch < 0 || (p.LogStart == 0 && p.StartEpoch != 0) {
		return l, fmt.Errorf("start epoch %d of a log that starts at offset %d", p.StartEpoch, p.LogStart)
	}
	if p.Snapshot.EndOffset < p.LogStart {
		return l, fmt.Errorf("log starts at offset %d, but the latest snapshot ends at %d: the records between are lost", p.LogStart, p.Snapshot.EndOffset)
	}
	if p.Snapshot.EndOffset > p.LogEnd {
		return l, fmt.Errorf("log ends at offset %d, before the latest snapshot, which ends at %d: start it anew behind the snapshot", p.LogEnd, p.Snapshot.EndOffset)
	}
	for i, e := range p.Epochs {
		switch {
		case e.Start >= p.LogEnd:
			return l, fmt.Errorf("epoch %d starts at offset %d, at or after the log end %d", e.Epoch, e.Start, p.LogEnd)
		case i == 0 && e.Start > p.LogStart:
			return l, fmt.Errorf("first epoch %d starts at offset %d, after the log start %d", e.Epoch, e.Start, p.LogStart)
		case i == 0 && e.Epoch < p.StartEpoch:
			return l, fmt.Errorf("epoch %d at offset %d is below the epoch %d before it", e.Epoch, e.Start, p.StartEpoch)
		case i > 0 && (e.Epoch <= p.Epochs[i-1].Epoch || e.Start <= p.Epochs[i-1].Start):
			return l, fmt.Errorf("epoch %d at offset %d does not ascend from epoch %d at offset %d", e.Epoch, e.Start, p.Epochs[i-1].Epoch, p.Epochs[i-1].Start)
		}
	}
	if len(p.Epochs) == 0 && p.LogEnd > p.LogStart {
		return l, fmt.Errorf("log from offset %d to %d has no epochs", p.LogStart, p.LogEnd)
	}
	l.epochs = append(l.epochs, p.Epochs...)
	for len(l.epochs) > 0 && l.epochs[0].Start < l.start {
		if len(l.epochs) > 1 && l.epochs[1].Start <= l.start {
			l.epochs = l.epochs[1:]
			continue
		}
		l.epochs[0].Start = l.start
	}
	return l, nil
}

// lastEpoch is the epoch of the last record, or of the snapshot that the log
// starts after, or 0.
func (l *epochLog) lastEpoch() kafka.LeaderEpoch {
	if n := len(l.epochs); n > 0 {
		return l.epochs[n-1].Epoch
	}
	return l.startEpoch
}

// append records that a batch of epoch was appended at the end.
func (l *epochLog) append(b Batch) {
	if b.Epoch != l.lastEpoch() || len(l.epochs) == 0 {
		l.epochs = append(l.epochs, EpochStart{b.Epoch, b.BaseOffset})
	}
	l.end = b.LastOffset + 1
}

// accepts says why batches cannot be appended by a follower in epoch, nil if
// they can.
func (l *epochLog) accepts(batches []Batch, epoch kafka.LeaderEpoch) error {
	next, last := l.end, l.lastEpoch()
	for _, b := range batches {
		switch {
		case b.BaseOffset != next:
			return fmt.Errorf("batch at offset %d where %d comes next", b.BaseOffset, next)
		case b.LastOffset < b.BaseOffset:
			return fmt.Errorf("batch at offset %d ends before it, at %d", b.BaseOffset, b.LastOffset)
		case b.Epoch < last || b.Epoch > epoch:
			return fmt.Errorf("batch at offset %d has epoch %d, not in [%d, %d]", b.BaseOffset, b.Epoch, last, epoch)
		}
		next, last = b.LastOffset+1, b.Epoch
	}
	return nil
}

// truncate drops the records at to and above.
func (l *epochLog) truncate(to kafka.Offset) {
	l.end = min(l.end, to)
	n := len(l.epochs)
	for n > 0 && l.epochs[n-1].Start >= l.end {
		n--
	}
	l.epochs = l.epochs[:n]
}

// moveStart drops the records below to.
func (l *epochLog) moveStart(to kafka.Offset) {
	l.startEpoch = l.epochBefore(to)
	l.start = to
	for len(l.epochs) > 1 && l.epochs[1].Start <= to {
		l.epochs = l.epochs[1:]
	}
	if len(l.epochs) > 0 && l.epochs[0].Start < to {
		l.epochs[0].Start = to
	}
	l.truncate(l.end) // drops the only epoch if the log is empty now
}

// reset empties the log so that it starts after snapshot id.
func (l *epochLog) reset(id SnapshotID) {
	*l = epochLog{start: id.EndOffset, end: id.EndOffset, startEpoch: id.Epoch, epochs: l.epochs[:0], snapshot: id}
}

// epochBefore is the epoch of the record before offset, which is in
// [start, end].
func (l *epochLog) epochBefore(offset kafka.Offset) kafka.LeaderEpoch {
	i := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].Start >= offset })
	if i == 0 {
		return l.startEpoch
	}
	return l.epochs[i-1].Epoch
}

// endOf gives the largest epoch at most epoch that the log has, and its end.
func (l *epochLog) endOf(epoch kafka.LeaderEpoch) EpochEndOffset {
	i := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].Epoch > epoch })
	found, end := l.startEpoch, l.end
	if i > 0 {
		found = l.epochs[i-1].Epoch
	}
	if i < len(l.epochs) {
		end = l.epochs[i].Start
	}
	return EpochEndOffset{found, end}
}

// check says whether a replica whose log ends at offset, with a last record of
// epoch, holds a prefix of this log. If not, it gets either the snapshot to
// fetch or the end of the epoch where the two part.
func (l *epochLog) check(offset kafka.Offset, epoch kafka.LeaderEpoch) (*EpochEndOffset, *SnapshotID) {
	switch {
	case offset == 0 && !l.snapshot.IsBootstrap():
		id := l.snapshot
		return nil, &id
	case offset == 0 && l.start == 0:
		return nil, nil
	case l.start > 0 && (offset < l.start || (offset == l.start && epoch != l.startEpoch) || epoch < l.startEpoch):
		id := l.snapshot
		return nil, &id
	}
	if end := l.endOf(epoch); end.Epoch != epoch || end.EndOffset < offset {
		return &end, nil
	}
	return nil, nil
}

// divergesAt is where a follower must truncate to when its leader says that
// the last common epoch ends at end.
func (l *epochLog) divergesAt(end EpochEndOffset) kafka.Offset {
	local := l.endOf(end.Epoch)
	if local.Epoch == end.Epoch {
		return min(local.EndOffset, end.EndOffset)
	}
	return local.EndOffset
}
