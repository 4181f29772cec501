package sim

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/sim/seeded"
	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// trace is what happened in a run: a running hash of all of it, and the text of
// it for those who ask.
type trace struct {
	seeded.Hash
	log func(line string)
}

func (t *trace) event(now time.Duration, e event) {
	t.Add(uint64(now), uint64(e.kind), uint64(e.node), uint64(e.peer), e.id)
	if e.msg != nil {
		t.message(e.msg)
	}
	if e.ask != nil {
		t.Add(uint64(e.ask.Key()))
	}
	if t.log == nil {
		return
	}
	line := fmt.Sprintf("%-12v %-9s", now, kindNames[e.kind])
	switch e.kind {
	case evRequest:
		line += fmt.Sprintf(" %d->%d %s", e.peer, e.node, brief(e.msg))
	case evResponse:
		line += fmt.Sprintf(" %d->%d %s", e.peer, e.node, brief(e.msg))
	case evAsk:
		line += fmt.Sprintf(" %d->%d %s", e.peer, e.node, kmsg.NameForKey(e.ask.Key()))
	case evAnswer:
		line += fmt.Sprintf(" %d->%d %s", e.peer, e.node, kmsg.NameForKey(e.answer.Key()))
	case evClient, evFault, evHeal:
	default:
		line += fmt.Sprintf(" node %d", e.node)
	}
	t.log(line)
}

// note adds a line to the text only; what it tells is in the hash already.
func (t *trace) note(format string, a ...any) {
	if t.log != nil {
		t.log(fmt.Sprintf("             "+format, a...))
	}
}

// message adds the fields of a message that steer the machines.
func (t *trace) message(m raft.Message) {
	switch m := m.(type) {
	case raft.VoteRequest:
		t.Add(1, uint64(m.Epoch), uint64(m.LastEpoch), uint64(m.LastOffset), bit(m.PreVote))
	case raft.VoteResponse:
		t.Add(2, uint64(m.PartitionError), uint64(m.LeaderID), uint64(m.LeaderEpoch), bit(m.Granted))
	case raft.BeginQuorumEpochRequest:
		t.Add(3, uint64(m.LeaderEpoch))
	case raft.BeginQuorumEpochResponse:
		t.Add(4, uint64(m.PartitionError), uint64(m.LeaderID), uint64(m.LeaderEpoch))
	case raft.EndQuorumEpochRequest:
		t.Add(5, uint64(m.LeaderEpoch), uint64(len(m.PreferredSuccessors)))
	case raft.EndQuorumEpochResponse:
		t.Add(6, uint64(m.PartitionError), uint64(m.LeaderID), uint64(m.LeaderEpoch))
	case raft.FetchRequest:
		t.Add(7, uint64(m.CurrentLeaderEpoch), uint64(m.FetchOffset), uint64(m.LastFetchedEpoch), uint64(m.HighWatermark))
	case raft.FetchResponse:
		t.Add(8, uint64(m.PartitionError), uint64(m.LeaderID), uint64(m.LeaderEpoch), uint64(m.HighWatermark), uint64(len(m.Batches)))
		if m.Diverging != nil {
			t.Add(uint64(m.Diverging.Epoch), uint64(m.Diverging.EndOffset))
		}
	case raft.FetchSnapshotRequest:
		t.Add(9, uint64(m.Snapshot.EndOffset), uint64(m.Position))
	case raft.FetchSnapshotResponse:
		t.Add(10, uint64(m.PartitionError), uint64(m.Snapshot.EndOffset), uint64(m.Position), uint64(m.Size))
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// brief is a message in a few words.
func brief(m raft.Message) string {
	code := func(top, c kafka.ErrorCode) string {
		if top != kafka.None {
			c = top
		}
		if c == kafka.None {
			return ""
		}
		return " " + c.String()
	}
	switch m := m.(type) {
	case raft.VoteRequest:
		name := "Vote"
		if m.PreVote {
			name = "PreVote"
		}
		return fmt.Sprintf("%s epoch=%d log=%d/%d", name, m.Epoch, m.LastOffset, m.LastEpoch)
	case raft.VoteResponse:
		return fmt.Sprintf("Vote answer epoch=%d leader=%d granted=%v%s", m.LeaderEpoch, m.LeaderID, m.Granted, code(m.Error, m.PartitionError))
	case raft.BeginQuorumEpochRequest:
		return fmt.Sprintf("BeginQuorumEpoch epoch=%d", m.LeaderEpoch)
	case raft.BeginQuorumEpochResponse:
		return fmt.Sprintf("BeginQuorumEpoch answer epoch=%d leader=%d%s", m.LeaderEpoch, m.LeaderID, code(m.Error, m.PartitionError))
	case raft.EndQuorumEpochRequest:
		return fmt.Sprintf("EndQuorumEpoch epoch=%d", m.LeaderEpoch)
	case raft.EndQuorumEpochResponse:
		return fmt.Sprintf("EndQuorumEpoch answer epoch=%d leader=%d%s", m.LeaderEpoch, m.LeaderID, code(m.Error, m.PartitionError))
	case raft.FetchRequest:
		return fmt.Sprintf("Fetch epoch=%d log=%d/%d hw=%d", m.CurrentLeaderEpoch, m.FetchOffset, m.LastFetchedEpoch, m.HighWatermark)
	case raft.FetchResponse:
		s := fmt.Sprintf("Fetch answer epoch=%d leader=%d hw=%d%s", m.LeaderEpoch, m.LeaderID, m.HighWatermark, code(m.Error, m.PartitionError))
		if m.Diverging != nil {
			s += fmt.Sprintf(" diverging=%d/%d", m.Diverging.EndOffset, m.Diverging.Epoch)
		}
		if m.Snapshot != nil {
			s += fmt.Sprintf(" snapshot=%d-%d", m.Snapshot.EndOffset, m.Snapshot.Epoch)
		}
		if n := len(m.Batches); n > 0 {
			s += fmt.Sprintf(" records=[%d,%d]", m.Batches[0].BaseOffset, m.Batches[n-1].LastOffset)
		}
		return s
	case raft.FetchSnapshotRequest:
		return fmt.Sprintf("FetchSnapshot %d-%d at %d", m.Snapshot.EndOffset, m.Snapshot.Epoch, m.Position)
	case raft.FetchSnapshotResponse:
		return fmt.Sprintf("FetchSnapshot answer %d-%d at %d of %d%s", m.Snapshot.EndOffset, m.Snapshot.Epoch, m.Position, m.Size, code(m.Error, m.PartitionError))
	}
	return fmt.Sprintf("%T", m)
}
