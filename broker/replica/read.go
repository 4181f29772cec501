package replica

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// logStart is the log start offset: a log without payload is one whose records
// were all cleaned away, so it begins at 0 and a reader passes through it to
// the high watermark.
const logStart kafka.Offset = 0

// Read answers one partition of a consumer's fetch: batches without records
// up to the high watermark. It reports whether there is something to say at
// once, an error or an advance.
func (m *Manager) Read(ref PartitionRef, epoch kafka.LeaderEpoch, from kafka.Offset, part *kmsg.FetchResponseTopicPartition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	part.Partition, part.HighWatermark, part.RecordBatches = ref.Partition, -1, []byte{}
	r, code := m.led(ref, epoch)
	if code == kafka.None && (from < logStart || from > r.logEnd) {
		code = kafka.OffsetOutOfRange
	}
	if r != nil {
		part.HighWatermark, part.LastStableOffset, part.LogStartOffset = int64(r.highWatermark), int64(r.highWatermark), int64(logStart)
	}
	if code != kafka.None {
		part.ErrorCode = int16(code)
		if r != nil && (code == kafka.NotLeaderOrFollower || code == kafka.FencedLeaderEpoch) {
			part.CurrentLeader.LeaderID, part.CurrentLeader.LeaderEpoch = int32(r.leader), int32(r.leaderEpoch)
		}
		return true
	}
	if from >= r.highWatermark {
		return false
	}
	part.RecordBatches = r.tail(from, r.highWatermark)
	return true
}

// led finds a replica that this broker leads in the epoch that a client knows;
// kafka.NoEpoch is a client that does not check.
func (m *Manager) led(ref PartitionRef, epoch kafka.LeaderEpoch) (*replica, kafka.ErrorCode) {
	r, code := m.resolve(ref.Topic, ref.TopicID, ref.Partition)
	switch {
	case code != kafka.None:
		return nil, code
	case epoch != kafka.NoEpoch && epoch < r.leaderEpoch:
		return r, kafka.FencedLeaderEpoch
	case epoch > r.leaderEpoch:
		return r, kafka.UnknownLeaderEpoch
	case r.leader != m.cfg.Self:
		return r, kafka.NotLeaderOrFollower
	}
	return r, kafka.None
}

// Offsets are the ends of one log.
type Offsets struct {
	Start, HighWatermark, LogEnd kafka.Offset
	LeaderEpoch                  kafka.LeaderEpoch
}

// Offsets gives the ends of the log of a partition led here.
func (m *Manager) Offsets(ref PartitionRef, epoch kafka.LeaderEpoch) (Offsets, kafka.ErrorCode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, code := m.led(ref, epoch)
	if code != kafka.None {
		return Offsets{}, code
	}
	return Offsets{Start: logStart, HighWatermark: r.highWatermark, LogEnd: r.logEnd, LeaderEpoch: r.leaderEpoch}, kafka.None
}
