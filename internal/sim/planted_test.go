package sim

import (
	"flag"
	"fmt"
	"testing"

	"kbench/internal/sim/plant"
)

// plantedBugs are mistakes that a Raft is written with. Those of the first six
// are the ones that every change of the simulation must go on finding; most of
// the rest have been made by somebody.
var plantedBugs = []plant.Bug{
	{
		Name: "vote-not-persisted",
		Edits: []plant.Edit{{
			"raft/transition.go", "\t\tm.eff.Persist = &q\n",
			"\t\tif q.VotedKey.ID == None || q.LeaderID != None {\n\t\t\tm.eff.Persist = &q\n\t\t}\n",
		}},
		Invariants: []string{"VoteOncePerEpoch", "ElectionSafety"},
	},
	{
		Name:       "high-watermark-before-leader-change",
		Edits:      []plant.Edit{{"raft/leader.go", "hw <= m.lead.epochStart || hw <= m.lead.hw", "hw <= m.lead.hw"}},
		Invariants: []string{"HighWatermarkMonotonic", "LeaderCompleteness"},
	},
	{
		Name: "truncation-below-high-watermark",
		Edits: []plant.Edit{
			{"raft/follower.go", "to < m.hw || to < m.log.start", "to < m.log.start"},
			{"raft/epochs.go", "return min(local.EndOffset, end.EndOffset)", "return min(local.EndOffset, end.EndOffset, max(l.start, l.end-8))"},
		},
		Invariants: []string{"CommittedNeverTruncated"},
	},
	{
		Name:       "double-vote",
		Edits:      []plant.Edit{{"raft/election.go", "return m.voted.includes(candidate)", "return true"}},
		Invariants: []string{"VoteOncePerEpoch", "ElectionSafety"},
	},
	{
		Name:       "ack-before-fsync",
		Edits:      []plant.Edit{{"raft/follower.go", " && (!m.mustFlush() || m.flushed >= m.log.end)", ""}},
		Invariants: []string{"AckedDurable"},
	},
	{
		Name:       "stale-leader-answers",
		Edits:      []plant.Edit{{"raft/request.go", "case epoch > m.epoch:\n\t\treturn kafka.UnknownLeaderEpoch\n", ""}},
		Invariants: []string{"NoStaleLeaderAnswer"},
	},
	{
		Name:       "leader-counts-itself-before-fsync",
		Edits:      []plant.Edit{{"raft/leader.go", "end = m.flushed", "end = m.log.end"}},
		Invariants: []string{"AckedDurable"},
	},
	{
		Name:       "no-check-quorum",
		Edits:      []plant.Edit{{"raft/leader.go", "return at[need-1] + m.cfg.FetchTimeout*3/2", "return Never"}},
		Invariants: []string{"CheckQuorum"},
	},
	{
		Name:       "vote-for-a-shorter-log",
		Edits:      []plant.Edit{{"raft/election.go", " || (r.LastEpoch == m.log.lastEpoch() && r.LastOffset < m.log.end)", ""}},
		Invariants: []string{"LeaderCompleteness"},
	},
	{
		Name:       "vote-for-an-older-log",
		Edits:      []plant.Edit{{"raft/election.go", "r.LastEpoch < m.log.lastEpoch() || (r.LastEpoch == m.log.lastEpoch() && r.LastOffset < m.log.end)", "r.LastOffset < m.log.end"}},
		Invariants: []string{"LeaderCompleteness", "CommittedNeverTruncated"},
	},
	{
		Name:       "half-is-a-majority",
		Edits:      []plant.Edit{{"raft/election.go", "return len(m.voters)/2 + 1", "return (len(m.voters) + 1) / 2"}},
		Invariants: []string{"ElectionSafety", "AckedDurable"},
	},
	{
		Name:       "resigned-node-appends",
		Edits:      []plant.Edit{{"raft/leader.go", "m.state != Leader || a.Epoch != m.epoch", "a.Epoch != m.epoch"}},
		Invariants: []string{"NoStaleLeaderAnswer", "LogMatching"},
	},
	{
		Name:       "diverged-epoch-not-noticed",
		Edits:      []plant.Edit{{"raft/epochs.go", "end.Epoch != epoch || end.EndOffset < offset", "end.EndOffset < offset"}},
		Invariants: []string{"LogMatching", "StateMachineSafety", "HighWatermarkMonotonic", "Liveness"},
	},
	{
		Name:       "diverged-end-not-noticed",
		Edits:      []plant.Edit{{"raft/epochs.go", "end.Epoch != epoch || end.EndOffset < offset", "end.Epoch != epoch"}},
		Invariants: []string{"HighWatermarkMonotonic", "LogMatching", "AckedDurable", "Liveness"},
	},
	{
		Name:       "follower-believes-high-watermark",
		Edits:      []plant.Edit{{"raft/follower.go", "m.hw = max(m.hw, min(hw, m.log.end))", "m.hw = max(m.hw, hw)"}},
		Invariants: []string{"HighWatermarkMonotonic"},
	},
	{
		Name:       "leader-resumes-its-epoch",
		Edits:      []plant.Edit{{"raft/machine.go", "case m.leaderID == m.cfg.NodeID && m.isVoter:\n\t\tm.enterResigned(nil)\n", "case m.leaderID == m.cfg.NodeID && m.isVoter:\n\t\tm.leaderID = None\n\t\tm.enterNominee(Candidate)\n"}},
		Invariants: []string{"ElectionSafety", "Liveness"},
	},
	{
		Name:       "voters-count-when-committed",
		Edits:      []plant.Edit{{"raft/quorum.go", "\t\tm.history = append(m.history, m.history[len(m.history)-1].with(c))\n\t}\n\tm.useQuorum()\n", "\t\tm.history = append(m.history, m.history[len(m.history)-1].with(c))\n\t}\n\tif m.state != Leader {\n\t\tm.useQuorum()\n\t}\n"}},
		Invariants: []string{"AckedDurable", "VotersOnly", "CheckQuorum", "OneVoterChange", "RemovedLeaderResigns"},
	},
	{
		Name:       "truncation-keeps-the-voters",
		Edits:      []plant.Edit{{"raft/machine.go", "\tm.truncateQuorum(to)\n", ""}},
		Invariants: []string{"VotersOnly", "AckedDurable", "OneVoterChange", "SnapshotIsPrefix", "LogMatching"},
	},
	{
		Name:       "observer-counts-for-the-high-watermark",
		Edits:      []plant.Edit{{"raft/leader.go", "\tm.scratchEnd = ends\n\tslices.Sort(ends)\n", "\tfor _, p := range m.lead.observers {\n\t\tends = append(ends, p.end)\n\t}\n\tm.scratchEnd = ends\n\tslices.Sort(ends)\n"}},
		Invariants: []string{"AckedDurable"},
	},
	{
		Name:       "two-voter-changes-at-once",
		Edits:      []plant.Edit{{"raft/voterchange.go", "return m.history[len(m.history)-1].offset >= m.lead.hw", "return false"}},
		Invariants: []string{"OneVoterChange"},
	},
	{
		Name: "voters-change-before-the-epoch-commits",
		Edits: []plant.Edit{
			{"raft/voterchange.go", "m.lead.hw == kafka.NoOffset", "m.hw == kafka.NoOffset"},
			{"raft/voterchange.go", "return m.history[len(m.history)-1].offset >= m.lead.hw", "return m.history[len(m.history)-1].offset >= m.hw"},
		},
		Invariants: []string{"OneVoterChange"},
	},
	{
		Name:       "removed-leader-leads-on",
		Edits:      []plant.Edit{{"raft/voterchange.go", "if !m.isVoter && m.lead.hw > m.history[len(m.history)-1].offset {", "if false {"}},
		Invariants: []string{"RemovedLeaderResigns"},
	},
	{
		Name:       "removed-voter-campaigns",
		Edits:      []plant.Edit{{"raft/transition.go", "return m.isVoter && !m.leaving", "return !m.leaving"}},
		Invariants: []string{"VotersOnly"},
	},
	{
		Name:       "snapshot-forgets-the-voters",
		Edits:      []plant.Edit{{"raft/snapshot.go", "Persisted{Snapshot: id, Quorum: q}", "Persisted{Snapshot: id, Quorum: m.history[0].Quorum}"}},
		Invariants: []string{"VotersOnly", "AckedDurable", "OneVoterChange", "Liveness", "CheckQuorum"},
	},
	{
		Name:       "election-timeout-without-jitter",
		Edits:      []plant.Edit{{"raft/transition.go", "return t + time.Duration(m.rng.Int64N(int64(t)))", "return t"}},
		Invariants: []string{"Liveness"},
	},
	{
		Name:       "broker-sees-above-the-high-watermark",
		Edits:      []plant.Edit{{"raft/fetch.go", "\ta.HighWatermark = m.lead.hw\n", "\ta.HighWatermark = m.log.end\n"}},
		Invariants: []string{"HighWatermarkMonotonic", "K10"},
	},
	{
		Name:       "broker-takes-above-the-high-watermark",
		Edits:      []plant.Edit{{"raft/delivery.go", "if end > s.HighWatermark {", "if end > s.HighWatermark && !s.Role.Observer {"}},
		Invariants: []string{"K10"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "broker-shows-an-open-transaction",
		Edits:      []plant.Edit{{"../broker/loader/loader.go", "if l.caughtUp && !l.inTxn {", "if l.caughtUp {"}},
		Invariants: []string{"K10"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "broker-shows-an-aborted-transaction",
		Edits:      []plant.Edit{{"../broker/loader/loader.go", "\t\tl.delta = metadata.NewDelta(l.delta.Base())\n", ""}},
		Invariants: []string{"K10"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "broker-shows-before-it-has-caught-up",
		Edits:      []plant.Edit{{"../broker/loader/loader.go", "highWatermark != kafka.NoOffset && l.last+1 >= highWatermark", "highWatermark != kafka.NoOffset"}},
		Invariants: []string{"K10"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "claim-before-the-epoch-commits",
		Edits:      []plant.Edit{{"raft/delivery.go", "if !s.leads() || d.next > s.Role.EpochStart {", "if !s.leads() || d.next > 0 {"}},
		Invariants: []string{"K8"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "leader-epoch-stays-with-a-new-leader",
		Edits:      []plant.Edit{{"../kafka/metadata/replay.go", "\t\tnext.LeaderEpoch++\n", "\t\tif p.Leader == kafka.NoLeader || r.Leader == kafka.NoLeader {\n\t\t\tnext.LeaderEpoch++\n\t\t}\n"}},
		Invariants: []string{"C1"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "leader-epoch-stays-when-the-leader-is-lost",
		Edits:      []plant.Edit{{"../kafka/metadata/replay.go", "\t\tnext.LeaderEpoch++\n", "\t\tif r.Leader != kafka.NoLeader {\n\t\t\tnext.LeaderEpoch++\n\t\t}\n"}},
		Invariants: []string{"C2"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "last-of-the-isr-leaves-it",
		Edits:      []plant.Edit{{"machine/partitionchange.go", "r.ISR == nil && (len(c.isr) > 0 || c.elr) && !slices.Equal", "r.ISR == nil && !slices.Equal"}},
		Invariants: []string{"C3"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "removed-replica-stays-in-the-isr",
		Edits:      []plant.Edit{{"machine/partitionchange.go", "c.isr, c.replicas, c.adding, c.removing = isr, replicas, nil, nil", "c.replicas, c.adding, c.removing = replicas, nil, nil"}},
		Invariants: []string{"C3"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "last-known-leader-is-not-in-its-isr",
		Edits:      []plant.Edit{{"machine/partitionchange.go", "return metadata.Elected{Leader: last[0], Unclean: true}", "return metadata.Elected{Leader: last[0]}"}},
		Invariants: []string{"C3"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "partition-epoch-of-an-isr-is-not-checked",
		Edits:      []plant.Edit{{"machine/alterpartition.go", "\tcase want.PartitionEpoch < int32(p.PartitionEpoch):\n\t\treturn kafka.InvalidUpdateVersion\n", ""}},
		Invariants: []string{"C5"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "topic-id-is-that-of-its-name",
		Edits:      []plant.Edit{{"machine/createtopics.go", "\tid := m.newTopicID()\n", "\tid := kafka.UUID{1, t.Topic[len(t.Topic)-1]}\n"}},
		Invariants: []string{"C8"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "broker-epoch-of-a-heartbeat-is-not-checked",
		Edits:      []plant.Edit{{"machine/heartbeat.go", "if !ok || int64(b.Epoch) != req.BrokerEpoch {", "if !ok {"}},
		Invariants: []string{"C12"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "late-heartbeat-unfences-who-shuts-down",
		Edits:      []plant.Edit{{"machine/heartbeat.go", "!req.WantFence && !b.InControlledShutdown && kafka.Offset(req", "!req.WantFence && kafka.Offset(req"}},
		Invariants: []string{"C4"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "broker-epoch-of-an-isr-is-not-checked",
		Edits:      []plant.Edit{{"machine/alterpartition.go", "if !ok || int64(b.Epoch) != req.BrokerEpoch {", "if !ok {"}},
		Invariants: []string{"C12"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "snapshot-without-quotas",
		Edits:      []plant.Edit{{"../kafka/metadata/snapshot.go", " && i.access.quotaRecords(yield) &&", " &&"}},
		Invariants: []string{"K9"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "image-above-the-high-watermark",
		Edits:      []plant.Edit{{"machine/machine.go", "func (m *Machine) Image() *metadata.Image { return m.log.committed.visible() }", "func (m *Machine) Image() *metadata.Image { return m.log.head().visible() }"}},
		Invariants: []string{"K11"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "revert-lost-on-renounce",
		Edits:      []plant.Edit{{"machine/state.go", "func (s *state) revert() {\n\ts.pending = nil\n", "func (s *state) revert() {\n\tif n := len(s.pending); n > 0 {\n\t\ts.committed.image = s.pending[n-1].image\n\t}\n\ts.pending = nil\n"}},
		Invariants: []string{"K10", "K11", "K12"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "shutdown-offset-moves-with-each-heartbeat",
		Edits:      []plant.Edit{{"machine/heartbeat.go", "if next == controlledShutdown && d.records != nil {", "if next == controlledShutdown {"}},
		Invariants: []string{"C11"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "shutdown-granted-before-all-have-seen-it",
		Edits:      []plant.Edit{{"machine/heartbeat.go", " && m.sessions.brokers[b.ID].shutdownOffset <= m.sessions.lowestActive(m.image())", ""}},
		Invariants: []string{"C11"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "shutdown-granted-by-a-new-leader-that-has-heard-nobody",
		Edits:      []plant.Edit{{"machine/session.go", "lastContact: now, seen: kafka.NoOffset,", "lastContact: now, seen: math.MaxInt64,"}},
		Invariants: []string{"C11"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "oversized-batch",
		Edits:      []plant.Edit{{"machine/decision.go", "len(w.records) == w.m.cfg.MaxRecords ||", "len(w.records) > w.m.cfg.MaxRecords ||"}},
		Invariants: []string{"K12"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "answer-before-the-commit",
		Edits:      []plant.Edit{{"machine/decision.go", "if d.immediate || !m.log.uncommitted() {", "if d.immediate || d.response != nil {"}},
		Invariants: []string{"K15", "C7", "C11"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "fenced-broker-in-the-isr",
		Edits:      []plant.Edit{{"machine/alterpartition.go", "if !ok || !b.Active() || epochs[i]", "if !ok || epochs[i]"}},
		Invariants: []string{"C4"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "fenced-broker-is-elected",
		Edits:      []plant.Edit{{"machine/electorate.go", "if b, ok := m.image().Broker(id); ok && b.Active() {", "if b, ok := m.image().Broker(id); ok {"}},
		Invariants: []string{"C4", "C9", "Liveness"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "broker-epoch-of-the-committed-offset",
		Edits:      []plant.Edit{{"machine/registration.go", "kafka.BrokerEpoch(m.log.head().last + 1 +", "kafka.BrokerEpoch(m.log.committed.last + 1 +"}},
		Invariants: []string{"K13"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "sessions-do-not-hear-heartbeats",
		Edits:      []plant.Edit{{"machine/session.go", "\tb.lastContact, b.seen = now, seen\n", "\tb.seen = seen\n"}},
		Invariants: []string{"K14"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "silent-broker-is-not-fenced",
		Edits:      []plant.Edit{{"machine/session.go", "\ts.due = oldest + s.timeout\n", "\ts.due = oldest + 2*s.timeout\n"}},
		Invariants: []string{"K14"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "leader-in-an-offline-directory",
		Edits:      []plant.Edit{{"machine/electorate.go", "return b != nil && b.HasOnlineDirectory(p.Directory(id))", "return b != nil"}},
		Invariants: []string{"K16"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "unclean-leader-keeps-the-isr",
		Edits:      []plant.Edit{{"machine/partitionchange.go", "\t\tc.recovery = kafka.Recovering\n\t\treturn nil\n", "\t\treturn nil\n"}},
		Invariants: []string{"C6"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "unclean-leader-without-leave",
		Edits:      []plant.Edit{{"machine/sweep.go", "return topicSetting(image, topic, uncleanConfig) == \"true\"", "return topicSetting(image, topic, uncleanConfig) != \"true\""}},
		Invariants: []string{"C6"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "reassignment-ends-before-its-replicas-are-in-sync",
		Edits:      []plant.Edit{{"machine/partitionchange.go", " || !containsAll(isr, c.adding) {", " {"}},
		Invariants: []string{"C9"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "smaller-reassignment-ends-below-min-isr",
		Edits:      []plant.Edit{{"machine/partitionchange.go", "len(c.adding) < len(c.removing) && !containsAll(isr, replicas)", "false"}},
		Invariants: []string{"C9"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "fenced-broker-goes-on-leading",
		Edits:      []plant.Edit{{"machine/tick.go", "partitions := m.walk(gone(b.ID))", "partitions := m.walk(withoutLeader(kafka.NoLeader))"}},
		Invariants: []string{"C4"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "offline-directory-goes-on-leading",
		Edits:      []plant.Edit{{"machine/directories.go", "return p.HasReplica(b.ID) && slices.Contains(offline, p.Directory(b.ID))", "return false"}},
		Invariants: []string{"K16"},
		Args:       []string{withMetadata},
	},
	{
		Name:       "producer-ids-before-they-are-committed",
		Edits:      []plant.Edit{{"machine/electleaders.go", "NextProducerID: next + producerIDBlock}", "NextProducerID: next + 1}"}},
		Invariants: []string{"C10", "K15"},
		Args:       []string{withMetadata},
	},
}

// sourceDir is the root of what bugs are planted in.
const sourceDir = "../../kraftcontroller"

// withMetadata is the flag of bugs that are found in worlds with metadata.
const withMetadata = "-hunt-metadata"

// TestPlantedBugsApply keeps the planted bugs up with the source. That they are
// found is what TestTeeth shows, which builds every one (tag teeth).
func TestPlantedBugsApply(t *testing.T) { plant.Check(t, sourceDir, plantedBugs) }

var huntFlag = flag.Int("hunt", 0, "simulate up to so many seeds until the first violation and print it as TestTeeth reads it")

// huntOptions are those of a seed that is hunted for.
func huntOptions(seed uint64, metadata bool) Options {
	if metadata {
		return Options{Seed: seed, Events: metadataEvents, Metadata: true}
	}
	return Options{Seed: seed, Events: events}
}

var huntMetadata = flag.Bool(withMetadata[1:], false, "hunt in worlds with metadata")

// TestHunt is what TestTeeth runs in the binaries that it builds.
func TestHunt(t *testing.T) {
	if *huntFlag == 0 {
		t.Skip("runs in the binaries of TestTeeth only")
	}
	for i := range *huntFlag {
		seed := *firstFlag + uint64(i)
		if v := Run(huntOptions(seed, *huntMetadata)).Violation; v != nil {
			fmt.Printf("HUNT %d %s %s\n", seed, v.Invariant, v)
			return
		}
	}
	fmt.Println("HUNT none")
}
