package raft

import (
	"fmt"
	"strings"
	"time"

	"kbench/kafka"
)

// formatEffects tells effects in the order in which a driver carries them out.
func formatEffects(b *strings.Builder, fx Effects) {
	p := func(format string, a ...any) { fmt.Fprintf(b, "  "+format+"\n", a...) }
	if fx.Fatal != nil {
		p("FATAL %v", fx.Fatal)
		return
	}
	if q := fx.Persist; q != nil {
		p("persist epoch=%d leader=%d voted=%d", q.LeaderEpoch, q.LeaderID, q.VotedKey.ID)
	}
	for _, op := range fx.Log {
		switch op := op.(type) {
		case LogTruncate:
			p("truncate to=%d", op.To)
		case LogAppend:
			what := fmt.Sprint(op.Records)
			if c := op.LeaderChange; c != nil {
				what = fmt.Sprintf("LeaderChange leader=%d voters=%v granting=%v", c.LeaderID, keys(c.Voters), keys(c.GrantingVoters))
			}
			if len(op.Changes) > 0 {
				what = strings.TrimPrefix(what+formatChanges(op.Changes), "<nil> ")
			}
			p("append%s %s", formatBatches(op.Batches), what)
		}
	}
	if s := fx.Snapshot; s != nil {
		p("snapshot %s position=%d bytes=%d done=%v", formatID(s.ID), s.Position, len(s.Data), s.Done)
	}
	if fx.Flush != nil {
		p("flush seq=%d", fx.Flush.Seq)
	}
	for _, s := range fx.Send {
		p("send to=%d %s", s.To, formatMessage(s.Message))
	}
	for _, r := range fx.Reply {
		p("reply id=%d %s", r.ID, formatMessage(r.Message))
	}
	for _, a := range fx.Appended {
		if a.Err != kafka.None {
			p("append refused: %v", a.Err)
			continue
		}
		p("appended %d-%d", a.BaseOffset, a.LastOffset)
	}
	if r := fx.Role; r != nil {
		p("role %s", formatRole(*r))
	}
	if fx.HighWatermark != kafka.NoOffset {
		p("high watermark %d", fx.HighWatermark)
	}
	if fx.ShutdownDone {
		p("shutdown done")
	}
}

func (p transition) String() string {
	if p.start {
		return fmt.Sprintf("transition start => %v", p.to)
	}
	return fmt.Sprintf("transition %v => %v", p.from, p.to)
}

func formatRole(r Role) string {
	s := fmt.Sprintf("%v epoch=%d leader=%d", r.State, r.Epoch, r.LeaderID)
	if r.EpochStart != kafka.NoOffset {
		s += fmt.Sprintf(" epochStart=%d", r.EpochStart)
	}
	if r.Observer {
		s += " observer"
	}
	return s
}

func formatID(id SnapshotID) string { return fmt.Sprintf("%d-%d", id.EndOffset, id.Epoch) }

func keys(ks []ReplicaKey) string {
	ids := make([]string, len(ks))
	for i, k := range ks {
		ids[i] = fmt.Sprint(k.ID)
	}
	return "[" + strings.Join(ids, " ") + "]"
}

func formatChanges(cs []QuorumChange) string {
	var b strings.Builder
	for _, c := range cs {
		fmt.Fprintf(&b, " %d:", c.Offset)
		if c.KRaftVersion != Unchanged {
			fmt.Fprintf(&b, " kraft.version=%d", c.KRaftVersion)
		}
		if c.Voters != nil {
			fmt.Fprintf(&b, " voters=[%s]", formatVoters(c.Voters))
		}
	}
	return b.String()
}

// formatVoters gives id and first byte of the directory, and where it listens
// if that is not the port of the story.
func formatVoters(vs []Voter) string {
	var out []string
	for _, v := range vs {
		s := fmt.Sprintf("%d/%d", v.ID, v.DirectoryID[0])
		for _, e := range v.Endpoints {
			if e.Port != storyPort {
				s += fmt.Sprintf(":%d", e.Port)
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func formatBatches(bs []Batch) string {
	var b strings.Builder
	for _, x := range bs {
		fmt.Fprintf(&b, " [%d-%d epoch %d]", x.BaseOffset, x.LastOffset, x.Epoch)
	}
	return b.String()
}

// head formats what every answer has.
func head(top, code kafka.ErrorCode, leader kafka.BrokerID, epoch kafka.LeaderEpoch) string {
	switch {
	case top != kafka.None:
		return fmt.Sprintf("TOP LEVEL %v", top)
	case code != kafka.None:
		return fmt.Sprintf("%v leader=%d epoch=%d", code, leader, epoch)
	}
	return fmt.Sprintf("NONE leader=%d epoch=%d", leader, epoch)
}

func formatMessage(m Message) string {
	switch m := m.(type) {
	case VoteRequest:
		name := "Vote"
		if m.PreVote {
			name = "PreVote"
		}
		return fmt.Sprintf("%s epoch=%d candidate=%d log=%d/%d", name, m.Epoch, m.Candidate.ID, m.LastOffset, m.LastEpoch)
	case VoteResponse:
		return fmt.Sprintf("Vote: %s granted=%v", head(m.Error, m.PartitionError, m.LeaderID, m.LeaderEpoch), m.Granted)
	case BeginQuorumEpochRequest:
		return fmt.Sprintf("BeginQuorumEpoch leader=%d epoch=%d", m.LeaderID, m.LeaderEpoch)
	case BeginQuorumEpochResponse:
		return "BeginQuorumEpoch: " + head(m.Error, m.PartitionError, m.LeaderID, m.LeaderEpoch)
	case EndQuorumEpochRequest:
		return fmt.Sprintf("EndQuorumEpoch leader=%d epoch=%d successors=%s", m.LeaderID, m.LeaderEpoch, keys(m.PreferredSuccessors))
	case EndQuorumEpochResponse:
		return "EndQuorumEpoch: " + head(m.Error, m.PartitionError, m.LeaderID, m.LeaderEpoch)
	case FetchRequest:
		return fmt.Sprintf("Fetch epoch=%d offset=%d last=%d hw=%d wait=%v", m.CurrentLeaderEpoch, m.FetchOffset, m.LastFetchedEpoch, m.HighWatermark, m.MaxWait)
	case FetchResponse:
		s := "Fetch: " + head(m.Error, m.PartitionError, m.LeaderID, m.LeaderEpoch) + fmt.Sprintf(" hw=%d", m.HighWatermark)
		if m.Diverging != nil {
			s += fmt.Sprintf(" diverging=%d/%d", m.Diverging.EndOffset, m.Diverging.Epoch)
		}
		if m.Snapshot != nil {
			s += " snapshot=" + formatID(*m.Snapshot)
		}
		if m.Read != nil {
			s += fmt.Sprintf(" read from %d", m.Read.From)
		}
		return s + formatBatches(m.Batches)
	case FetchSnapshotRequest:
		return fmt.Sprintf("FetchSnapshot %s position=%d epoch=%d", formatID(m.Snapshot), m.Position, m.CurrentLeaderEpoch)
	case FetchSnapshotResponse:
		s := "FetchSnapshot: " + head(m.Error, m.PartitionError, m.LeaderID, m.LeaderEpoch)
		if m.ReadChunk {
			s += fmt.Sprintf(" read %s at %d, %d bytes", formatID(m.Snapshot), m.Position, m.MaxBytes)
		}
		return s
	case DescribeQuorumRequest:
		return "DescribeQuorum"
	case DescribeQuorumResponse:
		s := "DescribeQuorum: " + head(m.Error, m.PartitionError, m.LeaderID, m.LeaderEpoch) + fmt.Sprintf(" hw=%d", m.HighWatermark)
		for i, rs := range [][]ReplicaState{m.Voters, m.Observers} {
			for _, r := range rs {
				s += fmt.Sprintf("\n    %s %d: end=%d fetched=%v caught up=%v", []string{"voter", "observer"}[i], r.ID, r.LogEndOffset, at(r.LastFetch), at(r.LastCaughtUp))
			}
		}
		return s
	}
	return formatVoterMessage(m)
}

func formatVoterMessage(m Message) string {
	code := func(c kafka.ErrorCode) string {
		if c == kafka.None {
			return "NONE"
		}
		return c.String()
	}
	switch m := m.(type) {
	case APIVersionsRequest:
		return "ApiVersions"
	case AddVoterRequest:
		return "AddRaftVoter " + formatVoters([]Voter{m.Voter})
	case AddVoterResponse:
		return "AddRaftVoter: " + code(m.Error)
	case RemoveVoterRequest:
		return "RemoveRaftVoter " + formatVoters([]Voter{{ReplicaKey: m.Voter}})
	case RemoveVoterResponse:
		return "RemoveRaftVoter: " + code(m.Error)
	case UpdateVoterRequest:
		return fmt.Sprintf("UpdateRaftVoter epoch=%d %s", m.CurrentLeaderEpoch, formatVoters([]Voter{m.Voter}))
	case UpdateVoterResponse:
		return "UpdateRaftVoter: " + head(kafka.None, m.Error, m.LeaderID, m.LeaderEpoch)
	case UpgradeResponse:
		return strings.TrimSuffix("upgrade: "+code(m.Error)+" "+m.Text, " ")
	}
	return fmt.Sprintf("%T", m)
}

func at(d time.Duration) string {
	if d < 0 {
		return "never"
	}
	return d.String()
}
